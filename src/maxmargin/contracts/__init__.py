"""The contracts of the package: an abstract base for each kind of thing that can be plugged in.

Required members are abstract; optional ones have a default in the base. Shapes and units are in the docstrings. An
object says what it is by the class it derives from and by the attributes of that class; `hasattr` does not ask it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .blocks import Block, Blocks
    from .estimators import Estimator
    from .features import Features, KernelMatrix
    from .files import Data, DataFormat, DataRequest, FileFormat, ModelFormat
    from .kernels import Kernel
    from .losses import JointTerms, Loss, PiecewiseLoss, SmoothTerms, Terms, VectorTerms
    from .samples import Samples, VectorSamples
    from .solvers import Outcome, Progress, Run, Solver
    from .structures import Examples, StructuredModel
    from .traits import Takes, Traits

# A base is loaded when it is asked for: the registry of file formats, which the help of commands reads, needs no NumPy.
LAZY_MODULES = {
    "Block": "blocks", "Blocks": "blocks", "Data": "files", "DataFormat": "files", "DataRequest": "files",
    "Estimator": "estimators", "Examples": "structures", "Features": "features", "FileFormat": "files",
    "JointTerms": "losses", "Kernel": "kernels", "KernelMatrix": "features", "Loss": "losses", "ModelFormat": "files",
    "Outcome": "solvers", "PiecewiseLoss": "losses", "Progress": "solvers", "Run": "solvers", "Samples": "samples",
    "SmoothTerms": "losses", "Solver": "solvers", "StructuredModel": "structures", "Takes": "traits",
    "Terms": "losses", "Traits": "traits", "VectorSamples": "samples", "VectorTerms": "losses",
}  # fmt: skip
__all__ = [
    "Block", "Blocks", "Data", "DataFormat", "DataRequest", "Estimator", "Examples", "Features", "FileFormat",
    "JointTerms", "Kernel", "KernelMatrix", "Loss", "ModelFormat", "Outcome", "PiecewiseLoss", "Progress", "Run",
    "Samples", "SmoothTerms", "Solver", "StructuredModel", "Takes", "Terms", "Traits", "VectorSamples", "VectorTerms",
]  # fmt: skip


def __getattr__(name: str) -> type:
    """A contract, from its module."""
    if name not in LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    base: type = getattr(import_module(f".{LAZY_MODULES[name]}", __name__), name)
    globals()[name] = base
    return base


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
