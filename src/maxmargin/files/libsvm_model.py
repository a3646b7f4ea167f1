"""Model files of LIBSVM, written; `libsvm_model_reader.py` reads them.

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

from ..estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from ..estimators.losses import name_loss
from ..estimators.machine import KernelMachine
from ..model.kernels import RBF, Linear, Polynomial, Precomputed, Sigmoid
from ..runtime.scikit_learn import check_is_fitted
from ..runtime.streams import write_file
from .model_text import write_labels

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
            "and a LIBSVM model file contains nothing else; scale the features, or save the model by maxmargin.save.",
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
    if model._is_one_vs_rest:
        raise ValueError("LIBSVM's model files hold machines for pairs of classes, and not multi_class='ovr'.")
    places = np.arange(len(model.classes_)) if model._preference is None else model._preference
    pairs, signs = order_pairs(places)
    order, table = order_vectors(places, model._n_support, table)
    sigmoids = (model._probA[pairs], signs * model._probB[pairs] + 0.0) if len(model._probA) else None
    return Layout(order, table, signs * model._public_intercepts(held=False)[pairs], places, sigmoids)


def describe_machine(model: KernelMachine, name: str, machine: Layout) -> list[str]:
    """The header."""
    kernel, kind = model._kernel, type(model).__name__
    if name_loss(model.get_params().get("loss")) != LOSSES.get(kind):
        raise ValueError(f"LIBSVM has no {kind} with loss={model.loss!r}, so its model files cannot store it.")
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


# ---- the order of the classes ----------------------------------------------------------------------------------------


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
