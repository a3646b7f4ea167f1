"""The numbers of a certificate from the sums that the judge has found, without Python around each problem.

As `certificates.bounds.combine_bounds` makes them. What rounding adds is one text for both, in `runtime.rounding`.
"""

import numpy as np

from ..runtime import rounding
from ..runtime.rounding import BALANCE_ROUNDINGS, BALANCE_TOLERANCE, UNIT
from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
widen_error, widen_sum = njit(**OPTIONS)(rounding.widen_error), njit(**OPTIONS)(rounding.widen_sum)
bound_conjugate, bound_dual = njit(**OPTIONS)(rounding.bound_conjugate), njit(**OPTIONS)(rounding.bound_dual)


@njit(**OPTIONS)
def add_terms(found, layers, column, error_column):
    """The sum over the layers of a column of `found` and a bound on its error, as `Sums.__add__` has them."""
    value, error = found[0, column], found[0, error_column]
    for layer in range(1, layers):
        size, more = abs(value) + abs(found[layer, column]), error + found[layer, error_column]
        value, error = value + found[layer, column], widen_sum(more, size, 2)
    return value, error


@njit(**OPTIONS)
def add_layers(found, layers, intercepts, balance):
    """Losses, conjugates and remainders of all layers with their errors; what balancing moves and costs; the offset."""
    losses, conjugates = add_terms(found, layers, 0, 1), add_terms(found, layers, 2, 3)
    for layer in range(layers):
        found[layer, 5] -= found[layer, 4]  # the error of the remainders, of which an upper bound was found
    remainders = add_terms(found, layers, 4, 5)
    moved = cost = cost_of_dual = kkt = offset = offset_error = 0.0
    slack = (layers + BALANCE_ROUNDINGS) * UNIT / (1.0 - (layers + BALANCE_ROUNDINGS) * UNIT)
    for layer in range(layers):
        b = intercepts[layer]
        moved, cost = moved + found[layer, 16], cost + found[layer, 17]
        cost_of_dual += found[layer, 17] + found[layer, 16] * abs(b)
        kkt = max(kkt, found[layer, 14])
        if balance[layer] != 0.0:
            offset, offset_error = offset + balance[layer] * b, offset_error + slack * abs(balance[layer] * b)
    return losses, conjugates, remainders, (offset, offset_error), moved, cost, cost_of_dual, kkt


@njit(**OPTIONS)
def are_feasible(found, layers, balance, size):
    """Whether the duals of every layer are inside their bounds and balance up to rounding; `size` is that of all.

    What rounding lost of their sum is added to it: of thousands of duals, class by class, that is beyond the tolerance.
    """
    for layer in range(layers):
        missing = (found[layer, 6] - balance[layer]) + found[layer, 7]
        if found[layer, 15] <= 0.0 or not abs(missing) <= BALANCE_TOLERANCE * size:
            return False
    return True


@njit(**OPTIONS)
def combine_numbers(found, layers, intercepts, balance, halves, drift, reach, size, floor, numbers):
    """P, D, rounding, P - D from above, violation, feasibility, floor and relative gap, written to `numbers`.

    `found` has for each layer what `enclose_rows` and `bound_balancing_cost` return, `halves` are |w|^2 / 2 and its
    error, `drift` is how far w is from that of users, `reach` the largest |phi(x)|.
    """
    losses, conjugates, remainders, offset, moved, cost, cost_of_dual, kkt = add_layers(
        found, layers, intercepts, balance
    )
    sizes, errors = abs(halves[0]) + abs(losses[0]) + abs(offset[0]), halves[1] + losses[1] + offset[1]
    primal, primal_error = halves[0] + losses[0] + offset[0], widen_sum(errors, sizes, 3)
    distance = moved * reach + drift
    remainder = 0.5 * (distance * distance) * (1.0 + 8.0 * UNIT)
    bound = (remainder + (remainders[0] + widen_error(remainders[0], remainders[1])) + cost) * (1.0 + 8.0 * UNIT)
    conjugate = bound_conjugate(halves[0] + widen_error(halves[0], halves[1]), distance)
    high = conjugates[0] + widen_error(conjugates[0], conjugates[1])
    widened = widen_error(primal, primal_error)
    dual, primal = bound_dual(primal - widened, conjugate, high, cost_of_dual, bound), primal + widened
    rounded, gap = bound - remainders[0], primal - dual
    gap, least = bound if bound < gap else gap, max(max(abs(primal), abs(dual)), floor)
    sound = are_feasible(found, layers, balance, size)
    numbers[0], numbers[1], numbers[2], numbers[3] = primal, dual, rounded if rounded > 0.0 else 0.0, bound
    numbers[4], numbers[5], numbers[6] = kkt, 1.0 if sound else 0.0, floor
    numbers[7] = gap / least if sound and np.isfinite(gap) and np.isfinite(least) else np.inf
