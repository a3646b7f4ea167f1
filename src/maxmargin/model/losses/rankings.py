"""Losses of pairs of samples in an order, and the pairs themselves, which are never listed one by one.

R(f) = sum over queries of  n_g / |pairs_g| sum over pairs with y_p > y_q of max(0, 1 - (f_p - f_q))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...contracts.losses import JointTerms, Loss
from ...runtime.interpreter import cached_property


class QueryPairs:
    """The pairs (p, q) of samples with y_p > y_q in the same query, never listed one by one."""

    def __init__(self, y: np.ndarray, groups: np.ndarray | None = None):
        groups = np.zeros(len(y), np.int64) if groups is None else groups
        _, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        self.group = group.astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.level, self.n_levels = rank_levels(y, self.group, self.starts)
        self.order = np.argsort(self.group, kind="stable")

    def count(self, f: np.ndarray, weight: np.ndarray, margin: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """The weights of the lower samples that each has yet to rise above, and of the higher ones to fall below."""
        from ...compiled.ranking_pairs import count_pairs

        order, ranked = self.sort(np.asarray(f, float))
        up, down = np.empty(len(f)), np.empty(len(f))
        up[order], down[order] = count_pairs(
            ranked, float(margin), self.starts, self.level[order], self.n_levels, weight[order]
        )
        return up, down

    def sort(self, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The samples query by query, by rising score in each, and their scores; an order that still holds stays."""
        from ...compiled.ranking_pairs import sort_by_group

        ranked = f[self.order]
        falls = ranked[1:] < ranked[:-1]
        falls[self.starts[1:-1] - 1] = False
        if falls.any():
            self.order = sort_by_group(np.argsort(f), self.group, self.starts)
            ranked = f[self.order]
        return self.order, ranked

    def sum(self, values: np.ndarray) -> np.ndarray:
        """The sums of the queries."""
        return np.bincount(self.group, values)


def rank_levels(y: np.ndarray, group: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The levels of y numbered from 0 in each group, and how many there are."""
    order = np.lexsort((y, group))
    new = np.ones(len(y), bool)
    new[1:] = y[order][1:] != y[order][:-1]
    new[starts[:-1]] = True
    rank = np.cumsum(new) - 1
    first = rank[starts[:-1]]
    level = np.empty(len(y), np.int64)
    level[order] = rank - np.repeat(first, np.diff(starts))
    return level, np.diff(np.append(first, rank[-1] + 1))


class PairTerms(JointTerms):
    """sum_g c(g) sum_pairs c_p c_q max(0, 1 - (f_p - f_q)) / sum_pairs c_p c_q, c(g) the sum of c over the query.

    With c = C this is C n_g / |pairs_g| times the sum over pairs; a weight of 2 is the row twice.
    """

    shift_invariant = True

    def __init__(self, y: np.ndarray, c: np.ndarray, groups: np.ndarray | None = None):
        self.pairs, self.weight = QueryPairs(y, groups), c / np.max(c)
        total = self.pairs.sum(self.weight * self.pairs.count(np.zeros(len(y)), self.weight)[0])
        if not total.any():
            raise ValueError(
                f"y has no two different values in one query, so there are no pairs to order among {len(y)} "
                f"sample{'s' if len(y) != 1 else ''}."
            )
        share = np.divide(self.pairs.sum(c), total, out=np.zeros_like(total), where=total > 0)
        self.scale = share[self.pairs.group] * self.weight

    @cached_property
    def steepness(self):
        """The weights of all that a sample is paired with on one side, scaled."""
        up, down = self.pairs.count(np.zeros(len(self.weight)), self.weight)
        return self.scale * np.maximum(up, down)

    def cut(self, f):
        up, down = self.pairs.count(f, self.weight)
        a = self.scale * (up - down)
        return float(self.scale @ up - a @ f), a


@dataclass(frozen=True, eq=False)
class PairwiseLoss(Loss):
    """sum_g n_g / |pairs_g| sum over pairs with y_p > y_q in query g of max(0, 1 - (f_p - f_q)).

    `groups` names the query of each sample, in any order; None is one query for all. Queries without pairs count
    nothing.

    Parameters
    ----------
    groups : ndarray of shape (n,), default=None
        The query of each sample.

    See Also
    --------
    maxmargin.RankSVM : The machine with this loss.
    RocAuc : One query of two levels.

    References
    ----------
    - Joachims (2002). Optimizing search engines using clickthrough data. KDD, 133-142.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.model.losses import PairwiseLoss
    >>> PairwiseLoss().value(np.array([0.0, 0.5, 3.0]), np.array([1.0, 2.0, 3.0]))
    array([0.5])
    """

    groups: np.ndarray | None = None
    name = "pairwise"
    target = "level"

    def terms(self, y, c):
        """Any number of levels."""
        return PairTerms(y, c, self.groups)


def measure_concordance(f: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> float:
    """mean over queries of the share of pairs with y_p > y_q that have f_p > f_q, ties counting half.

    Queries without pairs are left out; nan if none has any.
    """
    pairs, one = QueryPairs(y, groups), np.ones(len(y))
    total = pairs.sum(pairs.count(np.zeros(len(y)), one)[0])
    wrong, right = (pairs.sum(pairs.count(sign * f, one, margin=0.0)[0]) for sign in (1.0, -1.0))
    paired = total > 0
    return float(np.mean(0.5 + 0.5 * (right - wrong)[paired] / total[paired])) if paired.any() else float("nan")
