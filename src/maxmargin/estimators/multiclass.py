"""Many classes as many binary problems, and LIBSVM's layout of their dual coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, combinations, pairwise
from math import fsum

import numpy as np

from ..model.class_pairs import fill_table, list_pairs, pose_pairs
from ..runtime.scikit_learn import compute_class_weight
from .tasks import PairTasks, Task


def split_one_vs_one(y: np.ndarray, c: np.ndarray, n_classes: int) -> Sequence[Task]:
    """One task for each pair (i, j), i < j, over the samples of both: class i is +1, class j is -1, as in LIBSVM."""
    counted = (c > 0).all()
    if n_classes == 2 and counted:
        return [Task(np.arange(len(y)), 1.0 - 2.0 * y, c)]
    if counted and (y[1:] >= y[:-1]).all():
        return split_sorted_classes(np.bincount(y, minlength=n_classes).tolist(), c)
    members = [np.flatnonzero((y == k) & (c > 0)) for k in range(n_classes)]
    tasks = []
    for i, j in combinations(range(n_classes), 2):
        index = np.sort(np.concatenate([members[i], members[j]]))
        tasks.append(Task(index, np.where(y[index] == i, 1.0, -1.0), c[index]))
    return tasks


def split_sorted_classes(sizes: list[int], c: np.ndarray) -> PairTasks:
    """The same where the samples lie class by class, so many of each, and all of them count."""
    return PairTasks(pose_pairs(sizes, c))


def split_one_vs_rest(y: np.ndarray, c: np.ndarray, n_classes: int) -> list[Task]:
    """One task for each class against all others."""
    index = np.flatnonzero(c > 0)
    y, c = y[index], c[index]
    return [Task(index, np.where(y == k, 1.0, -1.0), c) for k in range(n_classes)]


def split_weighing_one(y: np.ndarray, c: np.ndarray, class_weight: np.ndarray) -> list[Task]:
    """One task for each class against all others, whose weights do not count: LIBLINEAR weighs the one class only."""
    tasks = split_one_vs_rest(y, c, len(class_weight))
    return [
        weigh_class(task, weight) if weight != 1 else task for task, weight in zip(tasks, class_weight, strict=True)
    ]


def weigh_class(task: Task, weight: float) -> Task:
    """The task with `weight` times the c of its class, and without samples that then have c = 0."""
    c = np.where(task.y > 0, weight * task.c, task.c)
    kept = c > 0
    return task._replace(c=c) if kept.all() else Task(task.index[kept], task.y[kept], c[kept])


def count_classes(y: np.ndarray, weight: np.ndarray | None, n_classes: int) -> np.ndarray:
    """The weight of each class, with one rounding: judges allow for a few roundings of c, whatever n is."""
    if weight is None:
        return np.bincount(y, minlength=n_classes).astype(float)
    order, ends = np.argsort(y, kind="stable"), np.cumsum(np.bincount(y, minlength=n_classes))
    parts = np.split(np.maximum(weight, 0.0)[order], ends[:-1])
    return np.array([fsum(part.tolist()) for part in parts])


def weigh_classes(class_weight, classes: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """One weight per class; "balanced" counts samples by their weights, so that weight 2 equals the row twice."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        with np.errstate(divide="ignore"):
            counts = count_classes(y, weight, len(classes))
            weights = fsum(counts) / (len(classes) * counts)
    else:
        weights = compute_class_weight(class_weight, classes=classes, y=classes[y])
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        raise ValueError(
            f"class_weight must be finite and not negative, but that of class {classes[bad][0]} is {weights[bad][0]}."
        )
    return weights


def order_support(duals: np.ndarray, y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The samples with a nonzero dual anywhere, sorted by class and then by index; how many of each class."""
    support = (duals[0] if len(duals) == 1 else duals.any(axis=0)).nonzero()[0]
    classes = y[support]
    if (classes[1:] < classes[:-1]).any():
        support = support[np.argsort(classes, kind="stable")]
    return support, np.bincount(classes, minlength=n_classes).astype(np.int32)


def spread_duals(tasks: Sequence[Task], duals: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """The duals of each machine over all samples, one row each, from those of all tasks, one after the other."""
    table, ends = np.zeros((len(tasks), len(y))), accumulate((len(task.index) for task in tasks), initial=0)
    for row, task, (start, stop) in zip(table, tasks, pairwise(ends), strict=True):
        row[task.index] = duals[start:stop]
    return table


def pack_pairs(tasks: Sequence[Task], duals: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """LIBSVM's table of n_classes - 1 rows over all samples: one of class i has its coefficient against j in row j - 1
    if i < j, and in row j if i > j; class i counts as positive against j > i."""
    table = np.zeros((n_classes - 1, len(y)))
    if n_classes == 2 and len(duals) == len(y):
        table[0] = duals
        return table
    if isinstance(tasks, PairTasks):
        fill_table(tasks.pairs, tasks.class_ends, duals, table)
        return table
    start = 0
    for (i, j), task in zip(combinations(range(n_classes), 2), tasks, strict=True):
        index, part = task.index, duals[start : start + len(task.index)]
        first, start = y[index] == i, start + len(index)
        table[j - 1, index[first]] = part[first]
        table[i, index[~first]] = part[~first]
    return table


def unpack_pairs(table: np.ndarray, n_support: np.ndarray) -> np.ndarray:
    """The coefficients of each pair over all support vectors, one column per pair, from LIBSVM's table."""
    n_classes = len(n_support)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    columns = np.zeros((table.shape[1], n_classes * (n_classes - 1) // 2))
    for column, (i, j) in enumerate(combinations(range(n_classes), 2)):
        first, second = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        columns[first, column] = table[j - 1, first]
        columns[second, column] = table[i, second]
    return columns


@cache
def make_ballots(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """What a pair won by its first class changes, one row for each pair, and the votes where all are lost by it.

    Sums of ones are exact in float32.
    """
    classes = np.eye(n_classes, dtype=np.float32)
    won, lost = (classes[each] for each in list_pairs(n_classes).T)
    return won - lost, lost.sum(axis=0)


def vote(decisions: np.ndarray, n_classes: int, preference: np.ndarray | None = None) -> np.ndarray:
    """The class with most pairs won; the first of them where several tie, as LIBSVM does, or the first preferred."""
    ballots, lost = make_ballots(n_classes)
    votes = (decisions > 0).astype(np.float32) @ ballots + lost
    return votes.argmax(axis=1) if preference is None else preference[votes[:, preference].argmax(axis=1)]
