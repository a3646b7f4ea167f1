"""The training samples of a structured problem, asked one after the other; and labellings of all samples at once.

Whatever a model is, the solvers and the judge see its samples through the same few functions. A `joint_labelling`
holds one labelling for each sample: here as rows of a library of the labellings met so far, in `chain` as one array
of labels.
"""

from __future__ import annotations

import time
import zlib
from itertools import pairwise
from numbers import Real

import numpy as np

from ..contracts.structures import Examples, StructuredModel
from ..runtime.interruptible import check_interrupt
from ..runtime.rounding import bound_sum
from .labellings import make_key, read_labelling, write_labelling
from .oracle_timer import OracleTimer

ORACLE_TOL = 1e-9  # of the terms of a score: an oracle may miss the labels themselves by so much


class ListedExamples(Examples):
    """Samples of any model, one by one; answers of the model are checked once and remembered.

    `name` is that of the model in messages.
    """

    def __init__(self, model: StructuredModel, X, y=None, n_jobs: int | None = None, name: str | None = None):
        self.model, self.X, self.n_jobs = model, X, n_jobs
        self.n, self.name, self.exact = len(X), name or type(model).__name__, bool(model.exact)
        self.pace, self.step = OracleTimer(), 1
        self.y = None if y is None else list(y)

    def begin(self, size: int) -> ListedExamples:
        """Ask for the features of the labels themselves."""
        self.size = size
        self.true_features = [self.ask_features(i, self.y[i]) for i in range(self.n)]
        self.rows: list[dict] = [{} for _ in range(self.n)]  # of each sample, from the key of a labelling to its row
        self.labellings: list = []
        self.entries: list[tuple[np.ndarray, np.ndarray]] = []  # psi(x, y) - psi(x, z) of each row
        self.costs: list[float] = []
        self.scratch = np.zeros(size)
        self.right = np.array([self.add_labelling(i, self.y[i]) for i in range(self.n)], np.int64)
        for i, row in enumerate(self.right):
            if abs(self.costs[row]) > 0.0:
                raise ValueError(f"{self.name}.loss(y, y) must be 0, got {self.costs[row]:g} for sample {i}.")
        return self

    def without_cache(self) -> ListedExamples:
        """The same samples with nothing remembered: the judge asks the model itself."""
        other = ListedExamples(self.model, self.X, self.y, self.n_jobs, self.name).begin(self.size)
        other.pace, other.step = self.pace, self.step
        return other

    # ---- what the model answers, checked --------------------------------------------------------------------

    def ask_features(self, i: int, z) -> tuple[np.ndarray, np.ndarray]:
        """psi(x_i, z) as indices and values, in ascending order of the indices."""
        answer = self.model.joint_feature(self.X[i], z)
        try:
            if isinstance(answer, tuple) and len(answer) == 2:
                indices, values = np.atleast_1d(answer[0]), np.atleast_1d(np.asarray(answer[1], float))
            else:
                dense = np.asarray(answer, float)
                if dense.shape != (self.size,):
                    raise ValueError(f"an array of shape {dense.shape}")
                indices = np.flatnonzero(dense)
                values = dense[indices]
            if indices.shape != values.shape or indices.ndim != 1:
                raise ValueError(f"indices of shape {indices.shape} and values of shape {values.shape}")
            if len(indices) and (indices.dtype.kind not in "iu" or indices.min() < 0 or indices.max() >= self.size):
                raise ValueError("indices that are not whole numbers from 0 to the number of weights")
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{self.name}.joint_feature must return {self.size} numbers, or a pair of indices and values, and for "
                f"sample {i} returned {error}."
            ) from None
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name}.joint_feature must be finite, and is not for sample {i}.")
        return merge(indices.astype(np.int64), values)

    def ask_loss(self, i: int, z) -> float:
        """Delta(y_i, z)."""
        answer = self.model.loss(self.y[i], z)
        if not isinstance(answer, Real | np.ndarray) or np.size(answer) != 1 or not np.isfinite(answer):
            raise ValueError(f"{self.name}.loss must return a finite number, got {answer!r} for sample {i}.")
        if float(answer) < 0.0:
            raise ValueError(f"{self.name}.loss must not be negative, got {float(answer):g} for sample {i}.")
        return float(answer)

    def add_labelling(self, i: int, z) -> int:
        """The row of a labelling of sample i; the model is asked for its features and loss when it is new."""
        key = make_key(z)
        row = self.rows[i].get(key)
        if row is None:
            indices, values = self.ask_features(i, z)
            right, weights = self.true_features[i]
            difference = merge(np.concatenate([right, indices]), np.concatenate([weights, -values]))
            cost = self.ask_loss(i, z)
            row = self.rows[i][key] = len(self.labellings)
            self.labellings.append(z)
            self.entries.append(difference)
            self.costs.append(cost)
        return row

    def height(self, row: int, w: np.ndarray) -> float:
        """Delta(y, z) + <w, psi(x, z) - psi(x, y)>."""
        indices, values = self.entries[row]
        return self.costs[row] - float(values @ w[indices])

    def product(self, one: int, other: int) -> float:
        """<g, h> of two rows psi(x, y) - psi(x, z)."""
        indices, values = self.entries[one]
        self.scratch[indices] = values
        indices_of_other, values_of_other = self.entries[other]
        total = float(values_of_other @ self.scratch[indices_of_other])
        self.scratch[indices] = 0.0
        return total

    def oracle(self, i: int, w: np.ndarray) -> tuple[int, float]:
        """The row of argmax_z Delta + <w, psi>, and its height."""
        return self.check_oracle_result(i, self.model.argmax(self.X[i], w, self.y[i]), w)

    def check_oracle_result(self, i: int, z, w: np.ndarray) -> tuple[int, float]:
        """The row and the height of what the oracle found; those of y_i where that is better."""
        row = self.add_labelling(i, z)
        height = self.height(row, w)
        if height >= 0.0:
            return row, height
        indices, values = self.entries[row]
        slack = ORACLE_TOL * (self.costs[row] + float(np.abs(values) @ np.abs(w[indices])))
        if self.exact and height < -slack:
            raise ValueError(
                f"{self.name}.argmax must return the best labelling, but for sample {i} it returned one that is worse "
                f"than y itself, by {-height:.3g}; if it is a search that may fail, set exact = False."
            )
        return int(self.right[i]), 0.0

    def bound(self, i: int, height: float, w: np.ndarray) -> float:
        """At least max_z Delta + <w, psi(x, z) - psi(x, y)>."""
        if self.exact:
            return height
        indices, values = self.true_features[i]
        answer = float(self.model.upper_bound(self.X[i], self.y[i], w)) - float(values @ w[indices])
        if np.isnan(answer):
            raise ValueError(f"{self.name}.upper_bound must return a number, got nan for sample {i}.")
        return max(answer, height)

    # ---- all samples at once --------------------------------------------------------------------------------

    def maximise(self, w: np.ndarray, first: int, last: int, joint_labelling, values, bounds) -> None:
        """The oracle for samples first to last: their labellings, the values attained, and bounds on the best ones."""
        w = freeze(w)
        began = time.perf_counter()
        for i, z in zip(range(first, last), self.ask_oracle(w, first, last), strict=True):
            joint_labelling[i], values[i] = self.check_oracle_result(i, z, w)
            bounds[i] = self.bound(i, values[i], w)
        self.adapt_step(time.perf_counter() - began, last - first)

    def ask_oracle(self, w: np.ndarray, first: int, last: int) -> list:
        """argmax_z Delta + <w, psi>, in other processes if there are to be several."""
        jobs = count_jobs(self.n_jobs)
        if jobs == 1:
            return [self.ask_one(i, w) for i in range(first, last)]
        from joblib import Parallel, delayed

        cuts = np.linspace(first, last, jobs + 1).astype(int)
        found = Parallel(n_jobs=jobs)(
            delayed(ask_some)(self.model, [self.X[i] for i in range(p, q)], w, self.y[p:q]) for p, q in pairwise(cuts)
        )
        return [z for part in found for z in part]

    def ask_one(self, i: int, w: np.ndarray):
        """argmax_z Delta + <w, psi> of one sample; between two of them a pass can be ended."""
        check_interrupt()
        return self.model.argmax(self.X[i], w, self.y[i])

    def adapt_step(self, seconds: float, count: int) -> None:
        """How many samples are asked between two looks at the clock; it has no say in the answers."""
        self.pace.record_oracle(seconds, count)
        least = count_jobs(self.n_jobs)
        self.step = max(least, 2 * count if seconds < 0.01 else count // 2 if seconds > 0.05 else count)

    def measure(self, joint_labelling: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Delta(y_i, z_i), and with <w, psi(x_i, z_i) - psi(x_i, y_i)> added."""
        return self.losses(joint_labelling), np.array([self.height(row, w) for row in joint_labelling])

    def losses(self, joint_labelling: np.ndarray) -> np.ndarray:
        """Delta(y_i, z_i)."""
        return np.array([self.costs[row] for row in joint_labelling])

    def combine(self, joint_labelling: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """sum_i weight_i (psi(x_i, y_i) - psi(x_i, z_i)), added to `out`."""
        began, total = time.perf_counter(), np.zeros(self.size) if out is None else out
        for row, each in zip(joint_labelling, weight, strict=True):
            if each != 0.0:
                indices, values = self.entries[row]
                total[indices] += each * values
        self.pace.record_labelling(time.perf_counter() - began)
        return total

    # ---- what rounding may do, for the judge ----------------------------------------------------------------

    @property
    def additions(self) -> int:
        """Terms of a sum over samples, at most, of a weight or of a loss."""
        return self.n

    def bound_rounding(self, joint_labelling: np.ndarray, w: np.ndarray) -> np.ndarray:
        """By how much heights may be off: those formed here, and those by which an oracle compares."""
        sizes, errors = np.abs(w), np.empty(self.n)
        for i, row in enumerate(joint_labelling):
            (places, features), (indices, values) = self.true_features[i], self.entries[row]
            size = (
                self.costs[row] + float(np.abs(values) @ sizes[indices]) + 2.0 * float(np.abs(features) @ sizes[places])
            )
            errors[i] = 2.0 * bound_sum(len(values) + len(features) + 16) * size
        return errors

    def bound_feature_norms(self, joint_labelling: np.ndarray) -> np.ndarray:
        """|psi(x_i, y_i)| + |psi(x_i, z_i)|, from above; 0 where z_i is y_i, and nothing is subtracted."""
        true_features = np.array([np.linalg.norm(values) for _, values in self.true_features])
        others = np.array([np.linalg.norm(self.entries[row][1]) for row in joint_labelling])
        return np.where(joint_labelling == self.right, 0.0, others + 2.0 * true_features) * (
            1.0 + bound_sum(self.size + 16)
        )

    def predict(self, w: np.ndarray) -> list:
        """argmax_z <w, psi(x, z)>."""
        w = freeze(w)
        return [self.model.argmax(x, w) for x in self.X]

    # ---- in and out -----------------------------------------------------------------------------------------

    def to_labelling(self, joint_labelling: np.ndarray) -> list:
        """The labellings themselves."""
        return [self.labellings[row] for row in joint_labelling]

    def from_labelling(self, labelling: list) -> np.ndarray:
        """The joint labelling of some labellings; None stands for y itself."""
        return np.array(
            [self.right[i] if z is None else self.add_labelling(i, z) for i, z in enumerate(labelling)], np.int64
        )

    def fits(self, labelling) -> bool:
        """Whether labellings of another fit are of these samples, as far as one can tell."""
        return isinstance(labelling, list) and len(labelling) == self.n

    def store(self, joint_labellings: list[np.ndarray]) -> dict:
        """Joint labellings as arrays: rows, and the text of each labelling."""
        used = np.unique(np.concatenate([*joint_labellings, self.right]))
        texts = [write_labelling(self.labellings[row]) for row in used]
        table = np.array(joint_labellings).reshape(len(joint_labellings), self.n)
        return {"sheets": np.searchsorted(used, table), "labels": texts}

    def restore(self, state: dict) -> list[np.ndarray]:
        """The joint labellings of a stored state."""
        labels = [read_labelling(text) for text in state["labels"].tolist()]
        return [self.from_labelling([labels[row] for row in joint_labelling]) for joint_labelling in state["sheets"]]

    def fingerprint(self) -> dict:
        """Which samples these are."""
        checksum = 0
        for indices, values in self.true_features:
            checksum = zlib.crc32(indices.tobytes() + values.tobytes(), checksum)
        return {"model": self.name, "samples": self.n, "weights": self.size, "features": checksum}


def ask_some(model, X: list, w: np.ndarray, y: list) -> list:
    """The oracle for a few samples."""
    return [model.argmax(x, w, label) for x, label in zip(X, y, strict=True)]


def count_jobs(n_jobs: int | None) -> int:
    """Processes for the oracle; one unless asked for."""
    if n_jobs is None:
        return 1
    from joblib import effective_n_jobs

    return effective_n_jobs(n_jobs)


def freeze(w: np.ndarray) -> np.ndarray:
    """A view that a model cannot write to."""
    view = w.view()
    view.flags.writeable = False
    return view


def merge(indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries with every index once, in ascending order, and without zeros."""
    order = np.argsort(indices, kind="stable")
    indices, values = indices[order], values[order]
    first = np.flatnonzero(np.diff(indices, prepend=-1))
    sums = np.add.reduceat(values, first) if len(first) else values
    kept = sums != 0.0
    return indices[first][kept], sums[kept]
