"""One pass over the rows of a problem: what the judge adds up."""

from .compiler import njit

OPTIONS = {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
CHUNK = 256  # rows summed on their own before they join the total, so that rounding errors do not pile up


@njit(**OPTIONS)
def sum_rows(f, a, p, d, e, lo, hi, margin):
    """Sums over conj_i(a) = p a + d a^2/2 + e |a| on [lo, hi], at the scores f.

    Returns sum c_i l(f_i), sum conj_i(a_i), the largest distance of -f_i from the subdifferential of conj_i at a_i,
    and whether every a_i is within its bounds. Duals within `margin` of a bound or of zero count as being there when
    their distance is measured.
    """
    losses = conjugates = violation = 0.0
    inside = True
    for start in range(0, f.shape[0], CHUNK):
        loss = conjugate = 0.0
        for k in range(start, min(start + CHUNK, f.shape[0])):
            push, dual = -(f[k] + p[k]), a[k]
            if d[k] > 0:
                best = min(max((push - min(max(push, -e[k]), e[k])) / d[k], lo[k]), hi[k])
                loss += best * push - 0.5 * d[k] * best * best - e[k] * abs(best)
            else:
                best = 0.0
                if push > e[k]:
                    best = hi[k] * (push - e[k])
                elif push < -e[k]:
                    best = lo[k] * (push + e[k])
                loss += best
            conjugate += p[k] * dual + 0.5 * d[k] * dual * dual + e[k] * abs(dual)
            inside = inside and lo[k] <= dual <= hi[k]
            dual = 0.0 if abs(dual) <= margin else dual
            middle = push - d[k] * dual
            if dual > lo[k] + margin:
                violation = max(violation, (e[k] if dual > 0 else -e[k]) - middle)
            if dual < hi[k] - margin:
                violation = max(violation, middle - (e[k] if dual >= 0 else -e[k]))
        losses += loss
        conjugates += conjugate
    return losses, conjugates, violation, inside
