"""The solvers, by name: one folder or file per family."""

from ..contracts.solvers import Solver
from .bundle import Bundle
from .bundle.one_slack import OneSlack
from .bundle.structured import StructuredBundle
from .coordinate import Coordinate
from .coordinate.classes import ClassCoordinate
from .first_order import AdaGrad, GradientDescent
from .frank_wolfe import FrankWolfe
from .lagrangian import LagrangianDual
from .newton import InteriorPoint, Multipliers, Newton, ProximalNewton
from .newton.classes import ClassNewton
from .newton.vector_ridge import VectorRidge
from .qp import QP
from .smo import SMO

SOLVERS: dict[str, type[Solver]] = {
    make.name: make
    for make in (
        SMO, Newton, Multipliers, InteriorPoint, Coordinate, ProximalNewton, ClassNewton, ClassCoordinate,
        VectorRidge, Bundle, OneSlack, GradientDescent, AdaGrad, LagrangianDual, QP, FrankWolfe, StructuredBundle,
    )
}  # fmt: skip
