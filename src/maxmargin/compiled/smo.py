"""Sequential minimal optimisation on rows of a loss table: the loops of Wu (2014), for any (p, d, e, lo, hi).

Everything here works on the signed duals a of

    D(a) = -1/2 a'Ka - sum_i (p_i a_i + d_i a_i^2/2 + e_i |a_i|),   lo <= a <= hi,   sum_i a_i = balance

and keeps f = K a. Moving a_i up raises D at the rate up_i - f_i, moving it down lowers it at the rate low_i - f_i:

    up_i  = -p_i - d_i a_i - e_i sign(a_i + 0)     (blocked where a_i = hi_i)
    low_i = -p_i - d_i a_i - e_i sign(a_i - 0)     (blocked where a_i = lo_i)

For the hinge these are the y_i g_i of Wu (2014), restricted to I_up and I_down. The point is optimal exactly if
m = max(up - f) <= M = min(low - f), and b lies between the two.

Arrays of shape (layers, n) hold one row for each free intercept; `f`, kernel rows and the diagonal are shared.
A kernel row that is not in the cache ends the call with MISSING: the caller fetches it and calls again.
"""

import numpy as np
from numba import types
from numba.extending import overload

from .compiler import njit
from .lanes import (
    add,
    divide,
    larger,
    largest_lane,
    last_bit,
    load,
    load_some,
    matching_lanes,
    multiply,
    spread_like,
    store,
    store_some,
    subtract,
)
from .piecewise import best_dual
from .single_rows import admit_row

BLOCKED, BLOCKED32 = 1e300, 1e30  # finite stand-ins for infinity: the searches stay branch-free
MIN_CURVATURE = 1e-12  # curvature below this counts as none (a kernel that is not positive semidefinite)
BOUND_ROUNDING = 1e-13  # of the largest dual, by which rounding may keep a dual off its bound
MAX_DUAL_SIZE = 1e100  # a dual beyond this is on its way to infinity: D has no maximum
GAP_CHECK_STEPS = 32  # iterations between two looks at the duality gap

CONVERGED, MISSING, BUDGET, STALLED = 0, 1, 2, 3
SECOND_ORDER, MAXIMAL_VIOLATING_PAIR, KEERTHI = 0, 1, 2
# places in `numbers` (float64) and `counts` (int64), the state that outlives a call
DUAL, GAP, VIOLATION, FLOOR, HELD = 0, 1, 2, 3, 4
ITERATIONS, CLOCK, WANTED, NEGATIVE, SWEEPING, POSITION, MISSES = 0, 1, 2, 3, 4, 5, 6

U = np.uintp

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"nnan", "ninf", "nsz"},
}  # fmt: skip


def finite_infinity(array):
    """The stand-in for infinity in an array: 1e300 in float64, 1e30 in float32."""
    return BLOCKED if array.dtype == np.float64 else BLOCKED32


@overload(finite_infinity)
def _compile_finite_infinity(array):
    height = BLOCKED if array.dtype == types.float64 else BLOCKED32
    return lambda array: height


@njit(**OPTIONS)
def update_rates(i, a, p, d, e, lo, hi, up, low):
    """Renew up_i and low_i after a_i has moved."""
    rate = -p[i] - d[i] * a[i]
    up[i] = rate - (e[i] if a[i] >= 0 else -e[i]) if a[i] < hi[i] else -finite_infinity(up)
    low[i] = rate - (e[i] if a[i] > 0 else -e[i]) if a[i] > lo[i] else finite_infinity(up)


@njit(**OPTIONS)
def update_all_rates(a, p, d, e, lo, hi, up, low):
    """Renew every up_i and low_i."""
    for layer in range(a.shape[0]):
        # Views of a layer outside of the loop: to make them takes longer than what is computed from them.
        a_l, p_l, d_l, e_l, lo_l, hi_l = a[layer], p[layer], d[layer], e[layer], lo[layer], hi[layer]
        up_l, low_l = up[layer], low[layer]
        for i in range(a.shape[1]):
            update_rates(i, a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l)


@njit(**OPTIONS)
def update_some_rates(index, a, p, d, e, lo, hi, up, low):
    """Renew up_i and low_i of some samples."""
    for layer in range(a.shape[0]):
        a_l, p_l, d_l, e_l, lo_l, hi_l = a[layer], p[layer], d[layer], e[layer], lo[layer], hi[layer]
        up_l, low_l = up[layer], low[layer]
        for i in index:
            update_rates(i, a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l)


@njit(**OPTIONS)
def maximum(values):
    """max of an array."""
    n, width = U(values.shape[0]), U(64 // values.itemsize)
    best = lowest = spread_like(values, -2.0 * finite_infinity(values))
    for k in range(U(0), n - n % width, width):
        best = larger(load(values, k), best)
    if n % width > U(0):
        best = larger(load_some(values, n - n % width, n % width, lowest), best)
    return largest_lane(best)


@njit(**OPTIONS)
def last_place(values, value):
    """The last index that holds `value`: ties are broken as LIBSVM breaks them."""
    n, width = U(values.shape[0]), U(64 // values.itemsize)
    k = n
    while k % width > U(0):
        k -= U(1)
        if values[k] == value:
            return np.int64(k)
    wanted = spread_like(values, value)
    while k > U(0):
        k -= width
        lanes = matching_lanes(load(values, k), wanted)
        if lanes != 0:
            return np.int64(k) + last_bit(lanes)
    return np.int64(0)


@njit(**OPTIONS)
def largest(up, f, scratch):
    """max and argmax of up - f (line 4 of algorithm 6.2)."""
    n, width = U(f.shape[0]), U(64 // f.itemsize)
    best = lowest = spread_like(f, -2.0 * finite_infinity(f))
    for k in range(U(0), n - n % width, width):
        rate = subtract(load(up, k), load(f, k))
        store(scratch, k, rate)
        best = larger(rate, best)
    k, rest = n - n % width, n % width
    if rest > U(0):
        rate = subtract(load_some(up, k, rest, lowest), load_some(f, k, rest, spread_like(f, 0.0)))
        store_some(scratch, k, rest, rate)
        best = larger(rate, best)
    top = largest_lane(best)
    return top, last_place(scratch, top)


@njit(**OPTIONS)
def smallest(low, f, scratch):
    """min and argmin of low - f (line 5 of algorithm 6.2)."""
    top, place = largest(f, low, scratch)
    return -top, place


@njit(**OPTIONS)
def best_partner(m, second_derivative, low, f, row, curvature, scratch):
    """The j that promises the largest gain slope^2 / curvature with i (Fan, Chen and Lin 2005), and that gain."""
    n, width = U(f.shape[0]), U(64 // f.itemsize)
    zero, floor, two = spread_like(f, 0.0), spread_like(f, MIN_CURVATURE), spread_like(f, 2.0)
    top, base, best = spread_like(f, m), spread_like(f, second_derivative), spread_like(f, 0.0)
    for k in range(U(0), n - n % width, width):
        slope = larger(subtract(top, subtract(load(low, k), load(f, k))), zero)
        curve = larger(subtract(add(base, load(curvature, k)), multiply(two, load(row, k))), floor)
        gain = divide(multiply(slope, slope), curve)
        store(scratch, k, gain)
        best = larger(gain, best)
    k, rest = n - n % width, n % width
    if rest > U(0):
        slope = subtract(
            top, subtract(load_some(low, k, rest, spread_like(f, finite_infinity(f))), load_some(f, k, rest, zero))
        )
        curve = add(base, load_some(curvature, k, rest, floor))
        curve = subtract(curve, multiply(two, load_some(row, k, rest, zero)))
        slope = larger(slope, zero)
        gain = divide(multiply(slope, slope), larger(curve, floor))
        store_some(scratch, k, rest, gain)
        best = larger(gain, best)
    gain = largest_lane(best)
    return last_place(scratch, gain), gain


@njit(**OPTIONS)
def best_single(up, low, f, curvature, scratch):
    """Without an equality one dual moves alone: the i of largest gain slope^2 / curvature."""
    for k in range(f.shape[0]):
        slope = max(max(up[k] - f[k], f[k] - low[k]), 0.0)
        scratch[k] = slope * slope / max(curvature[k], MIN_CURVATURE)
    return last_place(scratch, maximum(scratch))


@njit(**OPTIONS)
def extremes_of_free(up, low, f):
    """The maximal violating pair among the free duals only, Keerthi's set I_0."""
    m, M, i, j = -finite_infinity(f), finite_infinity(f), -1, -1
    for k in range(f.shape[0]):
        if up[k] > -finite_infinity(f) and low[k] < finite_infinity(f):
            if up[k] - f[k] > m:
                m, i = up[k] - f[k], k
            if low[k] - f[k] < M:
                M, j = low[k] - f[k], k
    return m, i, M, j


@njit(**OPTIONS)
def select_keerthi(up, low, f, threshold, counts, scratch):
    """Platt's two loops with two thresholds (Keerthi et al. 2001, modification 2; Shevade et al. for regression).

    While some free pair violates by more than `threshold` the worst such pair is taken; else all samples are
    examined in order, each against the worst partner known, and the first violator is taken. Returns (-1, -1)
    when a whole sweep finds none.
    """
    n = f.shape[0]
    m, i, M, j = extremes_of_free(up, low, f)
    if i >= 0 and m - M > threshold:
        counts[SWEEPING] = 0
        return i, j
    if counts[SWEEPING] == 0:
        counts[SWEEPING], counts[POSITION] = 1, 0
    if i < 0:
        m, i = largest(up, f, scratch)
        M, j = smallest(low, f, scratch)
    for _ in range(n):
        k = counts[POSITION]
        counts[POSITION] = (k + 1) % n
        if up[k] - f[k] - M > threshold:
            return k, j
        if m - (low[k] - f[k]) > threshold:
            return i, k
        if up[k] - f[k] > m:
            m, i = up[k] - f[k], k
        if low[k] - f[k] < M:
            M, j = low[k] - f[k], k
    return -1, -1


@njit(**OPTIONS)
def step_length(slope, second_derivative, first_kink, first_drop, second_kink, second_drop, room):
    """argmax over t in [0, room] of slope t - second_derivative t^2/2 - sum of drop max(0, t - kink).

    The kinks are where |a| turns; `drop` is how much slope is lost there. Without curvature (a kernel that is not
    positive semidefinite) the step runs to the next kink or bound.
    """
    if second_derivative < MIN_CURVATURE:
        second_derivative = MIN_CURVATURE if room < 0.5 * BLOCKED else max(abs(second_derivative), MIN_CURVATURE)
    if second_kink < first_kink:
        first_kink, second_kink = second_kink, first_kink
        first_drop, second_drop = second_drop, first_drop
    t = slope / second_derivative
    if t > first_kink:
        slope -= first_drop
        t = max(first_kink, slope / second_derivative)
    if t > second_kink:
        slope -= second_drop
        t = max(second_kink, slope / second_derivative)
    return min(t, room)


@njit(**OPTIONS)
def move(i, t, a, lo, hi):
    """a_i + t, landing exactly on a bound where the step was meant to end there."""
    now = a[i] + t
    if t > 0 and (now >= hi[i] or t >= hi[i] - a[i]):
        now = hi[i]
    if t < 0 and (now <= lo[i] or -t >= a[i] - lo[i]):
        now = lo[i]
    return now


@njit(**OPTIONS)
def add_rows(f, t, row_i, s, row_j, up, scratch):
    """f += t K_i + s K_j (line 8 of algorithm 6.2); max of up - f for the next step, all of them left in `scratch`."""
    n, width = U(f.shape[0]), U(64 // f.itemsize)
    first, second, zero = spread_like(f, t), spread_like(f, s), spread_like(f, 0.0)
    best = lowest = spread_like(f, -2.0 * finite_infinity(f))
    for k in range(U(0), n - n % width, width):
        # Two roundings, as in LIBSVM: a fused product would break ties between samples another way.
        step = add(multiply(first, load(row_i, k)), multiply(second, load(row_j, k)))
        score = add(load(f, k), step)
        store(f, k, score)
        rate = subtract(load(up, k), score)
        store(scratch, k, rate)
        best = larger(rate, best)
    k, rest = n - n % width, n % width
    if rest > U(0):
        step = multiply(first, load_some(row_i, k, rest, zero))
        step = add(step, multiply(second, load_some(row_j, k, rest, zero)))
        score = add(load_some(f, k, rest, zero), step)
        store_some(f, k, rest, score)
        rate = subtract(load_some(up, k, rest, lowest), score)
        store_some(scratch, k, rest, rate)
        best = larger(rate, best)
    return largest_lane(best)


@njit(**OPTIONS)
def find_intercept(up, low, f, a, lo, hi):
    """b averaged over the free duals; where none is free, the middle of [M, m] that the conditions leave.

    A dual that rounding has moved off its bound is not free: it leaves the conditions on b that it has at its bound.
    To take a free dual for bounded costs a gap of at most BOUND_ROUNDING max |a| times the width of [M, m].
    """
    total, weight, off = 0.0, 0.0, 0.0
    m, M = -finite_infinity(up), finite_infinity(up)
    for k in range(f.shape[0]):
        off = max(off, BOUND_ROUNDING * abs(a[k]))
    for k in range(f.shape[0]):
        above, below = hi[k] - a[k], a[k] - lo[k]
        if up[k] == low[k] and above > off and below > off:
            distance = min(min(above, below), 1e100)
            total += distance * (up[k] - f[k])
            weight += distance
        if above > off:
            m = max(m, up[k] - f[k])
        if below > off:
            M = min(M, low[k] - f[k])
    if weight > 0:
        return total / weight
    if m < -0.5 * finite_infinity(up):  # all samples are blocked upwards
        return 0.0 if 0.5 * finite_infinity(low) < M else M
    return m if 0.5 * finite_infinity(low) < M else 0.5 * (m + M)


@njit(**OPTIONS)
def fenchel_gap(f, b, a, p, d, e, lo, hi):
    """sum_i c_i l(f_i + b) + conj_i(a_i) + a_i (f_i + b), which is P - D wherever the duals balance."""
    gap = 0.0
    for k in range(f.shape[0]):
        push = -(f[k] + b + p[k])
        best = best_dual(push, d[k], e[k], lo[k], hi[k])
        value = best * push - 0.5 * d[k] * best * best - e[k] * abs(best)
        gap += value - a[k] * push + 0.5 * d[k] * a[k] * a[k] + e[k] * abs(a[k])
    return gap


@njit(**OPTIONS)
def estimate_gap(f, a, p, d, e, lo, hi, up, low, paired, intercepts):
    """The solver's own view of P - D on the active samples, with its intercepts left in `intercepts`."""
    gap = 0.0
    for layer in range(a.shape[0]):
        b = find_intercept(up[layer], low[layer], f, a[layer], lo[layer], hi[layer]) if paired else 0.0
        intercepts[layer] = b
        gap += fenchel_gap(f, b, a[layer], p[layer], d[layer], e[layer], lo[layer], hi[layer])
    return gap


@njit(**OPTIONS)
def is_gap_within(gap, tol, numbers):
    """(P - D) / max(|P|, |D|, floor) <= tol."""
    dual = numbers[DUAL]
    return gap <= tol * max(max(abs(dual + gap), abs(dual)), numbers[FLOOR])


@njit(**OPTIONS)
def find_margin_scale(f, b, a, p, d, e, lo, hi, tol):
    """t >= 1 for which (t a, t b) has no loss left and a gap within tol, or 0: for hinges, none of them far off.

    Where C is large, P = 1/2 |w|^2 + C sum of hinges is mostly what rounding and the last steps leave of the hinges.
    A w that is longer by a hair has none: P - D = t^2 |w|^2 - t sum_i |a_i|, whatever C is.
    """
    t, square, linear, room = 1.0, 0.0, 0.0, BLOCKED
    for k in range(f.shape[0]):
        target = -p[k]
        if d[k] > 0 or e[k] > 0 or target == 0.0 or (lo[k] < 0 if target > 0 else hi[k] > 0):
            return 0.0
        margin = (f[k] + b) / target
        if margin < 0.5:
            return 0.0
        t = max(t, 1.0 / margin)
        square += a[k] * f[k]
        linear += a[k] * target
        if a[k] != 0.0:
            room = min(room, (hi[k] if a[k] > 0 else lo[k]) / a[k])
    t *= 1.0 + 4e-16 * f.shape[0]  # as far as the judge's scores may differ by rounding
    primal, dual = 0.5 * t * t * square, t * linear - 0.5 * t * t * square
    return t if t <= room and primal - dual <= tol * max(abs(primal), abs(dual)) else 0.0


@njit(**OPTIONS)
def scale_to_margin(f, a, p, d, e, lo, hi, up, low, tol, numbers, intercepts):
    """Multiply duals, scores and intercept by `find_margin_scale`, if there is one; whether that was done."""
    if a.shape[0] > 1 or f.itemsize < 8 or numbers[HELD] != 0.0:
        return False
    t = find_margin_scale(f, intercepts[0], a[0], p[0], d[0], e[0], lo[0], hi[0], tol)
    if t == 0.0:
        return False
    square, linear = 0.0, 0.0
    for k in range(f.shape[0]):
        a[0, k] = min(max(t * a[0, k], lo[0, k]), hi[0, k])
        f[k] *= t
        square += a[0, k] * f[k]
        linear -= a[0, k] * p[0, k]
    intercepts[0] *= t
    numbers[DUAL] = linear - 0.5 * square
    update_all_rates(a, p, d, e, lo, hi, up, low)
    return True


@njit(**OPTIONS)
def select_layer(up, low, f, scratch):
    """The layer with the widest violation m - M, and its maximal violating pair."""
    zero = f[0] - f[0]
    layer, widest, m, i, M, j = 0, zero - 3.0 * finite_infinity(f), zero, 0, zero, 0
    for candidate in range(up.shape[0]):
        top, first = largest(up[candidate], f, scratch)
        bottom, second = smallest(low[candidate], f, scratch)
        if top - bottom > widest:
            layer, widest, m, i, M, j = candidate, top - bottom, top, first, bottom, second
    return layer, m, i, M, j


@njit(**OPTIONS)
def pair_steps(
    rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature,
    scratch, selection, sweep, gap_stops, every, tol, threshold, max_steps, numbers, counts, intercepts,
):  # fmt: skip
    """Pair steps until convergence, a missing row, or `max_steps`: algorithm 6.2 and its two refinements.

    `every` so many steps the violation m - M is compared with `threshold`, or the gap with `tol` if `gap_stops`.
    With a `source` of rows (see single_rows.py) none is missing. Where `source`, `sweep` (Keerthi's selection) or
    `gap_stops` is None, its code is not compiled at all: that halves the time of the first fit. `scratch` is room for
    a number for each sample.
    """
    settled, found, current = False, False, 0
    # Views of the layer at work: to make one in every step would take as long as the step.
    a_l, p_l, d_l, e_l, lo_l, hi_l = a[0], p[0], d[0], e[0], lo[0], hi[0]
    up_l, low_l, curvature_l = up[0], low[0], curvature[0]
    m, wanted, last = f[0] - f[0], -1, counts[ITERATIONS] + max_steps
    while counts[ITERATIONS] < last:
        layer, i, j = 0, 0, 0
        if source is not None:
            if wanted >= 0:
                admit_row(wanted, source, rows, slot, holder, stamp, counts[CLOCK])
                counts[MISSES] += 1
                wanted = -1
        sweeping, position = counts[SWEEPING], counts[POSITION]
        looking = settled or counts[ITERATIONS] % every == 0
        quick = selection == SECOND_ORDER and a.shape[0] == 1 and not looking
        if quick and found:
            i = last_place(scratch, m)
        elif quick:
            m, i = largest(up_l, f, scratch)
        else:
            layer, m, i, M, j = select_layer(up, low, f, scratch)
            numbers[VIOLATION] = m - M
            if gap_stops is not None:
                if looking or m <= M:
                    numbers[GAP] = estimate_gap(f, a, p, d, e, lo, hi, up, low, True, intercepts)
                    if is_gap_within(numbers[GAP], tol, numbers):
                        return CONVERGED
                    if scale_to_margin(f, a, p, d, e, lo, hi, up, low, tol, numbers, intercepts):
                        return CONVERGED
            if m - M < threshold or m <= M:
                return STALLED if gap_stops is not None and selection != KEERTHI else CONVERGED
        if layer != current:
            a_l, p_l, d_l, e_l, lo_l, hi_l = a[layer], p[layer], d[layer], e[layer], lo[layer], hi[layer]
            up_l, low_l, curvature_l, current = up[layer], low[layer], curvature[layer], layer
        if sweep is not None:
            i, j = select_keerthi(up_l, low_l, f, threshold, counts, scratch)
            if i < 0:
                return CONVERGED
            m = up_l[i] - f[i]
        s = slot[i]
        if s < 0:
            wanted, counts[WANTED], counts[SWEEPING], counts[POSITION] = i, i, sweeping, position
            if source is None:
                return MISSING
            continue
        row_i = rows[s]
        if selection == SECOND_ORDER:
            found = False
            j, gain = best_partner(m, curvature_l[i], low_l, f, row_i, curvature_l, scratch)
            if gain <= 0.0 and settled:
                return STALLED
            settled = gain <= 0.0  # no partner gains with i: look at the gap at once
            if settled:
                continue
        stamp[s] = counts[CLOCK]
        s = slot[j]
        if s < 0:
            wanted, counts[WANTED], counts[SWEEPING], counts[POSITION] = j, j, sweeping, position
            if source is None:
                return MISSING
            continue
        row_j = rows[s]
        stamp[s] = counts[CLOCK]
        counts[CLOCK] += 1
        slope = m - (low_l[j] - f[j])
        second_derivative = curvature_l[i] + curvature_l[j] - 2.0 * row_i[j]
        counts[NEGATIVE] += second_derivative < -MIN_CURVATURE
        kink_i = -a_l[i] if a_l[i] < 0 and e_l[i] > 0 else BLOCKED
        kink_j = a_l[j] if a_l[j] > 0 and e_l[j] > 0 else BLOCKED
        room = min(hi_l[i] - a_l[i], a_l[j] - lo_l[j])
        t = step_length(slope, second_derivative, kink_i, 2.0 * e_l[i], kink_j, 2.0 * e_l[j], room)
        before_i, before_j = a_l[i], a_l[j]
        a_l[i] = move(i, t, a_l, lo_l, hi_l)
        a_l[j] = move(j, -t, a_l, lo_l, hi_l)
        counts[ITERATIONS] += 1
        if a_l[i] == before_i and a_l[j] == before_j:
            return STALLED
        kinked = 2.0 * e_l[i] * max(0.0, t - kink_i) + 2.0 * e_l[j] * max(0.0, t - kink_j)
        numbers[DUAL] += slope * t - 0.5 * second_derivative * t * t - kinked
        update_rates(i, a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l)
        update_rates(j, a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l)
        m, found = add_rows(f, a_l[i] - before_i, row_i, a_l[j] - before_j, row_j, up_l, scratch), True
        if max(abs(a_l[i]), abs(a_l[j])) > MAX_DUAL_SIZE:
            return STALLED
    return BUDGET


@njit(**OPTIONS)
def single_steps(
    rows, slot, holder, stamp, source, f, a, p, d, e, lo, hi, up, low, curvature,
    scratch, gap_stops, tol, threshold, max_steps, numbers, counts, intercepts,
):  # fmt: skip
    """Steps of one dual at a time, for problems without a free intercept: no equality ties a pair together."""
    a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l = a[0], p[0], d[0], e[0], lo[0], hi[0], up[0], low[0]
    for _ in range(max_steps):
        i = best_single(up_l, low_l, f, curvature[0], scratch)
        violation = slope_of(i, up_l, low_l, f)
        widest = violation
        if gap_stops is None:
            widest = widest_slope(up_l, low_l, f, scratch)
        elif counts[ITERATIONS] % GAP_CHECK_STEPS == 0 or violation <= 0.0:
            numbers[GAP] = estimate_gap(f, a, p, d, e, lo, hi, up, low, False, intercepts)
            if is_gap_within(numbers[GAP], tol, numbers):
                return CONVERGED
        numbers[VIOLATION] = widest
        if widest < threshold or violation <= 0.0:
            return CONVERGED if gap_stops is None else STALLED
        if slot[i] < 0 and source is not None:
            admit_row(i, source, rows, slot, holder, stamp, counts[CLOCK])
            counts[MISSES] += 1
        s = slot[i]
        if s < 0:
            counts[WANTED] = i
            return MISSING
        stamp[s] = counts[CLOCK]
        counts[CLOCK] += 1
        rising = up_l[i] - f[i] >= f[i] - low_l[i]
        before, second_derivative = a_l[i], curvature[0, i]
        counts[NEGATIVE] += second_derivative < -MIN_CURVATURE
        ahead = -before if rising else before
        kink = ahead if ahead > 0 and e_l[i] > 0 else BLOCKED
        room = hi_l[i] - before if rising else before - lo_l[i]
        t = step_length(violation, second_derivative, kink, 2.0 * e_l[i], BLOCKED, 0.0, room)
        numbers[DUAL] += violation * t - 0.5 * second_derivative * t * t - 2.0 * e_l[i] * max(0.0, t - kink)
        a_l[i] = move(i, t if rising else -t, a_l, lo_l, hi_l)
        counts[ITERATIONS] += 1
        if a_l[i] == before:
            return STALLED
        update_rates(i, a_l, p_l, d_l, e_l, lo_l, hi_l, up_l, low_l)
        add_rows(f, a_l[i] - before, rows[s], 0.0, rows[s], up_l, scratch)
        if abs(a_l[i]) > MAX_DUAL_SIZE:
            return STALLED
    return BUDGET


@njit(**OPTIONS)
def slope_of(i, up, low, f):
    """The rate at which D rises along the better direction of a_i."""
    return max(up[i] - f[i], f[i] - low[i])


@njit(**OPTIONS)
def widest_slope(up, low, f, scratch):
    """The largest of those rates: the violation of the optimality conditions without an equality."""
    for k in range(f.shape[0]):
        scratch[k] = slope_of(k, up, low, f)
    return maximum(scratch)


@njit(**OPTIONS)
def find_extremes(up, low, f, m, M, scratch):
    """m = max(up - f) and M = min(low - f) of each layer, into the arrays m and M."""
    for layer in range(up.shape[0]):
        m[layer], _ = largest(up[layer], f, scratch)
        M[layer], _ = smallest(low[layer], f, scratch)


@njit(**OPTIONS)
def collect_violators(above, below, floor, taken, rates, places):
    """The rates above_k - below_k larger than `floor` of samples that are not taken, and their places; how many."""
    count = 0
    for k in range(above.shape[0]):
        if above[k] - below[k] > floor and not taken[k]:
            rates[count], places[count] = above[k] - below[k], k
            count += 1
    return count
