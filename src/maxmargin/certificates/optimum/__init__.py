"""Where the scores of the exact optimum lie, as a certificate proves; docs/certified_predictions.md has the proofs.

`space` has vectors of the space of the features and their products with samples, `duals` the duals that may move,
`directions` and `projections` how they move, and `bounds` the intervals. `prices` has duals that sum to any number.
"""
