"""The training sequences of a chain, packed into arrays that compiled code reads."""

from __future__ import annotations

import time
import zlib

import numpy as np
import scipy.sparse as sp

from ..contracts.structures import Examples
from ..runtime.rounding import bound_sum
from ..runtime.threads import run_strips
from .oracle_timer import OracleTimer

STRIP_SEQUENCES = 64  # sequences of one piece of work
LABELS_PER_SLICE = 8192  # labels of the sequences between two looks at the clock


class ChainExamples(Examples):
    """Sequences packed into one CSR matrix, their labels into one array; a joint labelling is an array of that length.

    All sequences are asked at once, on all cores, in strips that do not depend on their number.
    """

    packed = True

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
        """By how much heights may be off, of this joint labelling or any other: by the largest weights of any label.

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
        """A joint labelling is its labellings already."""
        return joint_labelling

    def from_labelling(self, labelling: np.ndarray) -> np.ndarray:
        """The array itself, if its labels are some of ours."""
        if labelling.shape != self.right.shape or labelling.min() < 0 or labelling.max() >= self.chains.n_labels:
            raise ValueError("The labellings of the point belong to other sequences.")
        return np.ascontiguousarray(labelling, np.int16)

    def fits(self, labelling) -> bool:
        """Whether labellings of another fit are of these sequences, as far as one can tell."""
        if not isinstance(labelling, np.ndarray) or labelling.shape != self.right.shape:
            return False
        return labelling.min() >= 0 and labelling.max() < self.chains.n_labels

    def store(self, joint_labellings: list[np.ndarray]) -> dict:
        """Joint labellings as one array."""
        return {"sheets": np.array(joint_labellings, np.int16).reshape(len(joint_labellings), len(self.right))}

    def restore(self, state: dict) -> list[np.ndarray]:
        """The joint labellings of a stored state."""
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
