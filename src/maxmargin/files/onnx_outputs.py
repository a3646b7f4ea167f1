"""From scores to outputs, as ONNX operators: labels, votes of pairs, probabilities, and the best path of a chain."""

from __future__ import annotations

import numpy as np

from .onnx_graph import Graph


def choose_label(graph: Graph, f: str, classes: np.ndarray) -> str:
    """The class with f largest; for one column the second where f > 0."""
    return gather_labels(graph, graph.add("ArgMax", f, axis=1, keepdims=0), classes)


def choose_binary_label(graph: Graph, f: str, classes: np.ndarray) -> str:
    """The second class where f > 0, else the first."""
    above = graph.add("Greater", f, graph.add_constant(np.float64(0.0)))
    return gather_labels(graph, graph.add("Cast", above, to=graph.onnx.TensorProto.INT64), classes)


def gather_labels(graph: Graph, places: str, classes: np.ndarray) -> str:
    """classes[places], under the name of the output."""
    return graph.add("Gather", graph.add_constant(show_classes(classes)), places, name="label")


def show_classes(classes: np.ndarray) -> np.ndarray:
    """Classes as ONNX has them: integers and truth values of 64 bits, float64, or texts."""
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if not all(isinstance(each, str) for each in classes.tolist()):
        raise ValueError(f"classes_ must be numbers or texts to be exported, got {classes.tolist()[:3]}.")
    return np.array(classes.tolist(), object)


# ---- pairs ----------------------------------------------------------------------------------------------------------


def list_pairs(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Which class is first and which is second in each pair: two matrices of shape (pairs, k)."""
    first, second = np.triu_indices(k, 1)
    return np.eye(k)[first], np.eye(k)[second]


def count_votes(graph: Graph, won: str, k: int) -> str:
    """Pairs won by each class: `won` says of each pair whether its first class has."""
    first, second = list_pairs(k)
    share = graph.add("Cast", won, to=graph.onnx.TensorProto.DOUBLE)
    return graph.shift(graph.matmul(share, first - second), second.sum(axis=0))


def summarise_pairs(graph: Graph, f: str, k: int) -> str:
    """votes + s / (3 (|s| + 1)), s the sum of a class's scores: scikit-learn's one column per class."""
    first, second = list_pairs(k)
    lost = graph.add("Less", f, graph.add_constant(np.float64(0.0)))
    votes = count_votes(graph, graph.add("Not", lost), k)
    sums = graph.matmul(f, first - second)
    return graph.add("Add", votes, graph.add("Div", sums, graph.scale(graph.shift(graph.add("Abs", sums), 1.0), 3.0)))


def choose_by_votes(graph: Graph, f: str, classes: np.ndarray, preference: np.ndarray | None) -> str:
    """The class with most pairs won, the first preferred one where several tie."""
    votes = count_votes(graph, graph.add("Greater", f, graph.add_constant(np.float64(0.0))), len(classes))
    order = np.arange(len(classes)) if preference is None else preference
    votes = graph.add("Gather", votes, graph.add_constant(order.astype(np.int64)), axis=1)
    return choose_label(graph, votes, classes[order])


# ---- probabilities --------------------------------------------------------------------------------------------------


def apply_sigmoids(graph: Graph, f: str, slopes: np.ndarray, shifts: np.ndarray) -> str:
    """1 / (1 + exp(A f + B)), kept between 1e-7 and 1 - 1e-7."""
    level = graph.shift(graph.add("Mul", f, graph.add_constant(-slopes)), -shifts)
    return graph.add(
        "Clip", graph.add("Sigmoid", level), *(graph.add_constant(np.float64(end)) for end in (1e-7, 1.0 - 1e-7))
    )


def log_sigmoid(graph: Graph, f: str) -> str:
    """log(1 / (1 + exp(-f))) = min(f, 0) - log(1 + exp(-|f|)); onnxruntime has no Softplus in float64."""
    rest = graph.add("Exp", graph.add("Neg", graph.add("Abs", f)))
    low = graph.add("Min", f, graph.add_constant(np.float64(0.0)))
    return graph.add("Sub", low, graph.add("Log", graph.shift(rest, 1.0)))


def stack_complement(graph: Graph, p: str) -> str:
    """Columns p and 1 - p."""
    return graph.add("Concat", p, graph.add("Sub", graph.add_constant(np.float64(1.0)), p), axis=1)


def normalise(graph: Graph, p: str) -> str:
    """Rows divided by their sums."""
    total = graph.add("ReduceSum", p, graph.add_constant(np.array([1])), keepdims=1)
    return graph.add("Div", p, total)


def couple_pairs(graph: Graph, p: str, k: int) -> str:
    """argmin over the simplex of sum_ij (r_ji q_i - r_ij q_j)^2 = q'Qq (Wu, Lin and Weng 2004, second method).

    q is a multiple of (Q + 11')^-1 1: there Qq is a multiple of 1, as the conditions of the minimum ask. Q + 11' is
    positive definite, so that it is eliminated column by column without a search for pivots.
    """
    first, second = np.triu_indices(k, 1)
    place = np.zeros((len(first), k * k))
    place[np.arange(len(first)), first * k + second] = 1.0
    place[np.arange(len(first)), second * k + first] = -1.0
    below = np.zeros((k, k))
    below[second, first] = 1.0
    flat = graph.shift(graph.matmul(p, place), below.ravel())
    r = graph.add("Reshape", flat, graph.add_constant(np.array([-1, k, k])))
    transposed = graph.add("Transpose", r, perm=[0, 2, 1])
    squares = graph.add(
        "ReduceSum", graph.add("Mul", transposed, transposed), graph.add_constant(np.array([2])), keepdims=1
    )
    diagonal = graph.add("Mul", squares, graph.add_constant(np.eye(k)))
    Q = graph.add("Sub", diagonal, graph.add("Mul", transposed, r))
    q = solve_for_ones(graph, graph.shift(Q, 1.0), k)
    return normalise(
        graph, graph.add("Clip", normalise(graph, q), *(graph.add_constant(np.float64(e)) for e in (1e-12, 1.0)))
    )


def solve_for_ones(graph: Graph, A: str, k: int) -> str:
    """A^-1 1 of every matrix, by Gauss and Jordan's elimination: A <- A - (column_i - e_i) (row_i / pivot)."""
    pad = graph.add_constant(np.array([0, 0, 0, 0, 0, 1]))
    A = graph.add(
        "Pad", A, pad, graph.add_constant(np.float64(1.0)), mode="constant"
    )  # the right side, as a last column
    for i in range(k):
        here = graph.add_constant(np.array([i]))
        row, column = graph.add("Gather", A, here, axis=1), graph.add("Gather", A, here, axis=2)
        row = graph.add("Div", row, graph.add("Gather", row, here, axis=2))
        column = graph.shift(column, -np.eye(k)[:, [i]])
        A = graph.add("Sub", A, graph.add("MatMul", column, row))
    return graph.add("Gather", A, graph.add_constant(np.array(k)), axis=2)


# ---- chains ---------------------------------------------------------------------------------------------------------


def decode_chain(
    graph: Graph, scores: str, transitions: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[str, str]:
    """The numbers of the best labels of one sequence by Viterbi's algorithm, and the score of all of them.

    A label more, from which every sequence comes, stands for the start: so that one token is enough.
    """
    k, lowest = len(start), -1e300
    first = np.full(k + 1, lowest)
    first[k] = 0.0
    steps = np.full((k + 1, k + 1), lowest)
    steps[:k, :k], steps[k, :k] = transitions, start
    scores = graph.add(
        "Pad", scores, graph.add_constant(np.array([0, 0, 0, 1])), graph.add_constant(np.float64(0.0)), mode="constant"
    )
    best, came = graph.add(
        "Scan", graph.add_constant(first), scores, outputs=2, num_scan_inputs=1, body=build_forward_pass(graph, steps)
    )
    final = graph.shift(best, np.append(end, 0.0))
    last = graph.add("ArgMax", final, axis=0, keepdims=1)
    _, before = graph.add(
        "Scan", last, came, outputs=2, num_scan_inputs=1, body=build_backtracking(graph, k + 1),
        scan_input_directions=[1],
        scan_output_directions=[1],
    )  # fmt: skip
    labels = graph.add("Concat", before, last, axis=0)  # the first of them is the label from which it comes
    ends = [graph.add_constant(np.array([each])) for each in (1, np.iinfo(np.int64).max)]
    return graph.add("Slice", labels, *ends), graph.add("ReduceMax", final, keepdims=0)


def build_forward_pass(graph: Graph, steps: np.ndarray):
    """best_k <- max_j best_j + steps_jk + score_k, and which j that was."""
    body, double = Graph("forward_"), graph.onnx.TensorProto.DOUBLE
    reach = body.shift(body.add("Unsqueeze", "best", body.add_constant(np.array([1]))), steps)
    body.add("Add", body.add("ReduceMax", reach, axes=[0], keepdims=0), "score", name="next")
    body.add("ArgMax", reach, axis=0, keepdims=0, name="came")
    k = len(steps)
    inputs = [body.declare("best", double, [k]), body.declare("score", double, [k])]
    outputs = [body.declare("next", double, [k]), body.declare("came", graph.onnx.TensorProto.INT64, [k])]
    return body.finish(inputs, outputs, "forward")


def build_backtracking(graph: Graph, k: int):
    """The label before, of each label from the last one on."""
    body, integer = Graph("back_"), graph.onnx.TensorProto.INT64
    body.add("Gather", "came", "here", axis=0, name="before")
    body.add("Squeeze", "before", body.add_constant(np.array([0])), name="kept")
    inputs = [body.declare("here", integer, [1]), body.declare("came", integer, [k])]
    outputs = [body.declare("before", integer, [1]), body.declare("kept", integer, [])]
    return body.finish(inputs, outputs, "back")
