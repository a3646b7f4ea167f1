"""Models as ONNX files: plain operators in float64, so that any runtime predicts what the model predicts."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..estimators.kernel_classifier import KernelClassifier
from ..estimators.linear_classifier import LinearClassifier
from ..estimators.linear_machine import LinearMachine
from ..estimators.losses import find_logit_scale
from ..estimators.machine import KernelMachine
from ..estimators.novelty import OneClassSVM
from ..estimators.registry import ESTIMATORS
from ..estimators.structured import StructuredSVM
from ..model.kernels import Precomputed, translate
from ..model.sparse_format import check_sparse
from ..runtime.atomic_file import check_place, write_atomically
from ..runtime.scikit_learn import check_is_fitted
from ..structures import ChainModel
from .onnx_graph import EXPORTABLE_KERNELS, IR_VERSION, OPSET_VERSION, Graph, add_kernel, import_onnx
from .onnx_outputs import (
    apply_sigmoids,
    choose_binary_label,
    choose_by_votes,
    choose_label,
    couple_pairs,
    decode_chain,
    gather_labels,
    log_sigmoid,
    normalise,
    stack_complement,
    summarise_pairs,
)  # fmt: skip
from .onnx_pipelines import check_rows, convert_steps, join_steps, split_steps, transform

N_COMPARED_ROWS = 100  # rows that are made up where none are given
MAX_RELATIVE_DIFFERENCE = 1e-6  # of the largest decision value: exports that differ by more are not written


def export_onnx(model: Any, path: str | os.PathLike[str], X: Any = None) -> float:
    """A fitted model as an ONNX file, and the largest difference of decision values when onnxruntime runs it.

    The input is "X", float64, of shape (n, n_features), or rows of kernel values for a precomputed kernel. Outputs of
    classifiers are "label", "decision" as decision_function gives it, and "probability" where the model has it; those
    of `OneClassSVM` "label" and "decision"; of regressors and `RankSVM` "prediction". A `StructuredSVM` of chains takes
    one sequence, and gives "label" and the "decision" of the whole of it.

    Parameters
    ----------
    model : fitted estimator of this library, or a pipeline or a search that ends in one
        Of a search the best machine is exported. skl2onnx converts the transformers of a pipeline, in float64.
    path : path
    X : rows to compare on, optional
        Generated ones by default; a list of sequences for chains. A pipeline needs them.

    Returns
    -------
    float
        max |decision by onnxruntime - decision by the model|. A file that is off by 1e-6 of the largest decision is
        not written.

    See Also
    --------
    register_onnx_converters : Pipelines by skl2onnx.
    save : Files of our own.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC, export_onnx
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export_onnx(model, os.path.join(folder, "model.onnx")) < 1e-6
    True
    """
    import_onnx()
    steps, machine = split_steps(model)
    kind = type(machine).__name__
    if ESTIMATORS.get(kind) is not type(machine):
        wanted = (
            f"a fitted estimator of maxmargin ({', '.join(ESTIMATORS)}), or a pipeline or a search that ends in one"
        )
        raise TypeError(f"model must be {wanted}, got {kind}.")
    check_is_fitted(machine)
    check_place(path, "path")
    if steps:
        check_rows(X)
    built = build(machine)
    file = serialise(machine, built, steps)
    difference, size = compare(machine, built, file, generate_rows(machine) if X is None else X, steps)
    if not difference <= MAX_RELATIVE_DIFFERENCE * max(size, 1.0):
        off = f"{difference:.2g} of {size:.2g}"
        raise ValueError(f"model cannot be exported: decisions of onnxruntime are off by {off}.")
    with write_atomically(path) as stream:
        stream.write(file)
    return difference


class BuiltGraph(NamedTuple):
    """A graph, and the shapes of its outputs; the first of them is compared."""

    graph: Graph
    outputs: dict[str, list[Any]]


def build(model: Any) -> BuiltGraph:
    """The operators of a model."""
    graph = Graph()
    if model.family == "structured":
        return build_structure(graph, model)
    f = score_kernel_machine(graph, model) if model.family == "kernel" else score_linear_machine(graph, model)
    if model.task == "classification":
        return (build_kernel_classifier if model.family == "kernel" else build_linear_classifier)(graph, model, f)
    if model.task == "novelty":
        return build_novelty(graph, model, f)
    graph.add("Exp" if model.inverse_link == "exp" else "Identity", f, name="prediction")
    return BuiltGraph(graph, {"prediction": ["n", len(model.coef_)] if model.is_vector_valued else ["n"]})


# ---- scores ---------------------------------------------------------------------------------------------------------


def score_kernel_machine(graph: Graph, model: KernelMachine) -> str:
    """sum_i coef_i k(x_i, x) + b of each machine, a column each; in all one vector if there is one machine."""
    kernel, coef, b = model._kernel, model._expansion(), np.asarray(model._intercept_)
    if type(kernel) not in EXPORTABLE_KERNELS:
        raise ValueError(f"kernel must be one of this library to be exported, got {kernel.name!r}.")
    if len(b) == 1:
        coef, b = coef[:, 0], b[0]
    if kernel.linear:
        x = "X" if kernel.shift is None else graph.shift("X", -kernel.shift)
        w = multiply(translate(model.support_vectors_, kernel.shift).T, coef)
        columns = w[:, None] if w.ndim == 1 else w
        for k, held in enumerate(model._held_weights()):
            if held is not None:
                columns[:, k] = held
        return graph.shift(graph.matmul(x, w), b)
    if not len(coef):  # nothing but intercepts
        coef, support = np.zeros((1, *coef.shape[1:])), np.zeros((1, model.n_features_in_))
    else:
        support = model.support_vectors_
    against = model.support_ if isinstance(kernel, Precomputed) else support
    return graph.shift(graph.matmul(add_kernel(graph, kernel, "X", against), coef), b)


def multiply(matrix: Any, coef: np.ndarray) -> np.ndarray:
    """A product, dense whatever the matrix is."""
    product: Any = matrix @ coef
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def score_linear_machine(graph: Graph, model: LinearMachine) -> str:
    """<w, x> + b of each machine, a column each; one vector if there is one machine."""
    held: Any = model.coef_
    w = held.toarray() if sp.issparse(held) else np.asarray(held)
    b = np.ravel(model.intercept_)
    if w.ndim == 2 and len(w) == 1 and not model.is_vector_valued:
        w = w[0]
    return graph.shift(graph.matmul("X", w.T), b[0] if len(b) == 1 else b)


# ---- outputs --------------------------------------------------------------------------------------------------------


def build_kernel_classifier(graph: Graph, model: KernelClassifier, f: str) -> BuiltGraph:
    """Votes of pairs, or the largest score; and probabilities."""
    k, classes = len(model.classes_), model.classes_
    width = ["n", k] if model._is_one_vs_rest or model.decision_function_shape == "ovr" else ["n", k * (k - 1) // 2]
    outputs = {"decision": ["n"] if k == 2 else width, "label": ["n"]}
    if k == 2:
        choose_binary_label(graph, graph.add("Neg", f, name="decision"), classes)
    elif model._is_one_vs_rest:
        choose_label(graph, graph.name(f, "decision"), classes)
    else:
        by_pair = model.decision_function_shape == "ovo"
        decision = graph.name(f if by_pair else summarise_pairs(graph, f, k), "decision")
        if model.break_ties and not by_pair:
            choose_label(graph, decision, classes)
        else:
            choose_by_votes(graph, f, classes, model._preference)
    if not has_formula(model):
        return BuiltGraph(graph, outputs)
    column = graph.add("Unsqueeze", f, graph.add_constant(np.array([1]))) if k == 2 else f
    p = apply_sigmoids(graph, column, model._probA, model._probB)
    p = (
        stack_complement(graph, p)
        if k == 2
        else normalise(graph, p)
        if model._is_one_vs_rest
        else couple_pairs(graph, p, k)
    )
    graph.name(p, "probability")
    return BuiltGraph(graph, {**outputs, "probability": ["n", k]})


def build_linear_classifier(graph: Graph, model: LinearClassifier, f: str) -> BuiltGraph:
    """The largest score, or its sign; and probabilities."""
    k = len(model.classes_)
    outputs = {"decision": ["n"] if k == 2 else ["n", k], "label": ["n"]}
    graph.name(f, "decision")
    (choose_binary_label if k == 2 else choose_label)(graph, f, model.classes_)
    scale = find_logit_scale(vars(model).get("_fitted_loss"))
    if not has_formula(model):
        return BuiltGraph(graph, outputs)
    f = graph.scale(f, scale)
    if k == 2:
        column = graph.add("Unsqueeze", f, graph.add_constant(np.array([1])))
        f = graph.add("Concat", graph.add("Neg", column), column, axis=1)
        graph.add("Sigmoid", f, name="probability")
    else:  # of classes against the rest, sigmoids divided by their sum: the softmax of their logarithms
        logs = f if model._fitted_softmax else log_sigmoid(graph, f)
        graph.add("Softmax", logs, axis=1, name="probability")
    return BuiltGraph(graph, {**outputs, "probability": ["n", k]})


def has_formula(model: KernelClassifier | LinearClassifier) -> bool:
    """Whether the probabilities are LIBSVM's, or those of the loss: maps fitted to held-out rows are not exported."""
    if model.family == "kernel":
        return vars(model).get("probability") is True and model.has_probabilities
    return not model.wants_probabilities and find_logit_scale(vars(model).get("_fitted_loss")) > 0.0


def build_novelty(graph: Graph, model: OneClassSVM, f: str) -> BuiltGraph:
    """+1 where f >= 0, else -1; f is 0 where it is zero to rounding."""
    zero = graph.add_constant(np.float64(0.0))
    near = graph.add("LessOrEqual", graph.add("Abs", f), graph.add_constant(1e-10 * np.abs(model._intercept_[0])))
    decision = graph.add("Where", near, zero, f, name="decision")
    inside = graph.add("Cast", graph.add("GreaterOrEqual", decision, zero), to=graph.onnx.TensorProto.INT64)
    gather_labels(graph, inside, np.array([-1, 1]))
    return BuiltGraph(graph, {"decision": ["n"], "label": ["n"]})


def build_structure(graph: Graph, model: StructuredSVM) -> BuiltGraph:
    """The largest score of a class, or the best path of a chain."""
    structure = model.model_
    if not isinstance(structure, ChainModel):
        got = type(structure).__name__
        raise ValueError(f"model.model must be a ChainModel or a MulticlassModel to be exported, got {got}.")
    weights: Any = structure.split(model.coef_)
    if not structure.edges:
        decision = graph.name(graph.matmul("X", weights.T), "decision")
        choose_label(graph, decision, structure.labels_)
        return BuiltGraph(graph, {"decision": ["n", len(structure.labels_)], "label": ["n"]})
    unary, transitions, start, end = weights
    labels, score = decode_chain(graph, graph.matmul("X", unary.T), transitions, start, end)
    graph.name(score, "decision")
    gather_labels(graph, labels, structure.labels_)
    return BuiltGraph(graph, {"decision": [], "label": ["n"]})


# ---- the file -------------------------------------------------------------------------------------------------------


def count_inputs(model: Any) -> int:
    """Numbers of a row."""
    return model.model_.n_features_ if model.family == "structured" else int(model.n_features_in_)


def finish_graph(model: Any, built: BuiltGraph) -> Any:
    """The graph with its input and its outputs."""
    graph, double = built.graph, built.graph.onnx.TensorProto.DOUBLE
    kinds = {"label": find_type(graph)}
    outputs = [graph.declare(name, kinds.get(name, double), shape) for name, shape in built.outputs.items()]
    return graph.finish([graph.declare("X", double, ["n", count_inputs(model)])], outputs, type(model).__name__)


def serialise(model: Any, built: BuiltGraph, steps: list[tuple[str, Any]]) -> bytes:
    """The file of a graph, behind that of the transformers before it, looked over by the checker of ONNX."""
    from ..runtime.version import __version__

    onnx = built.graph.onnx
    whole, opsets = finish_graph(model, built), [onnx.helper.make_opsetid("", OPSET_VERSION)]
    if steps:
        before = convert_steps(steps)
        whole = join_steps(built.graph, before, whole)
        opsets = [*opsets, *(opset for opset in before.opset_import if opset.domain)]
    file = onnx.helper.make_model(
        whole, producer_name="maxmargin", producer_version=__version__, opset_imports=opsets, ir_version=IR_VERSION
    )
    gap = f"{model.certificate_.relative_gap:.3g}"
    onnx.helper.set_model_props(file, {"class": type(model).__name__, "certified_relative_gap": gap})
    onnx.checker.check_model(file)
    return file.SerializeToString()


def find_type(graph: Graph) -> int:
    """The type of the labels: that of the table in which they are looked up."""
    names = {node.output[0]: node.input[0] for node in graph.nodes}
    held = {constant.name: constant.data_type for constant in graph.constants}
    return held.get(names.get("label"), 0)


def generate_rows(model: Any) -> np.ndarray | list[np.ndarray]:
    """Rows like those of the fit as far as they are known: support vectors with some noise, or noise alone."""
    rng, d = np.random.default_rng(0), count_inputs(model)
    noise = rng.normal(size=(N_COMPARED_ROWS, d))
    if model.family == "structured" and model.model_.edges:
        return [noise[:1], noise[1:10], noise[10:]]
    vectors: Any = model.support_vectors_ if model.family == "kernel" else noise[:0]
    if not vectors.shape[0]:
        return noise
    chosen = vectors[rng.integers(0, vectors.shape[0], N_COMPARED_ROWS)]
    chosen = chosen.toarray() if sp.issparse(chosen) else np.asarray(chosen, np.float64)
    return chosen + 0.1 * chosen.std() * noise


def compare(model: Any, built: BuiltGraph, file: bytes, X: Any, steps: list[tuple[str, Any]]) -> tuple[float, float]:
    """The largest difference of decisions between the file and the model, and the largest decision."""
    session = open_session(file)
    parts = X if model.family == "structured" and model.model_.edges else [X]
    theirs, ours = [], []
    for rows in parts:
        check_sparse(rows)
        dense = np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows, np.float64)
        theirs.append(np.ravel(session.run([next(iter(built.outputs))], {"X": dense})[0]))
        ours.append(np.ravel(evaluate_model(model, transform(steps, rows))))
    decisions = np.concatenate(ours)
    difference = np.abs(np.concatenate(theirs) - decisions).max(initial=0.0)
    return float(difference), float(np.abs(decisions).max(initial=0.0))


def open_session(file: bytes) -> Any:
    """onnxruntime with a file."""
    _, onnxruntime = import_onnx()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])


def evaluate_model(model: Any, X: Any) -> np.ndarray:
    """What the model itself says: its decision function, its prediction, or the score of its best labelling."""
    if model.family != "structured":
        return (model.decision_function if model.task in ("classification", "novelty") else model.predict)(X)
    structure = model.model_
    if not structure.edges:
        return np.asarray(X @ structure.split(model.coef_).T)
    indices, values = structure.joint_feature(X, model.predict([X])[0])
    return np.array([values @ model.coef_[indices]])
