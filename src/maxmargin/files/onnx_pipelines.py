"""Pipelines as ONNX files: skl2onnx converts the transformers, and the machine at their end is ours."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from ..estimators.registry import ESTIMATORS
from .onnx_graph import OPSET_VERSION, Graph, add_prefix

MACHINE_PREFIX = "machine_"  # of all names within the graph of the machine, which skl2onnx does not know of


def split_steps(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The fitted transformers of a pipeline, and the machine at its end; of a search and the like, of the best one."""
    if ESTIMATORS.get(type(model).__name__) is type(model):
        return [], model
    from sklearn.pipeline import Pipeline

    from ..runtime.scikit_learn import check_is_fitted
    from ..runtime.scikit_learn_search import BaseSearchCV
    from ..tuning.tuned_machine import TunedMachine

    steps: list[tuple[str, Any]] = []
    while isinstance(model, Pipeline | BaseSearchCV | TunedMachine):
        check_is_fitted(model)
        if isinstance(model, Pipeline):
            steps += [(name, step) for name, step in model.steps[:-1] if step is not None and step != "passthrough"]
            model = model.steps[-1][1]
        else:
            model = model.best_estimator_
    return steps, model


def import_skl2onnx() -> Any:
    """skl2onnx, or how to get it."""
    if find_spec("skl2onnx") is None:
        raise ImportError("Pipelines need skl2onnx; install it with: pip install 'maxmargin[onnx]'.")
    import skl2onnx

    return skl2onnx


def convert_steps(steps: list[tuple[str, Any]]) -> Any:
    """The transformers as a model of ONNX with one input, "X" of float64."""
    from sklearn.pipeline import Pipeline

    skl2onnx, d = import_skl2onnx(), int(steps[0][1].n_features_in_)
    from skl2onnx.common.data_types import DoubleTensorType

    return skl2onnx.convert_sklearn(
        Pipeline(steps), initial_types=[("X", DoubleTensorType([None, d]))], target_opset=OPSET_VERSION
    )


def transform(steps: list[tuple[str, Any]], X: Any) -> Any:
    """X as the machine is given it."""
    for _, step in steps:
        X = step.transform(X)
    return X


def join_steps(graph: Graph, before: Any, machine: Any) -> Any:
    """One graph of the transformers and of the machine after them."""
    helper, kind = graph.onnx.helper, graph.onnx.TensorProto.DOUBLE
    add_prefix(machine, MACHINE_PREFIX, keep={output.name for output in machine.output})
    link = helper.make_node("Cast", [before.graph.output[0].name], [machine.input[0].name], to=kind)
    return helper.make_graph(
        [*before.graph.node, link, *machine.node], machine.name, list(before.graph.input), list(machine.output),
        [*before.graph.initializer, *machine.initializer],
    )  # fmt: skip


def check_rows(X: Any) -> None:
    """Refuse to guess at rows for transformers, of which it is not known what they take."""
    if X is None:
        raise ValueError("X must be given where model is a pipeline: rows on which the file is compared with it.")
    if np.ndim(X) != 2:
        raise ValueError(f"X must be a matrix of rows, got {np.ndim(X)} dimensions.")
