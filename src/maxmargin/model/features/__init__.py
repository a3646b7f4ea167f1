"""Features of samples: Gram matrices of kernels, and designs in which w itself is held."""

from __future__ import annotations

from ...contracts.features import Features, KernelMatrix
from .class_design import ClassDesign
from .design import AbsoluteDesign, Design, WeightSpace
from .gram import FLOAT32_MIN_TOL, MAX_FULL_GRAM_SAMPLES, SINGLE_ROWS_MAX_FEATURES, Gram
from .segments import Segment
from .signed_gram import SignedGram
from .submatrix import take_submatrix

__all__ = [
    "FLOAT32_MIN_TOL", "MAX_FULL_GRAM_SAMPLES", "SINGLE_ROWS_MAX_FEATURES", "AbsoluteDesign", "ClassDesign", "Design",
    "Features", "Gram", "KernelMatrix", "Segment", "SignedGram", "WeightSpace", "take_submatrix",
]  # fmt: skip
