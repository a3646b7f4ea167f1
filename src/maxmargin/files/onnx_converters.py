"""Converters for skl2onnx, so that it takes pipelines, ensembles and other models that contain our estimators."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ..estimators.certified import CertifiedMachine
from ..estimators.registry import ESTIMATORS
from ..tuning.tuned_estimators import SVCCV, SVRCV, LinearSVCCV, LinearSVRCV, RiskClassifierCV, RiskRegressorCV
from .onnx_export import BuiltGraph, build, finish_graph, has_formula
from .onnx_graph import OPSET_VERSION, add_prefix
from .onnx_outputs import show_classes
from .onnx_pipelines import import_skl2onnx, split_steps

Form = Literal["probability", "score of each class", "decision"]
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
    probabilities or the option `raw_scores` is set, for two classes -f and f. Only probabilities are put into
    dictionaries (option `zipmap`). Machines are evaluated in float64 whatever the input is.

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
    skl2onnx = import_skl2onnx()
    machines = [kind for kind in ESTIMATORS.values() if kind.family != "structured"]
    tasks: dict[type, str] = {kind: kind.task for kind in machines}
    tasks |= {kind: kind.machine_class.task for kind in TUNED_ESTIMATORS}
    for kind, task in tasks.items():
        alias, classifies = f"Maxmargin{kind.__name__}", task == "classification"
        options, parser = (CLASSIFIER_OPTIONS, parse_classifier) if classifies else (None, None)
        skl2onnx.update_registered_converter(kind, alias, infer_shapes, convert, options=options, parser=parser)
    return [kind.__name__ for kind in tasks]


def restore_converters(originals: dict[type, type]) -> None:
    """Its own converters for scikit-learn's classes (values), where skl2onnx found ours (keys) in their place."""
    import_skl2onnx()
    from skl2onnx._parse import sklearn_parsers_map
    from skl2onnx._supported_operators import sklearn_operator_name_map

    for table in (sklearn_operator_name_map, sklearn_parsers_map):
        table |= {theirs: table[ours] for ours, theirs in originals.items() if ours in table and theirs not in table}


def parse_classifier(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Labels and probabilities, by default in a dictionary for each row; labels and an array of scores."""
    from skl2onnx._parse import _parse_sklearn_classifier

    options = scope.get_options(model, {"zipmap": True})
    if options["zipmap"] is True and not split_steps(model)[1].has_probabilities:
        scope.add_options(id(model), {**options, "zipmap": False})
    return _parse_sklearn_classifier(scope, model, inputs, custom_parsers)


def infer_shapes(operator: Any) -> None:
    """The types and shapes of what a machine gives: labels, and a row of numbers for each sample."""
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType, guess_tensor_type

    _, machine = split_steps(operator.raw_operator)
    n, numbers = operator.inputs[0].get_first_dimension(), operator.outputs[-1]
    numbers.type = guess_tensor_type(operator.inputs[0].type)
    numbers.type.shape = [n, count_columns(machine, choose_form(operator.scope_inst, operator))]
    if len(operator.outputs) == 1:
        return
    kinds = {"i": Int64TensorType, "f": DoubleTensorType, "O": StringTensorType}
    labels = np.array([-1, 1]) if machine.task == "novelty" else show_classes(machine.classes_)
    operator.outputs[0].type = kinds[labels.dtype.kind]([n])


def choose_form(scope: Any, operator: Any) -> Form:
    """What the numbers of a classifier are."""
    _, machine = split_steps(operator.raw_operator)
    if machine.task != "classification":
        return "decision"
    if scope.get_options(operator.raw_operator, {"raw_scores": False})["raw_scores"]:
        return "score of each class"
    if machine.has_probabilities:
        return "probability"
    return "decision" if is_taken_for_linear_svc(machine) else "score of each class"


def is_taken_for_linear_svc(machine: Any) -> bool:
    """Whether skl2onnx expects one column of two classes: it was imported after the swap, and found our LinearSVC."""
    from skl2onnx import _parse

    return isinstance(machine, _parse.LinearSVC)


def count_columns(machine: Any, form: Form) -> int:
    """Numbers that a machine has for a sample: one for each class, each pair of classes, or each target."""
    if machine.task == "classification":
        k = len(machine.classes_)
        if form == "decision" and k == 2:
            return 1
        return k * (k - 1) // 2 if form != "probability" and decides_pairs(machine) else k
    return len(machine.coef_) if machine.is_vector_valued else 1


def decides_pairs(machine: Any) -> bool:
    """Whether the scores of a classifier are those of pairs of classes."""
    by_pair = vars(machine).get("decision_function_shape") == "ovo" and machine.multi_class == "ovo"
    return by_pair and len(machine.classes_) > 2


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Put the operators of a machine into the graph of skl2onnx, all names behind a prefix of their own."""
    from onnx import TensorProto

    _, machine = split_steps(operator.raw_operator)
    form = choose_form(scope, operator)
    check_is_expressible(machine, form, is_zipped(scope, operator))
    built = build(machine)
    numbers = choose_numbers(built, machine, form)
    prefix, within = f"{scope.get_unique_operator_name(type(machine).__name__)}_", finish_graph(machine, built)
    add_prefix(within, prefix)
    source, target = operator.inputs[0], operator.outputs
    container.add_node("Cast", source.full_name, f"{prefix}X", op_version=OPSET_VERSION, to=TensorProto.DOUBLE)
    for node in within.node:
        node.name = scope.get_unique_operator_name(node.op_type)
        container.nodes.append(node)
    container.initializers.extend(within.initializer)
    container.node_domain_version_pair_sets.add(("", OPSET_VERSION))
    if len(target) == 2:
        container.add_node("Identity", f"{prefix}label", target[0].full_name, op_version=OPSET_VERSION)
    kind = TensorProto.DOUBLE if "Double" in type(target[-1].type).__name__ else TensorProto.FLOAT
    container.add_node("Cast", f"{prefix}{numbers}", target[-1].full_name, op_version=OPSET_VERSION, to=kind)


def choose_numbers(built: BuiltGraph, machine: CertifiedMachine, form: Form) -> str:
    """The output that stands for "probabilities", a matrix."""
    graph, first = built.graph, next(iter(built.outputs))
    if form == "probability":
        return form
    if len(built.outputs[first]) == 2:
        return first
    numbers = graph.add("Unsqueeze", first, graph.add_constant(np.array([1])))
    if form == "score of each class":
        numbers = graph.add("Concat", graph.add("Neg", numbers), numbers, axis=1)
    return graph.name(numbers, "scores")


def is_zipped(scope: Any, operator: Any) -> bool:
    """Whether skl2onnx makes a dictionary of the numbers, with a key for each class."""
    readers = [each for each in scope.operators.values() if operator.outputs[-1] in list(each.inputs)]
    return any(each.type.startswith("SklearnZipMap") for each in readers)


def check_is_expressible(machine: Any, form: Form, zipped: bool) -> None:
    """Refuse kernels that are given, pairs of classes in a dictionary of classes, and maps that are not exported."""
    kind = type(machine).__name__
    if machine.is_kernel_matrix:
        raise ValueError(f"{kind}(kernel='precomputed') cannot be part of a pipeline; use export_onnx.")
    if machine.task != "classification":
        return
    if zipped and form != "probability" and decides_pairs(machine):
        advice = "use 'ovr', or options={'zipmap': False}"
        raise ValueError(f"{kind}(decision_function_shape='ovo') has no score for each class; {advice}.")
    if form == "probability" and not has_formula(machine):
        advice = "set options={'raw_scores': True} for scores"
        raise ValueError(f"{kind}(probability={machine.probability!r}) has no probabilities in ONNX; {advice}.")
