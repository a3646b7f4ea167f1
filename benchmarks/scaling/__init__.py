"""Fits on blocks of rows and on a cluster."""
