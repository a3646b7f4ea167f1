"""Kernels k(x, z): one short class per formula. `bind(X)` fixes data-dependent parameters from the training data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from .samples import TILE, Dense, Given, Sparse, wrap

Samples = Dense | Sparse | Given
SAFE = 1e-4  # relative error of a kernel value that the exact refresh of the scores can take up


def measure_variance(X, weight: np.ndarray | None = None) -> float:
    """Var(X) over all entries, each row counted as often as its weight says."""
    if weight is None and not sp.issparse(X) and X.size <= TILE:
        return X.var(dtype=np.float64)
    weight = np.ones(X.shape[0]) if weight is None else weight
    share = weight / (weight.sum() * X.shape[1])
    if sp.issparse(X):
        square = float(share @ (X.multiply(X) @ np.ones(X.shape[1])))
        variance = square - float(np.square(share @ (X @ np.ones(X.shape[1]))))
        return variance if variance > 1e-14 * square else 0.0  # the rest is rounding: all entries are equal
    mean, step = float(share @ X.sum(axis=1, dtype=np.float64)), max(1, TILE // 4 // X.shape[1])
    tiles = [slice(k, k + step) for k in range(0, X.shape[0], step)]
    return sum(float(share[tile] @ np.square(X[tile] - mean, dtype=np.float64).sum(axis=1)) for tile in tiles)


def resolve_gamma(gamma: float | str, X, weight: np.ndarray | None = None) -> float:
    """'scale' -> 1/(d Var(X)), 'auto' -> 1/d, a number -> itself.

    The variance counts each row as often as its weight, so that weight 2 equals the row twice.
    """
    if gamma == "scale":
        variance = max(measure_variance(X, weight), 0.0)
        return 1.0 / (X.shape[1] * variance) if variance != 0 else 1.0
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
        """K_ij = k(a_i, b_j) in float64."""
        raise NotImplementedError

    def diagonal(self, A: Samples) -> np.ndarray:
        """k(a_i, a_i)."""
        raise NotImplementedError

    def halve(self, samples: Samples):
        """The samples for evaluation in float32 with a relative error below SAFE, or None if that cannot be had."""
        return

    def __call__(self, A, B=None) -> np.ndarray:
        """K_ij = k(a_i, b_j) for two matrices of samples."""
        A = self.samples(A)
        return self.evaluate(A, A if B is None else self.samples(B))


@dataclass(frozen=True)
class Linear(Kernel):
    """<x, z>."""

    name = "linear"

    def evaluate(self, A, B):
        """<a_i, b_j>."""
        return A.dots(B)

    def diagonal(self, A):
        """|a_i|^2."""
        return A.norms.copy()


@dataclass(frozen=True)
class Polynomial(Kernel):
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
        """(gamma dots + coef0)^degree by repeated squaring: numpy's power costs 20 times more."""
        base = np.multiply(dots, self.gamma, out=dots)
        base += self.coef0
        result, exponent = None, self.degree
        while exponent:
            if exponent & 1:
                result = base.copy() if result is None else np.multiply(result, base, out=result)
            exponent >>= 1
            if exponent:
                base = np.multiply(base, base, out=base)
        return np.ones_like(base) if result is None else result

    def evaluate(self, A, B):
        """(gamma <a_i, b_j> + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.dots(B))

    def diagonal(self, A):
        """(gamma |a_i|^2 + coef0)^degree."""
        with np.errstate(over="ignore"):
            return self._raise(A.norms.copy())


@dataclass(frozen=True)
class RBF(Kernel):
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

    def evaluate(self, A, B):
        """exp(-gamma |a_i - b_j|^2)."""
        from .compiled.kernel_rows import rbf_from_dots

        dots = A.dots(B)
        rbf_from_dots(dots, A.norms, B.norms, self.gamma)
        return dots

    def halve(self, samples):
        """The exponent is off by at most about 8 u gamma |x|^2 with u = 2^-24: safe for data that are scaled."""
        if not isinstance(samples, Dense) or not samples.n:
            return None
        return samples.halve() if 8.0 * 2.0**-24 * self.gamma * samples.norms.max() < SAFE else None

    def evaluate32(self, A, B, out: np.ndarray) -> np.ndarray:
        """exp(-gamma |a_i - b_j|^2) in float32, into `out`."""
        from .compiled.kernel_rows import rbf_from_dots32

        A.dots(B, out)
        rbf_from_dots32(out, A.norms, B.norms, np.float32(self.gamma))
        return out

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Laplacian(Kernel):
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

    def evaluate(self, A, B):
        """exp(-gamma |a_i - b_j|_1)."""
        from sklearn.metrics.pairwise import manhattan_distances

        distances = manhattan_distances(A.narrow_indices() if isinstance(A, Sparse) else A.wide,
                                        B.narrow_indices() if isinstance(B, Sparse) else B.wide)  # fmt: skip
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def diagonal(self, A):
        """1."""
        return np.ones(A.n)


@dataclass(frozen=True)
class Sigmoid(Kernel):
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

    def evaluate(self, A, B):
        """tanh(gamma <a_i, b_j> + coef0)."""
        return self._squash(A.dots(B))

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
