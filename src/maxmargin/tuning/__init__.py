"""Tuning: many cells of a grid over the same samples, which share kernel values, duals and held-out rows."""
