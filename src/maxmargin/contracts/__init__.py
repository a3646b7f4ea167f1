"""The contracts of the package: an abstract base for each kind of thing that can be plugged in.

Required members are abstract; optional ones have a default in the base. Shapes and units are in the docstrings. An
object says what it is by the class it derives from and by the attributes of that class; `hasattr` does not ask it.
"""

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

__all__ = [
    "Block", "Blocks", "Data", "DataFormat", "DataRequest", "Estimator", "Examples", "Features", "FileFormat",
    "JointTerms", "Kernel", "KernelMatrix", "Loss", "ModelFormat", "Outcome", "PiecewiseLoss", "Progress", "Run",
    "Samples", "SmoothTerms", "Solver", "StructuredModel", "Takes", "Terms", "Traits", "VectorSamples", "VectorTerms",
]  # fmt: skip
