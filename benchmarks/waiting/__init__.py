"""How long a user waits: the first fit, time limits, and predicted times."""
