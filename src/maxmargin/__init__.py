"""Support vector machines with a certificate."""
