"""What a fitted machine says of rows, in the form that `HeldOutMachine` knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..estimators import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, RiskClassifier, RiskRegressor

# Machines whose predictions follow from their decisions as `held_out.py` has it; a subclass may have changed that.
KNOWN_BY_DECISIONS = frozenset({SVC, NuSVC, SVR, NuSVR, LinearSVC, LinearSVR, RiskClassifier, RiskRegressor})


def find_decision_function(machine: Any) -> Callable[[Any], np.ndarray] | None:
    """X -> decisions of a fitted machine; None if predictions are not known to follow from them."""
    if type(machine) not in KNOWN_BY_DECISIONS:
        return None
    if machine.task != "classification":
        return machine.predict
    return machine._decision_values if machine.family == "kernel" else machine.decision_function
