"""Converters for skl2onnx, so that it takes pipelines, ensembles and other models that contain our estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.certified import CertifiedMachine
from ..estimators.registry import ESTIMATORS
from ..tuning.tuned_estimators import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV, RiskRegressorCV
from .onnx_export import BuiltGraph, build, finish_graph
from .onnx_graph import OPSET_VERSION, add_prefix, import_onnx
from .onnx_outputs import show_classes
from .onnx_pipelines import import_skl2onnx, split_steps

TUNED_ESTIMATORS = (SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV, RiskRegressorCV)
CLASSIFIER_OPTIONS = {
    "zipmap": [True, False, "columns"], "nocl": [False, True], "output_class_labels": [False, True],
    "raw_scores": [False, True],
}  # fmt: skip


def register_onnx_converters() -> list[str]:
    """f(x) = sum_i coef_i k(x_i, x) + b as plain ONNX operators, wherever skl2onnx meets one of our estimators.

    After this call `skl2onnx.to_onnx` and `skl2onnx.convert_sklearn` take pipelines, ensembles and other models of
    scikit-learn that contain estimators of this library. Converters of scikit-learn's own classes stay as they are.
    Classifiers have the outputs "label" and "probabilities": those of `predict_proba`, or scores where the model has no
    probabilities or the option `raw_scores` is set. Machines are evaluated in float64 whatever the input is.

    Returns
    -------
    list of str
        The names of the classes that were registered.

    See Also
    --------
    export_onnx : A file in one call.

    Examples
    --------
    >>> from maxmargin import register_onnx_converters
    >>> register_onnx_converters()[:3]
    ['SVC', 'NuSVC', 'SVR']
    """
    import_onnx()
    skl2onnx = import_skl2onnx()
    machines = [kind for kind in ESTIMATORS.values() if kind.family != "structured"]
    tasks: dict[type, str] = {kind: kind.task for kind in machines}
    tasks |= {kind: kind.machine_class.task for kind in TUNED_ESTIMATORS}
    for kind, task in tasks.items():
        options = CLASSIFIER_OPTIONS if task == "classification" else None
        skl2onnx.update_registered_converter(kind, f"Maxmargin{kind.__name__}", infer_shapes, convert, options=options)
    return [kind.__name__ for kind in tasks]


def infer_shapes(operator: Any) -> None:
    """The types and shapes of what a machine gives: labels, and a row of numbers for each sample."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType, guess_tensor_type

    _, machine = split_steps(operator.raw_operator)
    n, numbers = operator.inputs[0].get_first_dimension(), operator.outputs[-1]
    numbers.type = guess_tensor_type(operator.inputs[0].type)
    numbers.type.shape = [n, count_columns(machine)]
    if len(operator.outputs) == 1:
        return
    kinds = {"i": Int64TensorType, "f": DoubleTensorType, "O": StringTensorType}
    labels = np.array([-1, 1]) if machine.task == "novelty" else show_classes(machine.classes_)
    operator.outputs[0].type = kinds[labels.dtype.kind]([n])


def count_columns(machine: Any) -> int:
    """Numbers that a machine has for a sample: one for each class, or each target."""
    if machine.task == "classification":
        return len(machine.classes_)
    return len(machine.coef_) if machine.is_vector_valued else 1


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Put the operators of a machine into the graph of skl2onnx, all names behind a prefix of their own."""
    onnx, _ = import_onnx()
    _, machine = split_steps(operator.raw_operator)
    check_is_expressible(machine)
    built = build(machine)
    classifies = machine.task == "classification"
    options = container.get_options(operator.raw_operator, {"raw_scores": False}) if classifies else {}
    scores = choose_scores(built, machine, options.get("raw_scores", False))
    prefix, within = f"{scope.get_unique_operator_name(type(machine).__name__)}_", finish_graph(machine, built)
    add_prefix(within, prefix)
    source, target = operator.inputs[0], operator.outputs
    container.add_node("Cast", source.full_name, f"{prefix}X", op_version=OPSET_VERSION, to=onnx.TensorProto.DOUBLE)
    for node in within.node:
        node.name = scope.get_unique_operator_name(node.op_type)
        container.nodes.append(node)
    container.initializers.extend(within.initializer)
    container.node_domain_version_pair_sets.add(("", OPSET_VERSION))
    if len(target) == 2:
        container.add_node("Identity", f"{prefix}label", target[0].full_name, op_version=OPSET_VERSION)
    kind = getattr(onnx.TensorProto, "DOUBLE" if "Double" in type(target[-1].type).__name__ else "FLOAT")
    container.add_node("Cast", f"{prefix}{scores}", target[-1].full_name, op_version=OPSET_VERSION, to=kind)


def choose_scores(built: BuiltGraph, machine: CertifiedMachine, raw: bool) -> str:
    """The output that stands for "probabilities", as a column for each class; of regressions, one column."""
    graph, first = built.graph, next(iter(built.outputs))
    if "probability" in built.outputs and not raw:
        return "probability"
    if len(built.outputs[first]) == 2:
        return first
    column = graph.add("Unsqueeze", first, graph.add_constant(np.array([1])))
    if machine.task == "classification":
        column = graph.add("Concat", graph.add("Neg", column), column, axis=1)
    return graph.name(column, "scores")


def check_is_expressible(machine: Any) -> None:
    """Refuse pairs of classes, of which skl2onnx has no place for the decisions, and kernels that are given."""
    kind = type(machine).__name__
    if machine.is_kernel_matrix:
        raise ValueError(f"{kind}(kernel='precomputed') cannot be part of a pipeline; use export_onnx.")
    by_pair = machine.task == "classification" and vars(machine).get("decision_function_shape") == "ovo"
    if by_pair and len(machine.classes_) > 2:
        raise ValueError(f"{kind}(decision_function_shape='ovo') has no score for each class; use 'ovr'.")
