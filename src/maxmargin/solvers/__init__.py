"""The solvers, by name: one file a family."""

from .coordinate import Coordinate
from .newton import InteriorPoint, Multipliers, Newton
from .smo import SMO

SOLVERS = {
    "smo": SMO, "newton": Newton, "multipliers": Multipliers, "interior_point": InteriorPoint, "coordinate": Coordinate,
}  # fmt: skip
