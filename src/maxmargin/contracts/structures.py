"""The contracts of structured outputs: a model of the labellings, and the training samples as solvers see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np


class StructuredModel:
    """f(x) = argmax_z <w, psi(x, z)>: psi is `joint_feature`, Delta is `loss`, and `argmax` solves the search.

    Derive from it and write the three abstract methods; all others have a default. A labelling may be anything: an
    array, a number, a tuple. Two are the same if they are equal as arrays, or as hashable objects. A model that lacks
    one of the three makes `StructuredSVM.fit` raise an error that names it.

    Attributes
    ----------
    exact : bool
        Whether `argmax` always finds the best labelling. Set it to False for a search that may miss it, and give an
        `upper_bound` if there is one: without it no certificate has a finite gap.

    See Also
    --------
    ChainModel : Sequences of labels.
    MulticlassModel : One label.
    StructuredSVM : The machine that takes it.

    References
    ----------
    - Tsochantaridis, Joachims, Hofmann and Altun (2005). Large margin methods for structured and interdependent
      output variables. Journal of Machine Learning Research 6, 1453-1484.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import StructuredModel, StructuredSVM
    >>> class Sign(StructuredModel):
    ...     def joint_feature(self, x, y):
    ...         return y * x
    ...     def loss(self, y, z):
    ...         return float(y != z)
    ...     def argmax(self, x, w, y=None):
    ...         return max((-1, 1), key=lambda z: z * (x @ w) + (0.0 if y is None else float(y != z)))
    >>> X, y = [np.array([1.0, 2.0]), np.array([-1.0, 0.5]), np.array([-2.0, -1.0])], [1, -1, -1]
    >>> model = StructuredSVM(Sign(), C=10).fit(X, y)
    >>> [int(label) for label in model.predict(X)], model.result_.converged
    ([1, -1, -1], True)
    """

    exact: bool = True

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """psi(x, y), an array of all weights' length or a pair (indices, values) of its entries that are not zero."""
        raise NotImplementedError

    @abstractmethod
    def loss(self, y: Any, z: Any) -> float:
        """Delta(y, z) >= 0, what it costs to predict z where y is right; Delta(y, y) = 0."""
        raise NotImplementedError

    @abstractmethod
    def argmax(self, x: Any, w: np.ndarray, y: Any = None) -> Any:
        """argmax_z <w, psi(x, z)>, plus Delta(y, z) where y is given; w cannot be written to."""
        raise NotImplementedError

    def prepare(self, X: Any, y: Any) -> int:
        """The number of weights, from a look at the training data; by default that of psi(x_0, y_0)."""
        answer = self.joint_feature(X[0], y[0])
        if isinstance(answer, tuple):
            raise ValueError(
                f"{type(self).__name__}.prepare must return the number of weights, since joint_feature returns pairs "
                "(indices, values), which do not determine it."
            )
        return int(np.size(answer))

    def upper_bound(self, x: Any, y: Any, w: np.ndarray) -> float:
        """A number >= max_z Delta(y, z) + <w, psi(x, z)>; asked only if the model is not exact."""
        return np.inf

    def parts(self, y: Any) -> float:
        """Of how many parts y consists, each of which may be wrong: the losses of a score are counted in these."""
        return 1.0

    def gather(self, X: Any, y: Any = None, n_jobs: int | None = None) -> Examples | None:
        """The samples as one object that is asked for all of them at once; None for a loop over them, the default."""
        return None

    def read(self, labelling: Any, X: Any) -> Any:
        """The labellings of the samples X as `predict` returns them, from what `Examples.predict` returns."""
        return labelling


class CertificateTimer(Protocol):
    """How long certificates take."""

    def estimate(self, samples: int, labellings: int) -> float:
        """Seconds for a certificate of so many samples and joint labellings."""


class Examples(ABC):
    """The n training samples of a structured problem: oracle, losses and features, as solvers and the judge ask them.

    A `joint_labelling` holds one labelling per sample, in whatever form the examples choose; `right` is that of the
    labels themselves.

    Attributes
    ----------
    n, size : int
        The number of samples, and of weights.
    name : str
        The class of the model, for messages.
    exact : bool
        Whether the oracle always finds the best labelling.
    packed : bool
        Whether a joint labelling is an array of labels, one sequence after another, that compiled code reads.
    n_jobs : int or None
        Processes for the oracle, as in joblib; None for one.
    right : ndarray
        The joint labelling of y.
    step : int
        How many samples the oracle is asked for between two looks at the clock.
    pace : object with `estimate(samples, labellings)`
        How long a certificate takes, in seconds.
    additions : int
        Terms of the longest sum in a weight or a loss, for bounds on rounding.
    """

    packed: bool = False
    exact: bool = True
    n_jobs: int | None = None
    n: int
    size: int
    name: str
    right: np.ndarray
    step: int
    pace: CertificateTimer

    def begin(self, size: int) -> Examples:
        """Make ready for a fit of so many weights; needed once, before all that follows."""
        return self

    def without_cache(self) -> Examples:
        """The same samples with nothing remembered from one question to the next, for the judge."""
        return self

    def blank(self) -> np.ndarray:
        """A joint labelling to be filled: that of the labels themselves."""
        return self.right.copy()

    @property
    @abstractmethod
    def additions(self) -> int:
        """Terms of a sum, at most, of a weight or of a loss."""

    @abstractmethod
    def maximise(
        self, w: np.ndarray, first: int, last: int, joint_labelling: np.ndarray, values: np.ndarray, bounds: np.ndarray
    ) -> None:
        """The oracle for samples first to last: writes the labellings, the values attained, and bounds on the best."""

    @abstractmethod
    def measure(self, joint_labelling: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Delta(y_i, z_i), and with <w, psi(x_i, z_i) - psi(x_i, y_i)> added: two arrays of shape (n,)."""

    @abstractmethod
    def losses(self, joint_labelling: np.ndarray) -> np.ndarray:
        """Delta(y_i, z_i), of shape (n,)."""

    @abstractmethod
    def combine(self, joint_labelling: np.ndarray, weight: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """sum_i weight_i (psi(x_i, y_i) - psi(x_i, z_i)), of shape (size,), added to `out` if it is given."""

    @abstractmethod
    def bound_rounding(self, joint_labelling: np.ndarray, w: np.ndarray) -> np.ndarray:
        """By how much the heights that `measure` returns may be off, of shape (n,)."""

    @abstractmethod
    def bound_feature_norms(self, joint_labelling: np.ndarray) -> np.ndarray:
        """|psi(x_i, y_i)| + |psi(x_i, z_i)| from above, of shape (n,); 0 where z_i is y_i."""

    @abstractmethod
    def predict(self, w: np.ndarray) -> Any:
        """argmax_z <w, psi(x_i, z)> of all samples; `StructuredModel.read` makes labellings of it."""

    @abstractmethod
    def to_labelling(self, joint_labelling: np.ndarray) -> Any:
        """The labellings themselves, for a point that outlives the fit."""

    @abstractmethod
    def from_labelling(self, labelling: Any) -> np.ndarray:
        """The joint labelling of what `to_labelling` returned."""

    @abstractmethod
    def fits(self, labelling: Any) -> bool:
        """Whether labellings of another fit are of these samples, as far as one can tell."""

    @abstractmethod
    def store(self, joint_labellings: list[np.ndarray]) -> dict[str, Any]:
        """Joint labellings as arrays for a checkpoint: "sheets", one row each, and what it takes to restore them."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> list[np.ndarray]:
        """The joint labellings of a stored state."""

    @abstractmethod
    def fingerprint(self) -> dict[str, str | int | float]:
        """Which samples these are."""
