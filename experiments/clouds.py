"""The data of the report: two clouds, four clouds, a line and a sine, each of them drawn from a seed."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_regression

POINTS_PER_CLOUD = 100  # samples in a cloud, on the line and on the sine


def make_clouds(separable: bool = False, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """x ~ N(m, S) with m = (0, 2) for y = 1 and m = (2, 0) for y = -1: two clouds of 100 points.

    Parameters
    ----------
    separable : bool, default=False
        S = [[0.8, 0.6], [0.6, 0.8]], which leaves a gap between the clouds, in place of [[1.5, 1], [1, 1.5]].
    seed : int, default=0

    Returns
    -------
    X : ndarray of shape (200, 2)
    y : ndarray of shape (200,)
        +1 for the first hundred rows, -1 for the others.
    """
    spread = [[0.8, 0.6], [0.6, 0.8]] if separable else [[1.5, 1.0], [1.0, 1.5]]
    return draw_clouds([[(0, 2)], [(2, 0)]], spread, seed)


def make_four_clouds(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """x ~ N(m, S), S = [[1, 0.8], [0.8, 1]]: m = (-1, 2), (4, -4) for y = 1 and (1, -1), (-4, 4) for y = -1.

    Parameters
    ----------
    seed : int, default=0

    Returns
    -------
    X : ndarray of shape (400, 2)
    y : ndarray of shape (400,)
        +1 for the first two hundred rows, -1 for the others.
    """
    return draw_clouds([[(-1, 2), (4, -4)], [(1, -1), (-4, 4)]], [[1.0, 0.8], [0.8, 1.0]], seed)


def draw_clouds(classes: list[list[tuple]], spread: list[list[float]], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Clouds of SIZE points around the means of the class +1, then around those of the class -1."""
    random = np.random.default_rng(seed)
    clouds = [[random.multivariate_normal(mean, spread, POINTS_PER_CLOUD) for mean in means] for means in classes]
    X = np.concatenate([cloud for each in clouds for cloud in each])
    return X, np.repeat([1, -1], [POINTS_PER_CLOUD * len(each) for each in clouds])


def make_line(seed: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """y = slope x + 2 + 10 e, with x and e standard normal: 100 points.

    With seed 2 these are the very data of the report: scikit-learn's SVR gives all nine of its rows to six digits.
    The slope is near 60. A penalty of 1/2 |w|^2 weighs much against C = 1 then, which is why its scores rise with C.

    Parameters
    ----------
    seed : int, default=2

    Returns
    -------
    X : ndarray of shape (100, 1)
    y : ndarray of shape (100,)
    """
    return make_regression(n_samples=POINTS_PER_CLOUD, n_features=1, noise=10.0, bias=2.0, random_state=seed)


def make_sine(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """y = sin(x) + e, with e uniform in [-1/8, 1/8] and x uniform in [0, 2 pi], in ascending order: 100 points.

    The order matters: folds are cut from it in one piece each, so that two of the three validation folds lie outside
    of what was learned. It explains the report's validation scores far below zero.

    Parameters
    ----------
    seed : int, default=0

    Returns
    -------
    X : ndarray of shape (100, 1)
    y : ndarray of shape (100,)
    """
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0.0, 2.0 * np.pi, POINTS_PER_CLOUD))
    return x[:, None], np.sin(x) + random.uniform(-0.125, 0.125, POINTS_PER_CLOUD)
