"""What the solvers must know of a structured output: joint features, a loss, and an oracle that finds the worst."""

from __future__ import annotations

import numpy as np

from .examples import ListedExamples

REQUIRED_METHODS = ("joint_feature", "loss", "argmax")


class StructuredModel:
    """f(x) = argmax_z <w, psi(x, z)>: psi is `joint_feature`, Delta is `loss`, and `argmax` solves the search.

    Derive from it and write three methods. A labelling may be anything: an array, a number, a tuple. Two are the same
    if they are equal as arrays, or as hashable objects.

    Attributes
    ----------
    exact : bool
        Whether `argmax` always finds the best labelling. Set it to False for a search that may miss it, and give an
        `upper_bound` if there is one: without it no certificate has a finite gap.
    """

    exact = True

    def prepare(self, X, y) -> int:
        """The number of weights, from a look at the training data; by default that of psi(x_0, y_0)."""
        answer = self.joint_feature(X[0], y[0])
        if isinstance(answer, tuple):
            raise ValueError(
                f"{type(self).__name__}.prepare must return the number of weights, since joint_feature returns pairs "
                "(indices, values), which do not tell it."
            )
        return int(np.size(answer))

    def joint_feature(self, x, y):
        """psi(x, y), an array of all weights' length or a pair (indices, values) of its entries that are not zero."""
        raise NotImplementedError

    def loss(self, y, z) -> float:
        """Delta(y, z) >= 0, what it costs to answer z where y is right; Delta(y, y) = 0."""
        raise NotImplementedError

    def argmax(self, x, w, y=None):
        """argmax_z <w, psi(x, z)>, plus Delta(y, z) where y is given."""
        raise NotImplementedError

    def upper_bound(self, x, y, w) -> float:
        """A number >= max_z Delta(y, z) + <w, psi(x, z)>; asked only if the model is not exact."""
        return np.inf

    def parts(self, y) -> float:
        """Of how many parts y consists, each of which may be wrong: the losses of a score are counted in these."""
        return 1.0

    def gather(self, X, y=None, n_jobs: int | None = None):
        """The training data as the solvers see them: all samples asked at once. By default a loop over the samples."""
        return ListedExamples(self, X, y, n_jobs)


def check_model(model) -> None:
    """Refuse what is not an object with the three methods."""
    if isinstance(model, type):
        raise ValueError(f"model must be an object, got the class {model.__name__}; add parentheses.")
    for name in REQUIRED_METHODS:
        method = getattr(model, name, None)
        if not callable(method) or getattr(type(model), name, None) is getattr(StructuredModel, name):
            raise ValueError(
                f"model must have the methods {', '.join(REQUIRED_METHODS[:-1])} and {REQUIRED_METHODS[-1]}, "
                f"but {type(model).__name__} "
                f"has no {name}."
            )


def gather(model, X, y=None, n_jobs: int | None = None):
    """The examples of any model, also of one that does not derive from `StructuredModel`."""
    return model.gather(X, y, n_jobs) if hasattr(model, "gather") else ListedExamples(model, X, y, n_jobs)


def prepare(model, X, y) -> int:
    """The number of weights of any model, checked."""
    size = model.prepare(X, y) if hasattr(model, "prepare") else StructuredModel.prepare(model, X, y)
    if not isinstance(size, int | np.integer) or size < 1:
        raise ValueError(f"{type(model).__name__}.prepare must return the number of weights, 1 or more, got {size!r}.")
    return int(size)
