"""The solvers, by name: one file a family."""

from .bundle import Bundle
from .bundle.one_slack import OneSlack
from .bundle.structured import StructuredBundle
from .class_coordinate import ClassCoordinate
from .class_newton import ClassNewton
from .coordinate import Coordinate
from .first_order import AdaGrad, GradientDescent
from .frank_wolfe import FrankWolfe
from .lagrangian import LagrangianDual
from .newton import InteriorPoint, Multipliers, Newton, ProximalNewton
from .qp import QP
from .smo import SMO
from .vector_ridge import VectorRidge

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
