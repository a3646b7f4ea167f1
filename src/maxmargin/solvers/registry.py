"""The solvers, by name: one folder or file per family."""

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

SOLVERS = {
    "smo": SMO,
    "newton": Newton,
    "multipliers": Multipliers,
    "interior_point": InteriorPoint,
    "coordinate": Coordinate,
    "proximal_newton": ProximalNewton,
    "class_newton": ClassNewton,
    "class_coordinate": ClassCoordinate,
    "vector_ridge": VectorRidge,
    "bundle": Bundle,
    "one_slack": OneSlack,
    "gradient_descent": GradientDescent,
    "adagrad": AdaGrad,
    "lagrangian_dual": LagrangianDual,
    "qp": QP,
    "frank_wolfe": FrankWolfe,
    "structured_bundle": StructuredBundle,
}
