"""What a fitted machine consists of: taken from it to be kept, and put into a new one after a look at every shape.

Compiled loops believe the shapes and indices of what they are given, so nothing from a file reaches them unchecked.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp

from ..contracts.estimators import Estimator
from ..estimators.calibration import METHODS
from ..estimators.linear_machine import LinearMachine
from ..estimators.machine import KernelMachine
from ..estimators.structured import StructuredSVM
from ..estimators.validation import is_precomputed
from ..model.kernels import Kernel, Linear, Precomputed
from ..structures import ChainModel
from .checks import is_array, is_finite, is_index, is_matrix, require
from .results import extract_results, restore_results

# first_index_: of LIBSVM text on which a machine was trained, the index of the first feature, 0 or 1.
COMMON_ATTRIBUTES = ("n_features_in_", "feature_names_in_", "first_index_", "n_iter_", "classes_", "data_hash_")
# What a fitted estimator of a family consists of, beside COMMON_ATTRIBUTES.
FAMILY_ATTRIBUTES = {
    "kernel": (
        "shape_fit_", "support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_", "_kernel", "_free",
        "_norms", "_weights", "fit_status_", "class_weight_", "_probA", "_probB", "_preference",
        "_calibration",
    ),
    "linear": ("coef_", "intercept_", "_fitted_loss", "_fitted_softmax", "_calibration"),
    "structured": ("coef_",),
}  # fmt: skip
STRUCTURED_MODEL_ATTRIBUTES = ("labels_", "costs_", "n_features_")  # of a structured model that was prepared
MAX_FLOAT = float(np.finfo(float).max)
# What a file has no need of: it follows from the rest, or belongs to the fit itself.
DERIVED_ATTRIBUTES = (
    "_kernel", "_sparse", "_gamma", "_support", "_support_source", "_order", "dual_coef_", "intercept_", "offset_",
    "_weights_of", "results_", "result_", "certificates_", "certificate_", "_points", "_posed", "_posed_tasks",
    "_solves", "_optimum", "model_",
)  # fmt: skip


# ---- from a machine -------------------------------------------------------------------------------------------------


def extract_state(model: Estimator, compact: bool) -> dict:
    """The fitted attributes of a machine, its results, and from where a warm fit starts."""
    kept = {name: vars(model)[name] for name in list_state_names(model) if name in vars(model)}
    if model.family == "kernel" and sp.issparse(kept["_dual_coef_"]):
        kept["_dual_coef_"] = kept["_dual_coef_"].toarray()
    if model.family == "structured":
        prepared = vars(model.model_)
        kept["model_"] = {"model": model.model_, **{name: prepared[name] for name in STRUCTURED_MODEL_ATTRIBUTES}}
    return {**kept, **extract_results(model, compact)}


def list_state_names(model: Estimator) -> tuple[str, ...]:
    """The attributes that are kept of a machine of this family."""
    return COMMON_ATTRIBUTES + FAMILY_ATTRIBUTES[model.family]


# ---- into a machine -------------------------------------------------------------------------------------------------


def restore_state(model: Estimator, state: dict) -> None:
    """Make a machine fitted; what does not suit the rest is refused."""
    for name in list_state_names(model):
        if name in state:
            setattr(model, name, state[name])
    check_common_attributes(model)
    if model.family == "structured":
        restore_structure(model, state["model_"])
    elif model.family == "kernel":
        check_kernel_machine(model)
        finish_kernel_machine(model)
    else:
        check_linear_machine(model)
        model._kernel = Linear()
    restore_results(model, state)
    if model.family == "kernel":
        check_norms(model)


def check_common_attributes(model: Estimator) -> None:
    """Numbers of features and classes."""
    fitted = vars(model)
    d = fitted.get("n_features_in_")
    require(d is None or (isinstance(d, Integral) and d > 0), "n_features_in_")
    names = fitted.get("feature_names_in_")
    require(names is None or is_array(names, "OU", d), "feature_names_in_")
    require(fitted.get("first_index_", 1) in (0, 1), "first_index_")
    if model.task == "classification":
        classes = fitted.get("classes_")
        require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 1, "classes_")


def check_calibration(model: Estimator, machines: int) -> None:
    """Maps from decisions to probabilities: slopes, or knots of each machine."""
    found = vars(model).get("_calibration")
    if found is None:
        return
    require(type(found) is dict and found.get("method") in (*METHODS, "ranks"), "_calibration")
    if found["method"] in ("sigmoid", "temperature"):
        count = 1 if found["method"] == "temperature" else machines
        require(found.keys() == {"method", "slopes", "shifts"}, "_calibration")
        require(is_finite(found["slopes"], count) and is_finite(found["shifts"], count), "_calibration")
        return
    require(found.keys() == {"method", "decisions", "probabilities", "ends"}, "_calibration")
    f, p, ends = found["decisions"], found["probabilities"], found["ends"]
    require(is_finite(f, None) and is_finite(p, len(f)) and is_array(ends, "i", machines + 1), "_calibration")
    require(ends[0] == 0 and ends[-1] == len(f) and bool((np.diff(ends) > 0).all()), "_calibration")
    require(bool(((p >= 0) & (p <= 1)).all()), "_calibration")


# ---- kernel machines ------------------------------------------------------------------------------------------------


def check_kernel_machine(model: KernelMachine) -> None:
    """Support vectors, coefficients and intercepts that suit each other and the kernel."""
    d, kernel, vectors, table = model.n_features_in_, model._kernel, model.support_vectors_, model._dual_coef_
    require(isinstance(kernel, Kernel) and isinstance(d, Integral), "_kernel")
    check_kernel(kernel)
    require(isinstance(kernel, Precomputed) == is_precomputed(model.kernel), "kernel")
    require(kernel.shift is None or is_finite(kernel.shift, d), "shift of the kernel")
    require(is_finite(table, None, None), "_dual_coef_")
    m = table.shape[1]
    if is_precomputed(model.kernel):
        require(is_array(vectors, "f", 0, 0), "support_vectors_")
    else:
        require(is_matrix(vectors, m, d), "support_vectors_")
    n = check_fitted_shape(model, m, d)
    k = len(model.classes_) if model.task == "classification" else 1
    require(is_array(model._n_support, "i", k) and model._n_support.min() >= 0, "n_support_")
    require(int(model._n_support.sum(dtype=np.int64)) == m, "n_support_")
    check_machines(model, len(table), k)
    check_calibration(model, len(model._intercept_))
    held = model._weights
    require(held is None or (kernel.linear and is_array(held, "f", len(model._intercept_), d)), "_weights")
    require(held is None or not np.isinf(held).any(), "_weights")
    require(is_index(vars(model).get("_free", np.zeros(0, int)), n), "_free")


def check_kernel(kernel: Kernel) -> None:
    """Parameters that compiled loops can take: finite numbers, and a degree that is an index."""
    parameters = {"gamma": 0.0, "coef0": 0.0, "degree": 0, **vars(kernel)}
    for name in ("gamma", "coef0"):
        value = parameters[name]
        require(isinstance(value, Real) and -MAX_FLOAT <= value <= MAX_FLOAT, f"{name} of the kernel")
    degree = parameters["degree"]
    require(isinstance(degree, Integral) and 0 <= degree < 2**31, "degree of the kernel")


def check_norms(model: KernelMachine) -> None:
    """|w| >= 0, finite; not known where a point was not judged, and nowhere else."""
    norms = vars(model).get("_norms", np.zeros(0))
    require(is_array(norms, "f", None) and not (norms < 0).any() and not np.isinf(norms).any(), "_norms")
    judged = np.array([certificate.relative_gap < np.inf for certificate in model.certificates_])
    require(len(norms) == 0 or (len(norms) == len(judged) and not np.isnan(norms[judged]).any()), "_norms")


def check_fitted_shape(model: KernelMachine, m: int, d: int) -> int:
    """The number of training samples, as far as it is known; the support vectors are among them."""
    shape, support = vars(model).get("shape_fit_"), vars(model).get("support_")
    require(shape is None or (type(shape) is tuple and len(shape) == 2 and shape[1] == d), "shape_fit_")
    n = np.iinfo(np.int32).max if shape is None else shape[0]
    require(isinstance(n, Integral) and n >= 0, "shape_fit_")
    require(support is None or (len(support) == m and is_index(support, n)), "support_")
    require(not is_precomputed(model.kernel) or not (shape is None or support is None), "support_")
    return n


def check_machines(model: KernelMachine, rows: int, k: int) -> None:
    """As many intercepts as binary machines, and rows of coefficients as these have."""
    b = model._intercept_
    if model.task != "classification":
        require(rows == 1 and is_finite(b, 1), "_dual_coef_")
        return
    layouts = [(k - 1, k * (k - 1) // 2), (k, k)][: 1 if k == 2 else 2]  # of pairs, and of each class against the rest
    require(is_finite(b, None) and (rows, len(b)) in layouts, "_dual_coef_")
    require(is_array(model._probA, "f", None) and len(model._probA) in (0, len(b)), "_probA")
    require(is_array(model._probB, "f", len(model._probA)), "_probB")
    preferred = model._preference
    require(preferred is None or np.array_equal(np.sort(preferred), np.arange(k)), "_preference")
    if "class_weight_" in vars(model):
        require(is_array(model.class_weight_, "f", k), "class_weight_")


def finish_kernel_machine(model: KernelMachine) -> None:
    """The attributes that follow from the others, as a fit makes them."""
    model._sparse = sp.issparse(model.support_vectors_)
    model._gamma = model._kernel.gamma
    model._bind_support()
    two = model.task == "classification" and len(model.classes_) == 2
    model.dual_coef_ = -model._dual_coef_ + 0.0 if two else model._dual_coef_.copy()
    public = model._public_intercepts()
    model.intercept_ = -public + 0.0 if two else public.copy()
    if model.task == "novelty":
        model.offset_ = -model._intercept_
    model._match_sparsity()
    model._weights_of = model._dual_coef_


# ---- linear machines and structures ---------------------------------------------------------------------------------


def check_linear_machine(model: LinearMachine) -> None:
    """w and b of each machine."""
    d, w, b = model.n_features_in_, model.coef_, model.intercept_
    require(isinstance(d, Integral), "n_features_in_")
    if model.task == "classification":
        k = len(model.classes_)
        require(is_matrix(w, 1 if k == 2 else k, d), "coef_")
    else:
        require(is_finite(w, d) or (sp.issparse(w) and is_matrix(w, 1, d)) or is_finite(w, None, d), "coef_")
    machines = 1 if w.ndim == 1 else w.shape[0]
    check_calibration(model, machines)
    require((isinstance(b, Real) and np.isfinite(b)) or is_finite(b, machines), "intercept_")


def restore_structure(model: StructuredSVM, kept: dict) -> None:
    """The model with its labels and costs."""
    structure = kept["model"]
    require(isinstance(structure, ChainModel), "model_")
    for name in STRUCTURED_MODEL_ATTRIBUTES:
        setattr(structure, name, kept[name])
    labels, costs, d = structure.labels_, structure.costs_, structure.n_features_
    require(isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels) > 1, "labels_")
    k = len(labels)
    require(is_finite(costs, k, k) and type(d) is int and d > 0, "costs_")
    require(is_finite(model.coef_, d * k + (k * k + 2 * k if structure.edges else 0)), "coef_")
    model.model_ = structure
