"""Labellings: with their weights, as keys that tell two of them apart, and as text for checkpoints."""

from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np


class WeightedLabelling(NamedTuple):
    """One labelling per sample, and the weight of each of them: alpha_i(z_i).

    Attributes
    ----------
    labelling : object
        The labellings z_i, as `Examples.to_labelling` returns them.
    weight : ndarray of shape (n,)

    See Also
    --------
    StructuredPoint : Holds some of them.

    References
    ----------
    - Joachims, Finley and Yu (2009). Cutting-plane training of structural SVMs. Machine Learning 77, 27-59.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassModel, StructuredSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> point = StructuredSVM(MulticlassModel()).fit(X, y).result_.point
    >>> point.sheets[0].weight.shape
    (150,)
    """

    labelling: object
    weight: np.ndarray


def make_key(z):
    """What tells two labellings apart: the bytes of an array, else the object itself."""
    if isinstance(z, np.ndarray):
        return z.shape, z.dtype.str, z.tobytes()
    try:
        hash(z)
    except TypeError:
        return repr(z)
    return z


def write_labelling(z) -> str:
    """A labelling as text that can be read again without running code."""
    if isinstance(z, np.ndarray):
        return f"array {z.dtype.str} {z.shape} {z.ravel().tolist()!r}"
    plain = z.item() if isinstance(z, np.generic) else z
    text = repr(plain)
    try:
        same = ast.literal_eval(text) == plain
    except (ValueError, SyntaxError):
        same = False
    if not same:
        raise ValueError(
            f"A checkpoint can keep labellings that are arrays, numbers, texts, or tuples and lists of them, and not "
            f"{type(z).__name__}."
        )
    return f"plain {text}"


def read_labelling(text: str):
    """The labelling of a text."""
    kind, rest = text.split(" ", 1)
    if kind == "plain":
        return ast.literal_eval(rest)
    dtype, rest = rest.split(" ", 1)
    shape, numbers = rest.split(") ", 1)
    return np.array(ast.literal_eval(numbers), np.dtype(dtype)).reshape(ast.literal_eval(shape + ")"))
