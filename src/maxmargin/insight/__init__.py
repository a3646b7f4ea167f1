"""What people ask of a fit: what it will cost, how it gets on, why it is slow, which solver takes what."""
