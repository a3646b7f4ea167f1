"""Sequences of labels: unary, transition, start and end weights, and a loss that counts wrong labels."""

from __future__ import annotations

import time
import zlib

import numpy as np
import scipy.sparse as sp

from ..model.sparse_format import check_sparse
from ..runtime.rounding import bound_sum
from ..runtime.threads import run_strips
from .examples import OracleTimer
from .model import StructuredModel

STRIP_SEQUENCES = 64  # sequences of one piece of work
LABELS_PER_SLICE = 8192  # labels of the sequences between two looks at the clock
MAX_CHAIN_LABELS = 32767  # a labelling is kept in two bytes a label


class ChainExamples:
    """Sequences packed into one CSR matrix, their labels into one array; a sheet is an array of the same length.

    All sequences are asked at once, on all cores, in strips that do not depend on their number.
    """

    packed, exact = True, True

    def __init__(self, rows: sp.csr_array, starts: np.ndarray, y: np.ndarray | None, costs: np.ndarray, edges: bool):
        from ..compiled.chains import Chains

        self.n, self.pace, self.name = len(starts) - 1, OracleTimer(), "ChainModel" if edges else "MulticlassModel"
        self.right = np.zeros(rows.shape[0], np.int16) if y is None else y.astype(np.int16)
        self.step = max(STRIP_SEQUENCES, LABELS_PER_SLICE * self.n // rows.shape[0])
        d, k = rows.shape[1], len(costs)
        self.chains = Chains(
            rows.data.astype(np.float64), rows.indices.astype(np.int64), rows.indptr.astype(np.int64),
            starts.astype(np.int64), self.right, np.ascontiguousarray(costs, float), d, k, edges,
        )  # fmt: skip
        self.size = d * k + (k * k + 2 * k if edges else 0)

    def begin(self, size: int) -> ChainExamples:
        """Nothing to ask."""
        return self

    def without_cache(self) -> ChainExamples:
        """Nothing is remembered from one question to the next."""
        return self

    def blank(self) -> np.ndarray:
        """A sheet to be filled: the labels themselves."""
        return self.right.copy()

    def maximise(self, w: np.ndarray, first: int, last: int, joint_labelling, values, bounds) -> None:
        """The oracle for sequences first to last: their labellings and the values attained, which are the bounds."""
        began = time.perf_counter()
        self.decode(w, first, last, True, joint_labelling, values)
        bounds[first:last] = values[first:last]
        self.pace.record_oracle(time.perf_counter() - began, last - first)

    def decode(self, w: np.ndarray, first: int, last: int, augmented: bool, joint_labelling, values) -> None:
        """The best labellings, with or without Delta."""
        from ..compiled.chains import maximise_chains

        def work(start: int, stop: int) -> None:
            maximise_chains(self.chains, w, first + start, first + stop, augmented, joint_labelling, values)

        run_strips(work, last - first, STRIP_SEQUENCES)

    def measure(self, joint_labelling: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Delta(y_i, z_i), and with <w, psi(x_i, z_i) - psi(x_i, y_i)> added."""
        from ..compiled.chains import measure_chains

        losses, heights = np.empty(self.n), np.empty(self.n)
        measure_chains(self.chains, joint_labelling, w, losses, heights)
        return losses, heights

    def losses(self, joint_labelling: np.ndarray) -> np.ndarray:
        """Delta(y_i, z_i)."""
        from ..compiled.chains import sum_all_costs

        losses = np.empty(self.n)
        sum_all_costs(self.chains, joint_labelling, losses)
        return losses

    def combine(self, joint_labelling: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """sum_i weight_i (psi(x_i, y_i) - psi(x_i, z_i)), added to `out`: only labels that differ cost anything."""
        from ..compiled.chains import combine_chains

        began, total = time.perf_counter(), np.zeros(self.size) if out is None else out
        combine_chains(self.chains, joint_labelling, weight, total)
        self.pace.record_labelling(time.perf_counter() - began)
        return total

    # ---- what rounding may do, for the judge ----------------------------------------------------------------

    @property
    def additions(self) -> int:
        """Terms of a sum over tokens, at most, of a weight or of a loss."""
        return 2 * len(self.right) + 2 * self.n

    def add_up_tokens(self, values: np.ndarray) -> np.ndarray:
        """The sum over the tokens of each sequence."""
        return np.add.reduceat(values, self.chains.starts[:-1])

    def bound_rounding(self, joint_labelling: np.ndarray, w: np.ndarray) -> np.ndarray:
        """By how much the heights of a sheet may be off, or of any other: by the largest weights of any label.

        A height is Delta + <w, psi(x, z)> - <w, psi(x, y)>, each a sum of unary terms, transitions, start and end.
        """
        chains, k = self.chains, self.chains.n_labels
        base, lengths = chains.n_features * k, np.diff(chains.starts)
        steepest = np.abs(w[:base]).reshape(-1, k).max(axis=1)
        terms = np.append(0.0, np.cumsum(np.abs(chains.data) * steepest[chains.indices]))
        places = chains.indptr[chains.starts]
        sizes = np.diff(terms[places]) + self.add_up_tokens(chains.costs.max(axis=1)[self.right])
        if chains.edges:
            edges = np.abs(w[base:])
            sizes = sizes + lengths * edges[: k * k].max() + 2.0 * edges[k * k :].max()
        sizes = sizes + bound_sum(len(chains.data) + 8) * terms[-1]
        return 2.0 * bound_sum(int((2 * np.diff(places) + 4 * lengths).max()) + 16) * sizes

    def bound_feature_norms(self, joint_labelling: np.ndarray) -> np.ndarray:
        """|psi(x_i, y_i)| + |psi(x_i, z_i)|, from above: sum_t |x_t| for each, and its transitions, start and end.

        0 where z_i is y_i, and nothing is subtracted.
        """
        chains = self.chains
        squares = np.append(0.0, np.cumsum(np.square(chains.data)))
        slack = bound_sum(len(chains.data) + 16)
        rows = np.sqrt(np.diff(squares[chains.indptr]) + slack * squares[-1])
        differ = self.add_up_tokens((joint_labelling != self.right).astype(float)) > 0
        return np.where(differ, 2.0 * (self.add_up_tokens(rows) + np.diff(chains.starts) + 2.0) * (1.0 + slack), 0.0)

    def predict(self, w: np.ndarray) -> np.ndarray:
        """argmax_z <w, psi(x, z)> of all sequences, one after the other, as numbers."""
        joint_labelling, values = self.blank(), np.empty(self.n)
        self.decode(np.ascontiguousarray(w, float), 0, self.n, False, joint_labelling, values)
        return joint_labelling

    def to_labelling(self, joint_labelling: np.ndarray) -> np.ndarray:
        """A sheet speaks for itself."""
        return joint_labelling

    def from_labelling(self, labelling: np.ndarray) -> np.ndarray:
        """A sheet speaks for itself, if its labels are some of ours."""
        if labelling.shape != self.right.shape or labelling.min() < 0 or labelling.max() >= self.chains.n_labels:
            raise ValueError("The labellings of the point are not of these sequences.")
        return np.ascontiguousarray(labelling, np.int16)

    def fits(self, labelling) -> bool:
        """Whether labellings of another fit are of these sequences, as far as one can tell."""
        if not isinstance(labelling, np.ndarray) or labelling.shape != self.right.shape:
            return False
        return labelling.min() >= 0 and labelling.max() < self.chains.n_labels

    def store(self, sheets: list[np.ndarray]) -> dict:
        """Sheets as one array."""
        return {"sheets": np.array(sheets, np.int16).reshape(len(sheets), len(self.right))}

    def restore(self, state: dict) -> list[np.ndarray]:
        """The sheets of a stored state."""
        return [self.from_labelling(joint_labelling) for joint_labelling in state["sheets"]]

    def fingerprint(self) -> dict:
        """Which sequences these are."""
        chains = self.chains
        labels = zlib.crc32(self.right.tobytes(), zlib.crc32(chains.starts.tobytes()))
        features = zlib.crc32(chains.data.tobytes(), zlib.crc32(chains.indices.tobytes()))
        costs = zlib.crc32(chains.costs.tobytes())
        return {
            "model": self.name, "samples": self.n, "weights": self.size, "labels": labels, "features": features,
            "costs": costs,
        }  # fmt: skip


class ChainModel(StructuredModel):
    """<w, psi(x, z)> = sum_t <u[z_t], x_t> + sum_t v[z_t-1, z_t] + start[z_0] + end[z_last]; Delta counts wrong labels.

    X is a list of arrays or sparse matrices of shape (length_i, n_features), y a list of as many labels each. Labels
    may be any values that can be sorted.

    Parameters
    ----------
    label_costs : array-like of shape (k, k), default=None
        label_costs[r, s] is what label s costs where label r is right, in the order of the sorted labels. None: every
        wrong label costs 1 (Hamming loss).

    Attributes
    ----------
    labels_ : ndarray of shape (k,)
        The labels, sorted; known after `prepare`.
    """

    edges = True

    def __init__(self, label_costs=None):
        self.label_costs = label_costs

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.label_costs is None else 'label_costs=...'})"

    # ---- the training data ----------------------------------------------------------------------------------

    def prepare(self, X, y) -> int:
        """d k + k^2 + 2 k weights: the labels are those of y."""
        sequences = [check_labels(labels, i) for i, labels in enumerate(y)]
        rows, starts = self.stack(X)
        self.n_features_ = rows.shape[1]
        for i, labels in enumerate(sequences):
            if len(labels) != starts[i + 1] - starts[i]:
                raise ValueError(
                    f"X[{i}] has {starts[i + 1] - starts[i]} rows and y[{i}] has {len(labels)} labels; there must be "
                    "one label for each row."
                )
        return self.set_labels(np.concatenate(sequences))

    def set_labels(self, labels: np.ndarray) -> int:
        """Sort the labels, check their costs, count the weights."""
        self.labels_ = np.unique(labels)
        k, d = len(self.labels_), self.n_features_
        if not 1 < k <= MAX_CHAIN_LABELS:
            count = "only one label" if k == 1 else f"{k} different labels"
            raise ValueError(f"y has {count}; there must be 2 to {MAX_CHAIN_LABELS}.")
        self.costs_ = check_costs(self.label_costs, k)
        return d * k + (k * k + 2 * k if self.edges else 0)

    def gather(self, X, y=None, n_jobs: int | None = None) -> ChainExamples:
        """All sequences in one matrix."""
        rows, starts = self.stack(X, self.n_features_)
        encoded = None if y is None else np.concatenate([self.encode(labels, i) for i, labels in enumerate(y)])
        return ChainExamples(rows, starts, encoded, self.costs_, self.edges)

    def stack(self, X, n_features: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
        """The rows of all sequences, and where each of them starts."""
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3):
            raise ValueError(
                f"X must be a list of sequences, each an array of shape (length, n_features), got one array of shape "
                f"{X.shape}."
            )
        sequences = [check_sequence(x, i) for i, x in enumerate(X)]
        d = sequences[0].shape[1] if n_features is None else n_features
        for i, x in enumerate(sequences):
            if x.shape[1] != d:
                other = "the model was fitted on" if n_features is not None else "X[0] has"
                raise ValueError(f"X[{i}] has {x.shape[1]} features, and {other} {d}.")
        starts = np.append(0, np.cumsum([x.shape[0] for x in sequences]))
        if any(sp.issparse(x) for x in sequences):
            return sp.csr_array(sp.vstack([sp.csr_array(x) for x in sequences], format="csr")), starts
        return sp.csr_array(np.concatenate(sequences)), starts

    def encode(self, labels, i: int) -> np.ndarray:
        """Labels as numbers."""
        labels = check_labels(labels, i)
        found = np.minimum(np.searchsorted(self.labels_, labels), len(self.labels_) - 1)
        unknown = self.labels_[found] != labels
        if unknown.any():
            raise ValueError(f"y[{i}] holds {labels[unknown][0]!r}, which is not among the labels of the fit.")
        return found

    # ---- one sequence ---------------------------------------------------------------------------------------

    def joint_feature(self, x, y) -> tuple[np.ndarray, np.ndarray]:
        """psi(x, y) as indices and values."""
        rows, z, k = sp.csr_array(check_sequence(x, 0)), self.encode(y, 0), len(self.labels_)
        base = self.n_features_ * k
        tokens = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        indices = [rows.indices.astype(np.int64) * k + z[tokens]]
        if self.edges:
            indices += [base + z[:-1] * k + z[1:], [base + k * k + z[0]], [base + k * k + k + z[-1]]]
        return np.concatenate(indices), np.append(rows.data, np.ones(sum(map(len, indices)) - rows.nnz))

    def loss(self, y, z) -> float:
        """The costs of the wrong labels."""
        right, answer = self.encode(y, 0), self.encode(z, 0)
        if len(right) != len(answer):
            raise ValueError(f"y has {len(right)} labels and z has {len(answer)}.")
        return float(self.costs_[right, answer].sum())

    def argmax(self, x, w, y=None) -> np.ndarray:
        """argmax_z <w, psi(x, z)> (+ Delta(y, z)), by Viterbi's algorithm."""
        examples = self.gather([x], None if y is None else [y])
        joint_labelling = examples.blank()
        examples.decode(np.ascontiguousarray(w, float), 0, 1, y is not None, joint_labelling, np.empty(1))
        return self.labels_[joint_labelling]

    def parts(self, y) -> float:
        """Labels."""
        return float(len(y))

    def split(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The weights of labels and features (k, d), of transitions (k, k), of the start (k,) and of the end (k,)."""
        k, base = len(self.labels_), self.n_features_ * len(self.labels_)
        tail = base + k * k
        unary = np.asarray(w[:base]).reshape(self.n_features_, k).T
        return unary, w[base:tail].reshape(k, k), w[tail : tail + k], w[tail + k :]

    def read(self, joint_labelling: np.ndarray, X) -> list:
        """A sheet as labels, one array for each sequence."""
        lengths = [np.shape(x)[0] for x in X]
        return np.split(self.labels_[joint_labelling], np.cumsum(lengths)[:-1])


def check_sequence(x, i: int):
    """A finite matrix of at least one row."""
    check_sparse(x, f"X[{i}]")
    if not sp.issparse(x):
        try:
            x = np.asarray(x, float)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X[{i}] must be an array of numbers: {error}.") from None
    elif x.dtype.kind not in "fiub":
        raise ValueError(f"X[{i}] must hold numbers, got {x.dtype}.")
    if x.ndim != 2 or x.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError(f"X[{i}] must have the shape (length, n_features), neither of them 0, got {x.shape}.")
    values = x.data if sp.issparse(x) else x
    if not np.isfinite(values).all():
        raise ValueError(f"X[{i}] must be finite, and holds NaN or infinity.")
    return x


def check_labels(labels, i: int) -> np.ndarray:
    """An array of labels, one for each row."""
    try:
        labels = np.asarray(labels)
    except ValueError as error:
        raise ValueError(f"y[{i}] must be an array of labels: {error}.") from None
    if labels.ndim != 1:
        raise ValueError(f"y[{i}] must be an array of labels, one for each row of X[{i}], got shape {labels.shape}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"y[{i}] must be finite, and holds NaN or infinity.")
    return labels


def check_costs(costs, k: int) -> np.ndarray:
    """The costs of labels, 0 on the diagonal."""
    if costs is None:
        return 1.0 - np.eye(k)
    costs = np.asarray(costs, float)
    if costs.shape != (k, k):
        raise ValueError(f"label_costs must have the shape ({k}, {k}), one row for each label, got {costs.shape}.")
    if not np.isfinite(costs).all() or costs.min() < 0:
        raise ValueError("label_costs must be finite and not negative.")
    if np.diag(costs).any():
        raise ValueError("label_costs must be 0 on the diagonal: the right label costs nothing.")
    return costs
