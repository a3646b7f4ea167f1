"""Certified tuning: a C, and a proof that no other C in a range has a much smaller cross-validated error."""

from .certified_tuning import certify_tuning
from .result import CertifiedTuning

__all__ = ["CertifiedTuning", "certify_tuning"]
