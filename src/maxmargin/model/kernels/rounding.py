"""What rounding does to kernel values: bounds for the judge in float64, and for rows in float32."""

from __future__ import annotations

import numpy as np

from ...contracts.kernels import Kernel
from ...contracts.samples import VectorSamples
from ...runtime.rounding import BOUND_INFLATION, UNIT, bound_sum

# of the samples must be that safe; what the others spoil the judge sees, and the run goes on in float64
FLOAT32_SAFE_SAMPLE_SHARE = 0.99
SINGLE_UNIT = 2.0**-24  # rounding error of float32
TINY = float(np.finfo(float).tiny)
MAX_EXPONENT_ERROR = 4e-9  # error of an exponent above which it is formed from differences, not from norms and products
EXP_RELATIVE_ERROR = 4.0 * UNIT  # error of exp in float64, relative: `exp_nonpositive` was measured to be within 1.5 u
EXP_UNDERFLOW_BOUND = 1e-130  # more than exp(-300), below which `exp_nonpositive` does not go
TANH_ERROR = 8.0 * UNIT  # error of tanh in float64
SPREAD_CHECK_SAMPLES = 256  # samples among which the spread of the kernel is looked at


def estimate_difference_cost(samples: VectorSamples) -> float:
    """Nanoseconds of a kernel value from differences, on one core in float32."""
    return 0.8 + samples.entries_per_sample / 8.0


def bound_products(samples: VectorSamples, support: VectorSamples, coef: np.ndarray) -> np.ndarray:
    """gamma_{d+6} |x_i| sum_j |coef_j| |s_j|: what sum_j |coef_j| |fl <x_i, s_j> - <x_i, s_j>| is at most."""
    roundings = bound_sum(max(samples.terms, support.terms) + 6)
    with np.errstate(over="ignore", invalid="ignore"):
        return replace_nan_by_infinity(
            roundings * samples.norm_bounds * float(np.abs(coef) @ support.norm_bounds) * BOUND_INFLATION
        )


def bound_exponentials(rows: np.ndarray, columns: np.ndarray, weight: np.ndarray, more: float) -> np.ndarray:
    """sum_j weight_j (t_i + t_j + more), where exp(-s) is off by t_i + t_j of itself because s is off by as much.

    An exponent that is off by more than MAX_EXPONENT_ERROR comes from differences instead, and adds nothing here. For
    smaller ones e^t - 1 is t but for a part in a hundred millions, which BOUND_INFLATION covers.
    """
    from ...compiled.row_sums import add_exponents

    return BOUND_INFLATION * add_exponents(rows, columns, weight, MAX_EXPONENT_ERROR, more)


def bound_exp_errors(terms: int) -> float:
    """What exp(-s) is off by where s is a sum of so many differences, each as far off as its own roundings."""
    return min(0.4 * bound_sum(terms + 8), 1.0) + EXP_RELATIVE_ERROR + EXP_UNDERFLOW_BOUND


def replace_nan_by_infinity(errors: np.ndarray) -> np.ndarray:
    """Infinity where a bound is not a number."""
    return errors if np.isfinite(errors.sum()) else np.where(np.isnan(errors), np.inf, errors)


def upper_quantile(sizes: np.ndarray) -> float:
    """A size that all but a few of the samples stay below."""
    place = min(int(FLOAT32_SAFE_SAMPLE_SHARE * len(sizes)), len(sizes) - 1)
    return float(np.partition(sizes, place)[place])


def measure_spread(samples: VectorSamples) -> float:
    """The mean of |x - z|^2 / 2 over all pairs: the variance of the samples."""
    mean = samples.combine(np.full(samples.n, 1.0 / samples.n))
    return max(float(samples.norms.mean(dtype=np.float64) - mean @ mean), TINY)


def measure_kernel_spread(kernel: Kernel, samples: VectorSamples) -> float:
    """The mean of (k(x, x) + k(z, z)) / 2 - k(x, z) over pairs of a few samples."""
    probe = samples.take(np.arange(0, samples.n, max(1, samples.n // SPREAD_CHECK_SAMPLES)))
    K = kernel.evaluate(probe, probe)
    return max(float(np.trace(K) / len(K) - K.mean()), TINY)
