"""Checks at the door: what comes in is sound, or one sentence says what is not."""

from __future__ import annotations

import os
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp

from ..blocks import Blocks
from ..blocks.survey import MAX_ABS_VALUE, MIN_POSITIVE_WEIGHT, zero_tiny_weights
from ..model.features import Gram
from ..model.formulations import INTERCEPTS
from ..model.kernels import KERNELS, Custom, Kernel, Precomputed, is_function
from ..model.samples import PrecomputedRows
from ..model.sparse_format import check_sparse
from ..runtime.scikit_learn import (
    HasMethods,
    Interval,
    StrOptions,
    check_array,
    check_consistent_length,
    count_samples,
    validate_data,
)
from ..runtime.user_warnings import warn_user
from ..solvers.names import SOLVER_NAMES
from .plain_arrays import is_finite, is_known_matrix, is_plain_matrix, is_plain_vector, note_features

MIN_WEIGHT_VECTORS = 4  # of the length of w that a fit holds at least
FEW_NUMBERS = 32  # of an array, up to which Python finds the least of them in less time than NumPy
HARD_MARGIN_C = 1e10  # stands for C = inf: beyond any dual a float64 solve can tell from infinity
MAX_C = 1e30  # C beyond which products with squares of the data may overflow
UNLIMITED_ITERATIONS = 1_000_000_000  # a max_iter from here on is no limit, as -1 is
# of the largest value, the asymmetry of a matrix that is rounding of float32, and that of one which is no kernel matrix
ROUNDED_ASYMMETRY, MAX_ASYMMETRY = 1e-6, 0.1
C_CONSTRAINT = [Interval(Real, 0.0, None, closed="right")]
NU_CONSTRAINT = [Interval(Real, 0.0, 1.0, closed="right")]
CERTIFY_CONSTRAINT = [Interval(Real, 0.0, 1.0, closed="both"), None]
JOBS_CONSTRAINT = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]
METHOD_CONSTRAINT = ["boolean", StrOptions({"sigmoid", "isotonic", "temperature"})]
CHECKPOINT_CONSTRAINT = [str, os.PathLike, None]
INTERCEPT_CONSTRAINT = [StrOptions(set(INTERCEPTS))]
SOLVE_CONSTRAINTS: dict = {
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
    "solver": [StrOptions({"auto", *SOLVER_NAMES}), HasMethods(["accepts", "start"])],
    "warm_start": ["boolean"],
}
CONSTRAINTS: dict = {
    **SOLVE_CONSTRAINTS,
    "kernel": [StrOptions(set(KERNELS)), callable, Kernel],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
}
LINEAR_CONSTRAINTS: dict = {
    **SOLVE_CONSTRAINTS,
    "C": C_CONSTRAINT,
    "intercept": INTERCEPT_CONSTRAINT,
    "intercept_scaling": [Interval(Real, 0.0, None, closed="neither")],
}
ARRAY_FORMAT = {"dtype": [np.float64, np.float32], "order": "C", "accept_sparse": "csr", "accept_large_sparse": True}


def bound_cost(C: float) -> float:
    """C, or 1e10 where it is infinite; at most 1e30."""
    return HARD_MARGIN_C if np.isinf(C) else min(float(C), MAX_C)


def is_precomputed(kernel) -> bool:
    """Whether samples are given as rows of kernel values."""
    return kernel == "precomputed" if isinstance(kernel, str) else isinstance(kernel, Precomputed)


def refuse_types(estimator, *names: str) -> None:
    """A class in place of its object is a pair of parentheses forgotten."""
    for name in names:
        value = getattr(estimator, name)
        if isinstance(value, type):
            raise ValueError(f"{name} must be a name or an object, got the class {value.__name__}; add parentheses.")


def check_samples(estimator, X, y, *, reset: bool = True):
    """X as a float32 or float64 matrix (C order or CSR), y beside it; untouched for a callable kernel."""
    refuse_types(estimator, "kernel", "solver")
    if takes_as_it_is(estimator, X, y):
        note_features(estimator, X)
        return X, y
    if isinstance(X, Blocks):
        raise ValueError(
            f"{type(estimator).__name__} needs data in memory; for blocks use a linear machine, with a "
            "BlockwiseTransformer for a kernel map in front."
        )
    check_sparse(X)
    if is_function(estimator.kernel):
        check_consistent_length(X, y)
        return X, y
    if sp.issparse(X) and is_precomputed(estimator.kernel):
        raise TypeError("Sparse precomputed kernels are not supported.")
    if is_precomputed(estimator.kernel):
        return check_precomputed(estimator, X, y)
    if is_plain_matrix(X) and (is_plain_vector(y, X.shape[0]) if estimator.takes_targets else y is None):
        note_features(estimator, X)
    elif estimator.takes_targets:
        X, y = validate_data(estimator, X, y, **ARRAY_FORMAT)
    else:
        X = validate_data(estimator, X, **ARRAY_FORMAT)
    if sp.issparse(X) and not X.has_sorted_indices:
        X = X.sorted_indices()
    if estimator.kernel == "linear":
        check_width(X)
    return X, y


def check_precomputed(estimator, X, y):
    """A matrix of kernel values as it lies in memory, and y beside it: a large one is not copied."""
    if is_plain_matrix(X) and (is_plain_vector(y, X.shape[0]) if estimator.takes_targets else y is None):
        note_features(estimator, X)
        return X, y
    kept = {**ARRAY_FORMAT, "order": None}
    if estimator.takes_targets:
        return validate_data(estimator, X, y, **kept)
    return validate_data(estimator, X, **kept), y


def takes_as_it_is(estimator, X, y) -> bool:
    """Whether X is an array and the kernel a formula by its name, and both X and y need no conversion."""
    kernel = estimator.kernel
    if type(X) is not np.ndarray or type(kernel) is not str or kernel == "precomputed" or not is_plain_matrix(X):
        return False
    return is_plain_vector(y, X.shape[0]) if estimator.takes_targets else y is None


def check_design(estimator, X, y):
    """X for a linear machine, as it is if it is a C-ordered or CSR matrix of floats, and y beside it."""
    refuse_types(estimator, "solver")
    check_sparse(X)
    vectors = estimator.is_vector_valued
    if is_plain_matrix(X) and is_plain_vector(y, X.shape[0]):
        note_features(estimator, X)
    else:
        X, y = validate_data(estimator, X, y, multi_output=vectors, y_numeric=vectors, **ARRAY_FORMAT)
    if X.dtype == np.float64:  # squares of float32 values do not overflow
        check_size(X.data if sp.issparse(X) else X, "X")
    check_width(X)
    return X, y


def measure_memory() -> float:
    """Bytes of the memory of this machine; infinite where that is not known."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if os.name == "posix" else np.inf


def check_width(X) -> None:
    """Refuse sparse samples of so many features that w and the vectors beside it are larger than the memory."""
    if not sp.issparse(X):
        return
    memory, needed = measure_memory(), MIN_WEIGHT_VECTORS * 8 * X.shape[1]
    if needed > memory:
        raise ValueError(
            f"X has {X.shape[1]:,} features, and vectors of w would take {needed / 2**30:.0f} GB of the "
            f"{memory / 2**30:.0f} GB here; renumber the features that occur, or hash them."
        )


def check_new_design(estimator, X):
    """X for prediction by a linear machine, in any order."""
    check_sparse(X)
    if is_known_matrix(estimator, X):
        return X
    return validate_data(estimator, X, **{**ARRAY_FORMAT, "order": None}, reset=False)


def check_gram_matrix(K: np.ndarray, name: str = "X") -> np.ndarray:
    """A precomputed kernel must be square and symmetric; a sample of rows is compared with their columns.

    One that is symmetric up to rounding is not copied; its rows lie in memory one after the other, those of a matrix in
    Fortran's order as its columns. One that is nearly so is replaced by (K + K') / 2, with a warning.
    """
    n = len(K)
    if K.shape[1] != n:
        raise ValueError(f"Precomputed matrix must be a square matrix. Input is a {n}x{K.shape[1]} matrix.")
    rows = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(int))
    difference = np.abs(K[rows] - K[:, rows].T)
    row, column = np.unravel_index(np.argmax(difference), difference.shape)
    apart, size = float(difference[row, column]), float(np.abs(K[rows]).max())
    if apart <= ROUNDED_ASYMMETRY * size:
        return K.T if K.flags.f_contiguous and not K.flags.c_contiguous else K
    i = rows[row]
    found = f"{name}[{i}, {column}] = {K[i, column]:.8g} and {name}[{column}, {i}] = {K[column, i]:.8g}"
    if apart > MAX_ASYMMETRY * size:
        raise ValueError(f"The kernel matrix must be symmetric, but {found}.")
    warn_user(f"The kernel matrix is not quite symmetric: {found}. It is replaced by the mean of it and its transpose.")
    return symmetrise(K)


def symmetrise(K: np.ndarray) -> np.ndarray:
    """(K + K') / 2."""
    half = 0.5 * K
    return half + half.T


def check_new_samples(estimator, X):
    """X for prediction: as many features as in training, of the kind the machine was trained on."""
    kernel = estimator.kernel
    by_name = type(kernel) is str and kernel != "precomputed"
    if type(X) is np.ndarray and by_name and not estimator._sparse and is_known_matrix(estimator, X):
        return X
    if is_precomputed(kernel):
        return check_new_kernel_values(estimator, X)
    check_sparse(X)
    if not is_function(kernel):
        if not is_known_matrix(estimator, X):
            X = validate_data(estimator, X, **ARRAY_FORMAT, reset=False)
        if sp.issparse(X) and not estimator._sparse:
            raise ValueError(f"cannot use sparse input in {type(estimator).__name__!r} trained on dense data")
        if estimator._sparse:
            X = sp.csr_array(X) if not sp.issparse(X) else X if X.has_sorted_indices else X.sorted_indices()
    return X


def check_new_kernel_values(estimator, X):
    """Kernel values against all training samples, or against the support vectors, in the order of `support_`."""
    check_sparse(X)
    if sp.issparse(X):
        raise ValueError(f"cannot use sparse input in {type(estimator).__name__!r} trained on dense data")
    n, support = estimator.shape_fit_[0], len(estimator.support_)
    if is_known_matrix(estimator, X):
        return X
    K = check_array(X, **{**ARRAY_FORMAT, "order": None}, estimator=estimator)
    if K.shape[1] == n:
        validate_data(estimator, X, reset=False, skip_check_array=True)  # the names of the columns
    elif K.shape[1] != support:
        raise ValueError(
            f"X has {K.shape[1]} features, but {type(estimator).__name__} is expecting {n} features as input: kernel "
            f"values against all training samples, or {support}, against the support vectors."
        )
    return K


def check_weight(sample_weight, n: int) -> np.ndarray | None:
    """Sample weights as an array, zero for rows that are left out; None if all are equal to one."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(sample_weight)
        weight = weight.astype(np.float64, casting="same_kind" if weight.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be an array of numbers: {error}.") from error
    if weight.ndim != 1:
        raise ValueError(f"sample_weight must be one number for each sample, got an array of shape {weight.shape}.")
    if len(weight) != n:
        raise ValueError(f"sample_weight and X have incompatible shapes: {weight.shape} vs {n} samples")
    if not np.isfinite(weight).all():
        bad = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise ValueError(f"sample_weight must be finite, but sample_weight[{bad}] is {weight[bad]}.")
    if not (weight > 0).any():
        raise ValueError("Invalid input - all samples have zero or negative weights.")
    if (weight < 0).any():
        bad = int(np.flatnonzero(weight < 0)[0])
        warn_of_negative_weights(f"sample_weight[{bad}] is {weight[bad]:g}")
    return None if (weight == 1.0).all() else clean_weights(weight)


def warn_of_negative_weights(found: str) -> None:
    """Rows with a negative weight are left out, as scikit-learn's SVC does; this says so."""
    warn_user(f"{found}; samples with a negative weight are left out.")


def clean_weights(weight: np.ndarray) -> np.ndarray:
    """The weights that count, others zero: negative ones, and those too small to have an inverse."""
    if weight.max() < MIN_POSITIVE_WEIGHT:
        most = float(weight.max())
        raise ValueError(
            f"sample_weight is at most {most}; values below {MIN_POSITIVE_WEIGHT:g} underflow, so scale them."
        )
    return zero_tiny_weights(weight)


def check_kernel_values(features: Gram, X) -> Gram:
    """k(x, x) and |x|^2 must be finite: a kernel that overflows would fit nonsense without a word.

    Returns the features, over a matrix that is symmetric.
    """
    if isinstance(features.kernel, Precomputed):
        given = features.samples.matrix
        K = check_gram_matrix(given, "kernel(X, X)" if isinstance(features.kernel, Custom) else "X")
        if K is not given:
            features = Gram(features.kernel, PrecomputedRows(K), features.offset)
    norms = features.samples.norms if features.samples.holds_vectors else features.diagonal
    if not (is_finite(features.diagonal) and is_finite(norms)):
        reach = f"; the values of X reach {abs(X).max():.2g}, so scale them" if hasattr(X, "max") else ""
        raise ValueError(f"The dual coefficients or intercepts are not finite: the kernel overflows on X{reach}.")
    return features


def check_size(values: np.ndarray, name: str) -> None:
    """Numbers whose squares overflow are refused: they would only be noticed as nonsense later."""
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if not largest <= MAX_ABS_VALUE:
        raise ValueError(f"{name} reaches {largest:.2g}; values beyond {MAX_ABS_VALUE:g} overflow, so scale them.")


def check_loss_weights(c: np.ndarray) -> None:
    """c, C times the weights of samples and classes, neither so large that squares overflow nor without an inverse."""
    if not c.size:
        return
    few = c.ravel().tolist() if c.size <= FEW_NUMBERS else None
    least, largest = (float(c.min()), float(c.max())) if few is None else (min(few), max(few))
    if not (least >= 0.0 and largest <= MAX_ABS_VALUE):
        check_size(c, "C times sample_weight")
    if least < MIN_POSITIVE_WEIGHT:
        raise ValueError(
            f"C times sample_weight falls to {least}; values below {MIN_POSITIVE_WEIGHT:g} underflow, so scale them."
        )


def get_shape(X) -> tuple[int, ...]:
    """The shape of a matrix, or the length of a list of samples for a kernel of the user's."""
    return X.shape if hasattr(X, "shape") else (len(X),)


def check_length(X, y) -> int:
    """The number of samples, the same in X and y."""
    n = count_samples(X)
    if n != len(y):
        raise ValueError(f"X and y have incompatible shapes.\nX has {n} samples, but y has {len(y)}.")
    return n
