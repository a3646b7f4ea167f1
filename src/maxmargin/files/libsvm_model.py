"""Model files of LIBSVM, both ways.

    svm_type c_svc                    c_svc, nu_svc, one_class, epsilon_svr or nu_svr
    kernel_type rbf                   linear, polynomial, rbf, sigmoid or precomputed
    degree, gamma, coef0              those that the kernel has
    nr_class, total_sv, rho           f = sum_i coef_i k(x_i, x) - rho, one for each pair of classes
    label, nr_sv                      the classes, and the support vectors of each
    probA, probB                      P(first of the pair) = 1 / (1 + exp(A f + B))
    SV                                then one line per support vector: its coefficients, then index:value, from 1 on,
                                      or from 0 on as in the text on which it was trained

A file holds neither C, nu and epsilon, nor which samples the support vectors are, nor how good the machine is.
"""

from __future__ import annotations

import os
import warnings
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..blocks.libsvm_text import CsrBuilder, Rule, gather, parse_chunks
from ..estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from ..estimators.kernel_classifier import KernelClassifier
from ..estimators.machine import KernelMachine
from ..model.formulations import sums_to_zero
from ..model.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid, make_kernel
from ..runtime.streams import write_file
from .fitted_state import check_kernel_machine, finish_kernel_machine
from .model_text import UNKNOWN_CERTIFICATE, ModelText, check_features, read_labels, read_text, write_labels

SVM_TYPES = {"c_svc": SVC, "nu_svc": NuSVC, "one_class": OneClassSVM, "epsilon_svr": SVR, "nu_svr": NuSVR}
KERNELS = {"linear": Linear, "polynomial": Polynomial, "rbf": RBF, "sigmoid": Sigmoid, "precomputed": Precomputed}
LOSSES = {"SVC": "hinge", "SVR": "epsilon_insensitive"}  # the only ones that LIBSVM has
LIBSVM_KEYS = (
    "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho", "label", "probA", "probB",
    "prob_density_marks", "nr_sv",
)  # fmt: skip
# of the largest decision: by how much a file may differ from its model without a word
WARNED_RELATIVE_DIFFERENCE = 1e-6
VECTORS_PER_WRITE = 1024  # support vectors written at a time


# ---- writing --------------------------------------------------------------------------------------------------------


def write_libsvm_model(model, path: str | os.PathLike) -> None:
    """A fitted kernel machine as a model file of LIBSVM, which svm-predict reads; %.17g, so that no digit is lost.

    Parameters
    ----------
    model : fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM
        With a kernel and a loss that LIBSVM has, classes by pairs, and labels that are whole numbers.
    path : path
        Packed if it ends in .gz, .bz2 or .xz.
    """
    name = next((name for name, kind in SVM_TYPES.items() if type(model) is kind), None)
    if name is None:
        known = ", ".join(kind.__name__ for kind in SVM_TYPES.values())
        raise TypeError(f"model must be a fitted {known} of maxmargin, got {type(model).__name__}.")
    check_is_fitted(model)
    warn_of_lost_digits(model)
    machine = arrange_for_libsvm(model)
    header = describe_machine(model, name, machine)
    with write_file(path) as file:
        file.write("".join(f"{line}\n" for line in header).encode())
        for start in range(0, len(machine.order), VECTORS_PER_WRITE):
            file.write(format_vectors(model, machine, slice(start, start + VECTORS_PER_WRITE)))


def warn_of_lost_digits(model: KernelMachine) -> None:
    """Warn where a machine is w itself, of which a file of LIBSVM has only the sum over support vectors."""
    if all(w is None for w in model._held_weights()):
        return
    samples = model._kernel.samples(model.support_vectors_)
    scores = model._score(samples)
    lost = float(np.abs(scores - model._weigh_support(samples, model._support_samples(samples))).max(initial=0.0))
    if lost > WARNED_RELATIVE_DIFFERENCE * float(np.abs(scores).max(initial=1.0)):
        warnings.warn(
            f"The dual coefficients reproduce the decisions of this {type(model).__name__} only to within {lost:.1g}, "
            "and a model file of LIBSVM holds nothing else; scale the features, or save the model by maxmargin.save.",
            stacklevel=3,
        )


class Layout(NamedTuple):
    """A machine as it is written: the order of its support vectors, coefficients, intercepts, and those of classes."""

    order: np.ndarray
    table: np.ndarray
    b: np.ndarray
    places: np.ndarray | None = None
    sigmoids: tuple[np.ndarray, np.ndarray] | None = None


def arrange_for_libsvm(model: KernelMachine) -> Layout:
    """The machine with its classes in ascending order, or in the order of the file from which it came."""
    table = model._dual_coef_.toarray() if sp.issparse(model._dual_coef_) else model._dual_coef_
    order = np.arange(table.shape[1])
    if model.task != "classification":
        return Layout(order, table, model._public_intercepts(held=False))
    if model.is_one_vs_rest:
        raise ValueError("LIBSVM's model files hold machines for pairs of classes, and not multi_class='ovr'.")
    places = np.arange(len(model.classes_)) if model._preference is None else model._preference
    pairs, signs = order_pairs(places)
    order, table = order_vectors(places, model._n_support, table)
    sigmoids = (model._probA[pairs], signs * model._probB[pairs] + 0.0) if len(model._probA) else None
    return Layout(order, table, signs * model._public_intercepts(held=False)[pairs], places, sigmoids)


def describe_machine(model: KernelMachine, name: str, machine: Layout) -> list[str]:
    """The header."""
    kernel, kind = model._kernel, type(model).__name__
    if model.get_params().get("loss") != LOSSES.get(kind):
        raise ValueError(f"LIBSVM has no {kind} with loss={model.loss!r}, so no name for it in its model files.")
    kernel_name = next((each for each, formula in KERNELS.items() if type(kernel) is formula), None)
    if kernel_name is None:
        raise ValueError(f"LIBSVM has no kernel {kernel.name!r}, so its model files cannot hold this {kind}.")
    lines = [f"svm_type {name}", f"kernel_type {kernel_name}"]
    parameters = vars(kernel)
    lines += [f"{key} {parameters[key]:.17g}" for key in ("degree", "gamma", "coef0") if key in parameters]
    lines += [f"nr_class {2 if machine.places is None else len(machine.places)}", f"total_sv {len(machine.order)}"]
    lines += [write_line("rho", -machine.b + 0.0)]
    if machine.places is not None:
        labels = np.array(write_labels(model.classes_, "LIBSVM"))[machine.places]
        lines += [write_line("label", labels)]
        if machine.sigmoids is not None:
            lines += [write_line("probA", machine.sigmoids[0]), write_line("probB", machine.sigmoids[1])]
        lines += [write_line("nr_sv", model._n_support[machine.places])]
    return [*lines, "SV"]


def write_line(key: str, values: np.ndarray) -> str:
    """A line of the header."""
    return " ".join([key, *(f"{each:.17g}" for each in values.tolist())])


def format_vectors(model: KernelMachine, machine: Layout, part: slice) -> bytes:
    """Some support vectors: coefficients, then the entries that are not zero."""
    coefs = [b"".join(b"%.17g " % each for each in row) for row in machine.table[:, part].T.tolist()]
    if isinstance(model._kernel, Precomputed):
        entries = [b"0:%d" % (place + 1) for place in model.support_[machine.order[part]]]
    else:
        rows = split_rows(sp.csr_array(model.support_vectors_[machine.order[part]]))
        first = vars(model).get("first_index_", 1)
        entries = [format_row(row, first) for row in rows]
    return b"".join(coef + entry + b"\n" for coef, entry in zip(coefs, entries, strict=True))


def split_rows(X: sp.csr_array):
    """The indices and values of each row."""
    X.sum_duplicates()
    indices, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
    return (zip(indices[p:q], values[p:q], strict=True) for p, q in pairwise(ends))


def format_row(entries, first: int) -> bytes:
    """index:value, indices from `first` on."""
    return b" ".join(b"%d:%.17g" % (index + first, value) for index, value in entries)


# ---- reading --------------------------------------------------------------------------------------------------------


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


def order_vectors(places: np.ndarray, counts: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of the support vectors if class i is the one that was at places[i], and their coefficients in it.

    Against q, class p has its coefficients in row q - 1 if p < q, else in row q; and where a pair is now the other way
    round, their signs change.
    """
    ends, parts, order = np.concatenate([[0], np.cumsum(counts)]), [], []
    for i, p in enumerate(places):
        run = slice(ends[p], ends[p + 1])
        part = np.empty((len(table), counts[p]))
        for j, q in enumerate(places):
            if i != j:
                sign = 1.0 if (p < q) == (i < j) else -1.0
                part[j - (i < j)] = sign * table[q - (p < q), run]
        parts.append(part)
        order.append(np.arange(run.start, run.stop))
    return np.concatenate(order), np.concatenate(parts, axis=1) + 0.0


def order_pairs(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each pair of classes was if class i was at places[i], and -1 if it was the other way round."""
    k = len(places)
    i, j = np.triu_indices(k, 1)
    p, q = np.minimum(places[i], places[j]), np.maximum(places[i], places[j])
    return p * k - p * (p + 1) // 2 + q - p - 1, np.where(places[i] < places[j], 1.0, -1.0)


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
    if (
        isinstance(kernel, Linear)
        and len(table)
        and model._formulation().translation_invariant
        and sums_to_zero(table.T)
    ):
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
