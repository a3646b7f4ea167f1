"""A pytest plugin with the fixtures that pyRiemann's tests ask for: its source distribution has the tests alone."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rndstate():
    """A random state."""
    return np.random.RandomState(1234)


@pytest.fixture
def get_mats(rndstate):
    """`get_mats(how many, dimension, kind)`: random matrices."""
    from pyriemann.datasets import make_matrices

    return lambda count, dimension, kind: make_matrices(count, dimension, kind, rndstate, return_params=False)


@pytest.fixture
def get_weights(rndstate):
    """`get_weights(how many)`: weights between 1 and 2."""
    return lambda count: 1.0 + rndstate.rand(count)


@pytest.fixture
def get_labels():
    """`get_labels(how many, classes)`: as many labels of each class."""
    return lambda count, classes: np.repeat(np.arange(classes), count // classes)


@pytest.fixture
def get_targets(rndstate):
    """`get_targets(how many)`: targets between 0 and 1."""
    return lambda count: rndstate.rand(count)
