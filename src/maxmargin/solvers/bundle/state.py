"""What a descent needs to go on: its best place, its cuts, their weights, and what its rule has learned."""

from __future__ import annotations

import numpy as np

from .cuts import Cuts
from .descent import Descent
from .functions import FunctionOracle, FunctionPlace
from .rules import RULES

RULE_PREFIX = "rule_"  # of what the rule has learned
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
    for name, weights in (("weights", descent.weights), ("plain", descent.plain)):
        state[name] = np.zeros(0) if weights is None else descent.pad_weights(weights)
    state.update({RULE_PREFIX + name: value for name, value in descent.rule.pack().items()})
    return state


def unpack(state: dict, oracle: FunctionOracle, cuts: Cuts, ridges: tuple[float, ...], lo=None, hi=None) -> Descent:
    """A descent as it was packed, each cut with its key where keys are given."""
    x = np.array(state["x"], float)
    # Files of earlier versions know no errors: what offsets have lost is taken from their size and that of x.
    guess = 1e-14 * (np.abs(state["offsets"]) + np.abs(state["slopes"]) @ (np.abs(x) + np.abs(state["start"])))
    errors = state.get("errors", np.vstack([guess, np.zeros_like(guess)]))
    for slope, offset, error, slope_error in zip(state["slopes"], state["offsets"], *errors, strict=True):
        cuts.add(slope, float(offset), None, float(error), float(slope_error))
    cuts.idle = np.array(state["idle"], int)
    best = FunctionPlace(x, float(state["value"]), np.array(state["slope"], float))
    rule = RULES[str(state["method"])]()
    learned = {key: np.asarray(value).item() for key, value in state.items() if key.startswith(RULE_PREFIX)}
    rule.unpack({key.removeprefix(RULE_PREFIX): value for key, value in learned.items()})
    descent = Descent(oracle, rule, state["start"], cuts, ridges, lo, hi, best)
    descent.n_iter, descent.bound = int(state["n_iter"]), float(state["bound"])
    descent.rounding = float(state.get("rounding", 0.0))
    oracle.n_calls = int(state["n_calls"])
    weights, plain = np.array(state["weights"], float), np.array(state["plain"], float)
    descent.weights, descent.plain = weights if len(weights) else None, plain if len(plain) else None
    if descent.weights is not None:
        descent.measure(cuts.combine(descent.weights))
    return descent
