"""The names of the solvers, for those who check a name and need not wait for the solvers."""

# in the order of `registry.py`, which has their classes
SOLVER_NAMES = (
    "smo", "newton", "multipliers", "interior_point", "coordinate", "proximal_newton", "class_newton",
    "class_coordinate", "vector_ridge", "bundle", "one_slack", "gradient_descent", "adagrad", "lagrangian_dual", "qp",
    "frank_wolfe", "structured_bundle",
)  # fmt: skip
