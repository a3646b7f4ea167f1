"""Kernels k(x, z): one short class per formula. `bind(X)` fixes data-dependent parameters from the training data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from .samples import TILE, Dense, Given, Sparse, wrap

Samples = Dense | Sparse | Given
SAFE = 1e-4  # relative error of a kernel value that the exact refresh of the scores can take up
MOST = 0.99  # of the samples must be that safe; what the others spoil the judge sees, and the run goes on in float64
UNIT = 2.0**-24  # rounding error of float32
TINY = float(np.finfo(float).tiny)
LARGEST = float(np.finfo(float).max)
ROUNDING = 1e-10  # of the size of its terms: a smaller difference is rounding
PROBE = 256  # samples among which the spread of the kernel is looked at


def list_entries(X, weight: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows that hold every entry of X once, a tile of them at a time, and how often each of these rows counts."""
    if sp.issparse(X):
        samples = wrap(X)
        stored = np.diff(samples.indptr)
        step = max(1, TILE // 4 * samples.n // max(len(samples.data), 1))
        for k in range(0, samples.n, step):
            begin, end = samples.indptr[k], samples.indptr[min(k + step, samples.n)]
            yield samples.data[begin:end, None], np.repeat(weight[k : k + step], stored[k : k + step])
        yield np.zeros((1, 1)), np.array([weight @ (samples.d - stored)])
    else:
        step = max(1, TILE // 4 // X.shape[1])
        for k in range(0, X.shape[0], step):
            yield X[k : k + step], weight[k : k + step]


def measure_variance(X, weight: np.ndarray | None = None) -> float:
    """Var(X) over all entries, each row counted as often as its weight says; 0 where all entries are equal.

    The mean of (x - m)^2 less the square of the mean of x - m, which are exact to the last digits for every m near the
    mean of X. A difference of E(x^2) and E(x)^2 would have none left where data lie far from zero, and with m alone, a
    rounded number, data that are all equal would vary.
    """
    weight = np.ones(X.shape[0]) if weight is None else weight / weight.max()  # equal ones are ones
    count = float(weight.sum()) * X.shape[1]
    with np.errstate(over="ignore", invalid="ignore"):
        centre = sum(float(w @ rows.sum(axis=1, dtype=np.float64)) for rows, w in list_entries(X, weight)) / count
        away, square = 0.0, 0.0
        for rows, w in list_entries(X, weight):
            apart = np.subtract(rows, centre, dtype=np.float64)
            away += float(w @ apart.sum(axis=1)) / count
            square += float(w @ np.einsum("ij,ij->i", apart, apart)) / count
    if not np.isfinite(square):
        return np.inf
    return square - away**2 if square - away**2 > ROUNDING * square else 0.0


def resolve_gamma(gamma: float | str, X, weight: np.ndarray | None = None) -> float:
    """'scale' -> 1/(d Var(X)), 'auto' -> 1/d, a number -> itself.

    The variance counts each row as often as its weight, so that weight 2 equals the row twice.
    """
    if gamma == "scale":
        variance = measure_variance(X, weight)
        return min(1.0 / (X.shape[1] * variance), LARGEST) if variance != 0.0 else 1.0
    if gamma == "auto":
        return 1.0 / X.shape[1]
    return float(gamma)


def is_nonnegative(gamma: float | str) -> bool:
    """Whether gamma is a number >= 0, or a rule that gives one."""
    return isinstance(gamma, str) or gamma >= 0


@dataclass(frozen=True)
class Kernel:
    """k(x, z). `psd` is True where the formula is positive semidefinite for all data, None where nobody knows."""

    name: ClassVar[str]
    psd: ClassVar[bool | None] = True

    def bind(self, X, weight: np.ndarray | None = None) -> Kernel:
        """This kernel with every parameter a number, chosen from the training data X."""
        return self

    def samples(self, X) -> Samples:
        """X as this kernel wants to see it."""
        return wrap(X)

    def evaluate(self, A: Samples, B: Samples) -> np.ndarray:
        """K_ij = k(a_i, b_j) in the precision of the samples."""
        raise NotImplementedError

    def write(self, A: Samples, B: Samples, out: np.ndarray) -> np.ndarray:
        """K_ij = k(a_i, b_j), into a tile that is used again and again."""
        out[:] = self.evaluate(A, B)
        return out

    def diagonal(self, A: Samples) -> np.ndarray:
        """k(a_i, a_i)."""
        raise NotImplementedError

    def cost(self, samples: Samples) -> float:
        """Nanoseconds of a kernel value on one core in float32; in float64 twice as many."""
        if isinstance(samples, Sparse):
            return 0.8 + len(samples.data) / max(samples.n, 1) / 30.0
        return 0.8 + samples.d / 50.0

    def bound_rounding(self, samples: Samples) -> float:
        """A bound on the error of a kernel value that is evaluated in float32."""
        return np.inf

    def blur(self, samples: Samples) -> float:
        """The same, over the size of the differences between kernel values that matter."""
        return self.bound_rounding(samples)

    def halve(self, samples: Samples, megabytes: float = np.inf) -> Samples | None:
        """The samples for evaluation in float32 with an error below SAFE, or None if that cannot be had."""
        if not isinstance(samples, Dense | Sparse) or not samples.n:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return samples.halve(megabytes) if self.blur(samples) < SAFE else None

    def __call__(self, A, B=None) -> np.ndarray:
        """K_ij = k(a_i, b_j) for two matrices of samples."""
        A = self.samples(A)
        return self.evaluate(A, A if B is None else self.samples(B))


class Formula(Kernel):
    """A kernel that is evaluated in place: `evaluate` takes the tile to write into."""

    def write(self, A, B, out):
        """K_ij = k(a_i, b_j), without a copy."""
        return self.evaluate(A, B, out)


@dataclass(frozen=True)
class Linear(Formula):
    """<x, z>."""

    name = "linear"

    def evaluate(self, A, B, out=None):
        """<a_i, b_j>."""
        return A.dots(B, out)

    def bound_rounding(self, samples):
        """8 u |x|^2."""
        return 8.0 * UNIT * large(samples.norms)

    def blur(self, samples):
        """8 u |x|^2 over the mean of |x - z|^2 / 2: products of samples far from the origin hide their distances."""
        return self.bound_rounding(samples) / measure_spread(samples)

    def diagonal(self, A):
        """|a_i|^2."""
        return A.norms.copy()


@dataclass(frozen=True)
class Polynomial(Formula):
    """(gamma <x, z> + coef0)^degree."""

    degree: int = 3
    gamma: float | str = "scale"
    coef0: float = 0.0
    name = "poly"

    @property
    def psd(self):
        """With gamma, coef0 >= 0 the expansion has nonnegative coefficients, hence is positive semidefinite."""
        return True if self.coef0 >= 0 and is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def _raise(self, dots: np.ndarray) -> np.ndarray:
        """(gamma dots + coef0)^degree in place by repeated squaring: numpy's power costs 20 times more."""
        dots *= self.gamma
        dots += self.coef0
        if self.degree == 0:
            dots[:] = 1.0
            return dots
        base = dots.copy()
        for bit in bin(self.degree)[3:]:
            np.multiply(dots, dots, out=dots)
            if bit == "1":
                np.multiply(dots, base, out=dots)
        return dots

    def evaluate(self, A, B, out=None):
        """(gamma <a_i, b_j> + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.dots(B, out))

    def bound_rounding(self, samples):
        """As for <x, z>, the error of the power being `degree` times that of its base at most."""
        largest = (abs(self.gamma) * large(samples.norms) + abs(self.coef0)) ** self.degree
        return 8.0 * UNIT * max(self.degree, 1) * largest

    def blur(self, samples):
        """That of the power over the mean of the differences between values."""
        return self.bound_rounding(samples) / measure_kernel_spread(self, samples)

    def diagonal(self, A):
        """(gamma |a_i|^2 + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.norms.copy())


@dataclass(frozen=True)
class RBF(Formula):
    """exp(-gamma |x - z|^2)."""

    gamma: float | str = "scale"
    shift: np.ndarray | None = None
    name = "rbf"

    @property
    def psd(self):
        """Positive semidefinite for gamma >= 0 (Bochner)."""
        return True if is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number; and a shift of the origin where it saves digits.

        |x - z|^2 = |x|^2 + |z|^2 - 2 <x, z> loses as many digits as |x|^2 has over |x - z|^2. The kernel does
        not see translations, so data far from the origin are moved to their mean first.
        """
        shift = None
        if not sp.issparse(X):
            with np.errstate(over="ignore", invalid="ignore"):
                mean = X.mean(axis=0, dtype=np.float64)
                far = mean @ mean
                if far > 0.99 * np.einsum("ij,ij->", X, X, dtype=np.float64) / len(X) and np.isfinite(far):
                    shift = mean
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight), shift=shift)

    def samples(self, X):
        """X, moved to the origin if it lies far from it."""
        return wrap(X if self.shift is None else X - self.shift)

    def evaluate(self, A, B, out=None):
        """exp(-gamma |a_i - b_j|^2)."""
        from .compiled.kernel_rows import rbf_from_dots

        out = A.dots(B, out)
        rbf_from_dots(out, A.norms, B.norms, float(self.gamma))
        return out

    def bound_rounding(self, samples):
        """The exponent is off by at most about 8 u gamma |x|^2: safe for data that are scaled."""
        return 8.0 * UNIT * abs(self.gamma) * large(samples.norms)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Laplacian(Formula):
    """exp(-gamma |x - z|_1)."""

    gamma: float | str = "scale"
    name = "laplacian"

    @property
    def psd(self):
        """Positive semidefinite for gamma >= 0."""
        return True if is_nonnegative(self.gamma) else None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def evaluate(self, A, B, out=None):
        """exp(-gamma |a_i - b_j|_1)."""
        from .compiled.kernel_rows import exponentiate

        out = A.distances(B, out)
        exponentiate(out, -float(self.gamma))
        return out

    def cost(self, samples):
        """Nanoseconds of a kernel value: distances have no BLAS."""
        return 0.8 + (len(samples.data) / max(samples.n, 1) if isinstance(samples, Sparse) else samples.d) / 8.0

    def bound_rounding(self, samples):
        """Rounded samples move the exponent by 2 u gamma |x|_1 at most, the sum of d terms by as much again."""
        return 4.0 * UNIT * abs(self.gamma) * large(samples.lengths)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Sigmoid(Formula):
    """tanh(gamma <x, z> + coef0): not positive semidefinite in general."""

    gamma: float | str = "scale"
    coef0: float = 0.0
    name = "sigmoid"
    psd = None

    def bind(self, X, weight=None):
        """gamma as a number."""
        return replace(self, gamma=resolve_gamma(self.gamma, X, weight))

    def _squash(self, dots: np.ndarray) -> np.ndarray:
        dots *= self.gamma
        dots += self.coef0
        return np.tanh(dots, out=dots)

    def evaluate(self, A, B, out=None):
        """tanh(gamma <a_i, b_j> + coef0)."""
        return self._squash(A.dots(B, out))

    def bound_rounding(self, samples):
        """The argument is off by at most about 8 u (gamma |x|^2 + coef0)."""
        return 8.0 * UNIT * (abs(self.gamma) * large(samples.norms) + abs(self.coef0))

    def diagonal(self, A):
        """tanh(gamma |a_i|^2 + coef0)."""
        return self._squash(A.norms.copy())


@dataclass(frozen=True)
class Precomputed(Kernel):
    """K itself: samples are given as rows of kernel values against the training samples."""

    name = "precomputed"
    psd = None

    def samples(self, X):
        """The rows of the matrix X."""
        return Given(np.asarray(X))

    def evaluate(self, A, B):
        """X[i, j]."""
        return A.values(B)

    def diagonal(self, A):
        """X[i, i]."""
        return A.matrix[A.index, A.index].astype(np.float64)


@dataclass(frozen=True)
class Custom(Precomputed):
    """function(X, Z), any callable that returns the matrix of kernel values; `X_fit` is bound at training."""

    function: Callable = None
    X_fit: object = None
    name = "callable"

    def bind(self, X, weight=None):
        """This kernel with the training samples kept, since predictions need them."""
        return replace(self, X_fit=X)

    def samples(self, X):
        """function(X, X_fit), evaluated whole: only the function knows what a part of X is."""
        K = self.function(X, self.X_fit)
        try:
            K = np.asarray(K.toarray() if sp.issparse(K) else K)
            K = K.astype(np.float64, casting="same_kind" if K.dtype.kind == "c" else "unsafe", copy=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"kernel(X, Y) must return a matrix of numbers: {error}.") from error
        n_fit = self.X_fit.shape[0] if hasattr(self.X_fit, "shape") else len(self.X_fit)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        if K.shape != (n, n_fit):
            raise ValueError(f"kernel(X, Y) must return a matrix of shape ({n}, {n_fit}), but returned {K.shape}.")
        if not np.isfinite(K).all():
            i, j = np.argwhere(~np.isfinite(K))[0]
            raise ValueError(f"kernel(X, Y) must return finite values, but returned {K[i, j]} at [{i}, {j}].")
        return Given(K)


def large(sizes: np.ndarray) -> float:
    """A size that all but a few of the samples stay below."""
    place = min(int(MOST * len(sizes)), len(sizes) - 1)
    return float(np.partition(sizes, place)[place])


def measure_spread(samples: Dense | Sparse) -> float:
    """The mean of |x - z|^2 / 2 over all pairs: the variance of the samples."""
    mean = samples.combine(np.full(samples.n, 1.0 / samples.n))
    return max(float(samples.norms.mean(dtype=np.float64) - mean @ mean), TINY)


def measure_kernel_spread(kernel: Kernel, samples: Dense | Sparse) -> float:
    """The mean of (k(x, x) + k(z, z)) / 2 - k(x, z) over pairs of PROBE samples."""
    probe = samples.take(np.arange(0, samples.n, max(1, samples.n // PROBE)))
    K = kernel.evaluate(probe, probe)
    return max(float(np.trace(K) / len(K) - K.mean()), TINY)


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (Linear, Polynomial, RBF, Sigmoid, Laplacian, Precomputed)
}


def make_kernel(kernel: str | Callable | Kernel, *, gamma="scale", degree=3, coef0=0.0) -> Kernel:
    """The Kernel of a name, a callable or a Kernel, with those of the parameters it knows."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Custom(function=kernel)
    if kernel not in KERNELS:
        raise ValueError(f"kernel must be one of {sorted(KERNELS)}, a callable or a Kernel, got {kernel!r}.")
    fields = KERNELS[kernel].__dataclass_fields__
    known = {"gamma": gamma, "degree": degree, "coef0": coef0}
    return KERNELS[kernel](**{key: value for key, value in known.items() if key in fields})
