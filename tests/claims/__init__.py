"""Random fits of every model, and what they claim, for the adversary of the judge."""
