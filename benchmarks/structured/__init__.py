"""Machines for sequences, and machines trained for a metric."""
