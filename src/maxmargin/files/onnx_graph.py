"""A graph of ONNX operators in float64, built operator by operator; kernels and linear scores in it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Precomputed, Sigmoid

OPSET_VERSION, IR_VERSION = 17, 8  # of 2022: every runtime since then reads them
MAX_GRAPH_BYTES = (1 << 31) - (1 << 20)  # bytes of a file of Protocol Buffers, and what its other parts take


def import_onnx():
    """onnx and onnxruntime, or how to get them."""
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        raise ImportError(
            "export_onnx needs onnx and onnxruntime; install them with: pip install 'maxmargin[onnx]'."
        ) from error
    return onnx, onnxruntime


class Graph:
    """Operators in the order in which they run; names are numbers, but for those that are given.

    A graph within a graph has a prefix of its own, since no name may mean two things.
    """

    def __init__(self, prefix: str = ""):
        import onnx  # onnxruntime is not needed here

        self.onnx, self.prefix = onnx, prefix
        self.nodes, self.constants, self.bytes = [], [], 0

    def add(self, operator: str, *inputs: str, name: str | None = None, outputs: int = 1, **attributes):
        """The result of an operator: a name, or several."""
        names = [name or f"{self.prefix}v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(operator, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def add_constant(self, values) -> str:
        """An array, or a number, that is part of the graph."""
        values = np.asarray(values, order="C")
        self.refuse_large(values.nbytes)
        self.bytes += values.nbytes
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def refuse_large(self, more: int) -> None:
        """Refuse what a file could not hold with so many bytes more."""
        if self.bytes + more > MAX_GRAPH_BYTES:
            raise ValueError(
                f"model needs more than {MAX_GRAPH_BYTES / 2**30:.1f} GB as dense arrays, which ONNX cannot hold."
            )

    def scale(self, x: str, factor: float) -> str:
        """factor x."""
        return self.add("Mul", x, self.add_constant(np.float64(factor)))

    def shift(self, x: str, offset) -> str:
        """x + offset."""
        return self.add("Add", x, self.add_constant(np.asarray(offset, np.float64)))

    def matmul(self, x: str, matrix) -> str:
        """x matrix."""
        return self.add("MatMul", x, self.add_constant(np.asarray(matrix, np.float64)))

    def name(self, x: str, name: str) -> str:
        """x under another name, for an output."""
        return self.add("Identity", x, name=name)

    def finish(self, inputs: list, outputs: list, name: str) -> object:
        """The graph of ONNX."""
        return self.onnx.helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def declare(self, name: str, kind, shape: list):
        """An input or an output: its type and its shape, texts being lengths that are not known."""
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)


def add_prefix(graph: Any, prefix: str, keep: Collection[str] = ()) -> None:
    """Put a prefix before all names of a graph of ONNX, and of graphs within it, but those to keep.

    `onnx.compose.add_prefix_graph` forgets what graphs within read from the one around them.
    """

    def rename(name: str) -> str:
        return name if not name or name in keep else prefix + name

    for value in (*graph.input, *graph.output, *graph.initializer):
        value.name = rename(value.name)
    for node in graph.node:
        for places in (node.input, node.output):
            places[:] = [rename(name) for name in places]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                add_prefix(attribute.g, prefix, keep)


def add_kernel(graph: Graph, kernel: Kernel, x: str, support) -> str:
    """k(x, x_i) of every row x and every support vector x_i, not linear; of a precomputed kernel, columns of x."""
    if isinstance(kernel, Precomputed):
        return graph.add("Gather", x, graph.add_constant(np.asarray(support, np.int64)), axis=1)
    graph.refuse_large(8 * support.shape[0] * support.shape[1])
    support = np.asarray(support.toarray() if sp.issparse(support) else support, np.float64)
    if isinstance(kernel, Laplacian):
        return graph.add("Exp", graph.scale(add_l1_distances(graph, x, support), -kernel.gamma))
    if isinstance(kernel, RBF):
        return graph.add("Exp", graph.scale(add_squared_distances(graph, kernel, x, support), -kernel.gamma))
    # gamma goes into the support vectors: onnxruntime would turn a factor after MatMul into one of float32.
    dots = graph.shift(graph.matmul(x, kernel.gamma * support.T), kernel.coef0)
    if isinstance(kernel, Sigmoid):
        return graph.add("Tanh", dots)
    return graph.add("Pow", dots, graph.add_constant(np.float64(kernel.degree)))


def add_squared_distances(graph: Graph, kernel: RBF, x: str, support: np.ndarray) -> str:
    """max(0, |x|^2 + |x_i|^2 - 2 <x, x_i>), both moved to the origin first if they are far from it."""
    if kernel.shift is not None:
        x, support = graph.shift(x, -kernel.shift), support - kernel.shift
    axis, norms = graph.add_constant(np.array([1])), np.einsum("ij,ij->i", support, support)
    squares = graph.add("ReduceSum", graph.add("Mul", x, x), axis, keepdims=1)
    sums = graph.add("Add", graph.shift(squares, norms), graph.matmul(x, -2.0 * support.T))
    return graph.add("Max", sums, graph.add_constant(np.float64(0.0)))


def add_l1_distances(graph: Graph, x: str, support: np.ndarray) -> str:
    """|x - x_i|_1, feature by feature: all at once would take d times the memory."""
    body = Graph("distances_")
    rows, columns = (graph.add_constant(np.array([axis])) for axis in (1, 0))
    away = body.add("Sub", body.add("Unsqueeze", "one", rows), body.add("Unsqueeze", "other", columns))
    body.add("Add", "sum", body.add("Abs", away), name="next")
    double, helper = graph.onnx.TensorProto.DOUBLE, graph.onnx.helper
    shapes = {"sum": ["n", len(support)], "one": ["n"], "other": [len(support)], "next": ["n", len(support)]}
    *inputs, output = (body.declare(name, double, shape) for name, shape in shapes.items())
    step = body.finish(inputs, [output], "distances")
    count = graph.add("Slice", graph.add("Shape", x), *(graph.add_constant(np.array([k])) for k in (0, 1)))
    shape = graph.add("Concat", count, graph.add_constant(np.array([len(support)])), axis=0)
    zero = helper.make_tensor("nought", double, [1], [0.0])
    start = graph.add("ConstantOfShape", shape, value=zero)
    return graph.add(
        "Scan", start, x, graph.add_constant(support), body=step, num_scan_inputs=2, scan_input_axes=[1, 1]
    )


EXPORTABLE_KERNELS = (Linear, Polynomial, RBF, Sigmoid, Laplacian, Precomputed)
