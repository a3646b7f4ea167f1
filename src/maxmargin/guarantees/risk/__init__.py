"""Structural risk minimisation: what a fitted machine says of samples it has not seen."""

from .bounds import risk_bounds
from .leave_one_out import LeaveOneOut
from .result import RiskBounds

__all__ = ["LeaveOneOut", "RiskBounds", "risk_bounds"]
