"""What a descent needs to go on: its best place, its cuts, their weights, and what its rule has learned."""

from __future__ import annotations

import numpy as np

from .cuts import Cuts
from .descent import Descent
from .functions import FunctionOracle, FunctionPlace
from .rules import RULES

RULE_STATE_KEYS = ("proximity", "least", "run", "radius", "scope")  # what rules change as they go


STATE_KEYS = (
    "method", "ridge", "start", "x", "value", "slope", "slopes", "offsets", "lo", "hi", "idle", "bound", "n_iter",
    "n_calls", "weights", "plain",
)  # fmt: skip


def pack(descent: Descent) -> dict:
    """Everything a descent holds, as arrays."""
    cuts, best, model = descent.cuts, descent.best, descent.model
    lo = np.full(len(best.x), -np.inf) if model.lo is None else model.lo
    hi = np.full(len(best.x), np.inf) if model.hi is None else model.hi
    state = {
        "method": descent.rule.name, "ridge": descent.model.ridges[0], "start": descent.start, "x": best.x,
        "value": best.value, "slope": best.slope, "slopes": cuts.slopes.copy(), "offsets": cuts.offsets.copy(),
        "errors": cuts.errors.copy(), "lo": lo, "hi": hi, "idle": cuts.idle.copy(), "bound": descent.bound,
        "rounding": descent.rounding,
        "n_iter": descent.n_iter, "n_calls": descent.oracle.n_calls,
    }  # fmt: skip
    for name in ("weights", "plain"):
        weights = descent.pad_weights(getattr(descent, name))
        state[name] = np.zeros(0) if weights is None else weights
    state.update(
        {"rule_" + name: getattr(descent.rule, name) for name in RULE_STATE_KEYS if name in vars(descent.rule)}
    )
    return state


def unpack(state: dict, oracle: FunctionOracle, cuts: Cuts, ridges: tuple[float, ...], lo=None, hi=None) -> Descent:
    """A descent as it was packed, each cut with its key where keys are given."""
    descent = Descent.__new__(Descent)
    x = np.array(state["x"], float)
    # Files of earlier versions know no errors: what offsets have lost is taken from their size and that of x.
    guess = 1e-14 * (np.abs(state["offsets"]) + np.abs(state["slopes"]) @ (np.abs(x) + np.abs(state["start"])))
    errors = state.get("errors", np.vstack([guess, np.zeros_like(guess)]))
    for slope, offset, error, slope_error in zip(state["slopes"], state["offsets"], *errors, strict=True):
        cuts.add(slope, float(offset), None, float(error), float(slope_error))
    cuts.idle = np.array(state["idle"], int)
    best = FunctionPlace(x, float(state["value"]), np.array(state["slope"], float))
    rule = RULES[str(state["method"])]()
    descent.resume(oracle, rule, np.array(state["start"], float), cuts, ridges, lo, hi, best)
    for name in RULE_STATE_KEYS:
        if "rule_" + name in state:
            setattr(rule, name, np.asarray(state["rule_" + name]).item())
    descent.n_iter, descent.bound = int(state["n_iter"]), float(state["bound"])
    descent.rounding = float(state.get("rounding", 0.0))
    oracle.n_calls = int(state["n_calls"])
    for name in ("weights", "plain"):
        weights = np.array(state[name], float)
        setattr(descent, name, weights if len(weights) else None)
    if descent.weights is not None:
        descent.measure(cuts.combine(descent.weights))
    return descent
