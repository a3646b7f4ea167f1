"""Model files of LIBSVM, read; their lines are explained in `libsvm_model.py`."""

from __future__ import annotations

import os
import warnings

import numpy as np
import scipy.sparse as sp

from ..blocks.libsvm_text import CsrBuilder, Rule, gather, parse_chunks
from ..estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from ..estimators.kernel_classifier import KernelClassifier
from ..estimators.machine import KernelMachine
from ..model.formulations import sums_to_zero
from ..model.kernels import Precomputed, make_kernel
from .fitted_state import check_kernel_machine, finish_kernel_machine
from .libsvm_model import KERNELS, LIBSVM_KEYS, SVM_TYPES, order_pairs, order_vectors
from .model_text import UNKNOWN_CERTIFICATE, ModelText, check_features, read_labels, read_text


def read_libsvm_model(path: str | os.PathLike, *, n_features: int | None = None):
    """The fitted machine of a model file of LIBSVM.

    What a file does not hold stays unknown: `certificate_` has a gap that is infinite, nu and epsilon are nan, and
    there is no `support_`. C is the largest coefficient: a machine that is optimal for its C is so for this one, unless
    classes or samples were weighed. `certify` finds the support vectors among the rows of X, and asks for what is nan.

    Parameters
    ----------
    path : path
        Plain, or packed with .gz, .bz2 or .xz.
    n_features : int, optional
        The file does not say it; by default the largest index of a support vector. For a precomputed kernel, the
        number of training samples.

    Returns
    -------
    fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM
        Its support vectors are sparse, and it takes dense and sparse data.
    """
    text = read_text(path, LIBSVM_KEYS, "SV")
    kind = SVM_TYPES[text.word("svm_type", SVM_TYPES)]
    model = kind(**read_kernel(text))
    k = text.whole("nr_class", 2) if kind.task == "classification" else 2
    b = -text.numbers("rho", k * (k - 1) // 2) + 0.0
    table, rows = read_vectors(text, k)
    order = np.arange(table.shape[1])
    if model.task == "classification":
        order, table, b = arrange_classes(text, model, table, b)
    else:
        model._n_support = np.array([table.shape[1]], np.int32)
    model._dual_coef_, model._intercept_ = table, b
    set_support_vectors(text, model, rows, order, n_features)
    centre_machine(model)
    set_known_parameters(text, model)
    check_kernel_machine(model)
    finish_kernel_machine(model)
    model.certificate_ = UNKNOWN_CERTIFICATE
    return model


def read_kernel(text: ModelText) -> dict:
    """The parameters of the kernel."""
    name = text.word("kernel_type", KERNELS)
    known = KERNELS[name].__dataclass_fields__
    found: dict = {"kernel": KERNELS[name].name}
    if "degree" in known:
        found["degree"] = text.whole("degree", 0)
    return found | {key: float(text.numbers(key, 1)[0]) for key in ("gamma", "coef0") if key in known}


def read_vectors(text: ModelText, k: int) -> tuple[np.ndarray, CsrBuilder]:
    """The coefficients, one row for each opponent of a class, and the support vectors as parsed rows."""
    lines, first = text.body.split(b"\n"), []
    intent = f"a support vector must have {k - 1} coefficients, of which the first {k - 2} must be"
    for number, line in enumerate(lines if k > 2 else ()):
        if line.strip():
            start = find_word(line, k - 2)
            first.append(text.parse(line[:start], text.before + number + 1, k - 2, intent))
            lines[number] = b" " * start + line[start:]  # so that columns are still those of the file
    rule = Rule()
    rows = gather(parse_chunks([b"\n".join(lines) + b"\n"], rule, text.path, lambda: text.before), rule)
    last, m = rows.labels.finish(), text.whole("total_sv", 0)
    if len(last) != m or (k > 2 and len(first) != m):
        raise ValueError(f"{text.path} must have {m} support vectors, as total_sv says, and has {len(last)}.")
    return np.vstack([np.reshape(first, (m, k - 2)).T, last[None, :]]), rows


def find_word(line: bytes, count: int) -> int:
    """Where the word after so many words begins, or the end of the line."""
    parts = line.split(None, count)
    return len(line) - len(parts[count]) if len(parts) > count else len(line)


def arrange_classes(
    text: ModelText, model: KernelClassifier, table: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order of the support vectors, their coefficients and the intercepts, for classes in ascending order."""
    k = len(table) + 1
    model.classes_, places = read_labels(text, k)
    counts = np.array(text.wholes("nr_sv", k, 0))
    if counts.sum() != table.shape[1]:
        raise text.make_error(
            text.entry("nr_sv").line, f"nr_sv must sum to total_sv, {table.shape[1]}, got {counts.sum()}"
        )
    model._n_support = counts[places].astype(np.int32)
    model._preference = None if (np.diff(places) > 0).all() else np.argsort(places)
    pairs, signs = order_pairs(places)
    read_sigmoids(text, model, pairs, signs)
    order, table = order_vectors(places, counts, table)
    return order, table, signs * b[pairs] + 0.0


def read_sigmoids(text: ModelText, model: KernelClassifier, order: np.ndarray, signs: np.ndarray) -> None:
    """A and B of the probabilities, where the file has them."""
    model._probA = model._probB = np.empty(0)
    if "probA" in text.entries or "probB" in text.entries:
        A, B = (text.numbers(key, len(order)) for key in ("probA", "probB"))
        model.probability, model._probA, model._probB = True, A[order], signs * B[order] + 0.0


def set_support_vectors(
    text: ModelText, model: KernelMachine, rows: CsrBuilder, order: np.ndarray, n_features: int | None
) -> None:
    """The support vectors, or for a precomputed kernel their places among the training samples."""
    if model.kernel == "precomputed":
        places = read_sample_numbers(text, rows)[order]
        n = check_features(n_features, int(places.max(initial=-1)) + 1)
        model.support_, model.support_vectors_ = places.astype(np.int32), np.empty((0, 0))
        model.shape_fit_, model.n_features_in_, model._kernel = (n, n), n, Precomputed()
        return
    first = int(rows.low > 0)  # a 0 among the indices means that they count from 0
    d = check_features(n_features, rows.high + 1 - first)
    X = rows.build(max(rows.high + 1, d))
    X = sp.csr_array((X.data, X.indices - X.indices.dtype.type(first), X.indptr), shape=(X.shape[0], d))[order]
    X.sort_indices()
    model.support_vectors_, model.n_features_in_, model.first_index_ = X, d, first
    model._kernel = make_kernel(model.kernel, degree=model.degree, gamma=model.gamma, coef0=model.coef0)


def centre_machine(model: KernelMachine) -> None:
    """A linear kernel seen from the mean of the support vectors, where they lie far out, as a fit would see it."""
    kernel, table = model._kernel, model._expansion()
    if kernel.linear and len(table) and model._formulation().translation_invariant and sums_to_zero(table.T):
        model._kernel = kernel.centre(model.support_vectors_)
        model._intercept_ = model._kernel.move_to_shift(model._weigh_vectors(), model._intercept_)


def read_sample_numbers(text: ModelText, rows: CsrBuilder) -> np.ndarray:
    """The numbers of training samples, written as 0:number from 1 on."""
    X = rows.build(max(rows.high + 1, 1))
    single = (np.diff(X.indptr) == 1).all() and rows.high <= 0
    if not single or not ((X.data >= 1) & (X.data == np.rint(X.data)) & (X.data <= np.iinfo(np.int32).max)).all():
        raise ValueError(f"{text.path} must have 0:number after the coefficients, since its kernel is precomputed.")
    return X.data.astype(np.int64) - 1


def set_known_parameters(text: ModelText, model: KernelMachine) -> None:
    """C as far as it shows; what the file does not tell is nan."""
    if isinstance(model, SVC | SVR) and model._dual_coef_.size:
        model.C = float(np.abs(model._dual_coef_).max())
    unknown = {SVC: (), NuSVC: ("nu",), SVR: ("epsilon",), NuSVR: ("C", "nu"), OneClassSVM: ("nu",)}
    model.set_params(**dict.fromkeys(unknown[type(model)], float("nan")))
    unsupported = [key for key in ("probA", "probB", "prob_density_marks") if key in text.entries]
    if unsupported and model.task != "classification":
        warnings.warn(
            f"{text.path} holds {unsupported[0]}, which {type(model).__name__} has no place for; it is left out.",
            UserWarning,
            stacklevel=4,
        )
