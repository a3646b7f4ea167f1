"""What a fitted kernel machine does: scores of new samples, w of a linear kernel, and its support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from math import fsum
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..model.kernels import is_function
from ..model.samples import choose_storage_format
from ..model.tiles import evaluate_scores
from ..runtime.blas import ONE_THREAD_MAX_NUMBERS, ONE_THREAD_MAX_PRODUCTS, single_threaded_blas
from ..runtime.scikit_learn import NotFittedError, check_is_fitted
from .certified_scores import CertifiedScores
from .validation import check_new_samples, is_precomputed


def is_small_product(samples: Any, coef: Any) -> bool:
    """Whether BLAS takes one thread for the kernel values between the samples and the support vectors."""
    values = samples.n * coef.shape[1]
    return (
        values <= ONE_THREAD_MAX_NUMBERS
        and samples.holds_vectors
        and not samples.sparse
        and values * samples.d <= ONE_THREAD_MAX_PRODUCTS
    )


def is_same_table(table: Any, other: Any) -> bool:
    """Whether two matrices, dense or sparse, have the same type and the same numbers."""
    if type(table) is not type(other) or table.shape != other.shape:
        return False
    if not sp.issparse(table):
        return np.array_equal(table, other)
    return all(np.array_equal(getattr(table, part), getattr(other, part)) for part in ("data", "indices", "indptr"))


class KernelPrediction(CertifiedScores):
    """f(x) = sum_i coef_i k(x_i, x) + b of each machine, from `support_vectors_`, `_dual_coef_` and `_intercept_`."""

    _support: Any = None  # the support vectors as the kernel wants to see them; None of a matrix or a callable
    dual_coef_: Any
    _dual_coef_: Any
    _weights: Any = None  # w of a linear kernel that was solved for w
    _weights_of: Any = None  # the dual coefficients it belongs to

    @property
    def kernel_is_formula(self) -> bool:
        """Whether the kernel can be evaluated from samples; not so for a matrix or a callable."""
        return not is_precomputed(self.kernel) and not is_function(self.kernel)

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from the support vectors; tables that are equal become one, which is kept once."""
        state = super().__getstate__()
        state.pop("_support", None)
        if self._weights is None:
            state.pop("_weights_of", None)
        if "dual_coef_" in state and is_same_table(state["dual_coef_"], state["_dual_coef_"]):
            state["dual_coef_"] = state["_dual_coef_"]
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        if "support_vectors_" not in state:
            return
        if self.dual_coef_ is self._dual_coef_:
            self.dual_coef_ = self._dual_coef_.copy()
        if "_support" not in state:
            self._bind_support()

    def _bind_support(self) -> None:
        """Prepare the support vectors for predictions."""
        of_vectors = self.kernel_is_formula
        self._support = choose_storage_format(self._kernel.samples(self.support_vectors_)) if of_vectors else None

    def _validate_for_predict(self, X: Any) -> Any:
        """X checked against the training data, and the machine against tampering."""
        self._check_fitted()
        vectors = self.support_vectors_
        altered = self.kernel_is_formula and vectors.shape[0] and self._n_support.sum() != vectors.shape[0]
        support = vars(self).get("support_", ())  # a model file of LIBSVM does not name them
        if altered or (len(support) and self._dual_coef_.shape[1] != len(support)):
            raise ValueError(f"The internal representation of {type(self).__name__} was altered")
        return check_new_samples(self, X)

    def _decision_values(self, X: Any) -> np.ndarray:
        """f(x) for each machine, one column each, in LIBSVM's sign."""
        X = self._validate_for_predict(X)
        samples, intercepts = self._kernel.samples(X), np.asarray(self._intercept_)
        if not self._dual_coef_.shape[1]:
            return np.tile(intercepts, (samples.n, 1))
        if is_small_product(samples, self._dual_coef_):
            return self._score(samples) + intercepts
        with single_threaded_blas():
            return self._score(samples) + intercepts

    def _view_samples(self, X: Any) -> Any:
        """X as the kernel sees it."""
        return self._kernel.samples(self._validate_for_predict(X))

    def _check_fitted(self) -> None:
        """Refuse a machine that is not fitted, as scikit-learn does."""
        if "_dual_coef_" not in vars(self):
            check_is_fitted(self)

    def _score(self, samples: Any) -> np.ndarray:
        """<w, phi(x)> of each machine, one column each: through w where that was solved for, else through its sum."""
        held = self._held_weights()
        whole = [w for w in held if w is not None]
        if len(whole) == len(held):
            return samples.project(np.stack(whole).T)
        scores = self._weigh_support(samples, self._support_samples(samples))
        for k, w in enumerate(held):
            if w is not None:
                scores[:, k] = samples.project(w)
        return scores

    def _held_weights(self) -> list[np.ndarray | None]:
        """w of each machine that was solved for w itself; None for others, and for all with other coefficients."""
        owner = self._weights_of
        same = owner is None or owner is self._dual_coef_ or np.array_equal(owner, self._dual_coef_)
        if self._weights is None or not same:
            return [None] * len(self._intercept_)
        return [None if np.isnan(w).any() else w for w in self._weights]

    def _weigh_support(self, samples: Any, support: Any) -> np.ndarray:
        """sum_i coef_i k(x_i, x) of each machine, one column each."""
        return evaluate_scores(self._kernel, samples, support, self._expansion())

    def _support_samples(self, samples: Any) -> Any:
        """The support vectors as the kernel wants to see them."""
        if self.kernel_is_formula:
            return self._support
        only_support = samples.d != self.shape_fit_[0]  # columns of the support vectors, and of no other samples
        return type(samples)(samples.matrix, np.arange(samples.d) if only_support else self.support_)

    def _expansion(self) -> np.ndarray:
        """The coefficients of each machine over the support vectors, one column each."""
        coef = self._dual_coef_
        return (coef.toarray() if sp.issparse(coef) else coef).T

    @property
    def coef_(self) -> Any:
        """w = sum_i coef_i x_i, where the kernel is linear; read-only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        coef = self._linear_coef()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _linear_coef(self) -> Any:
        """dual_coef_ times the support vectors."""
        return self._weigh_vectors()

    def _weigh_vectors(self, held: bool = True) -> Any:
        """w of each machine, one row each: w itself where it was solved for and `held`, else sum_i coef_i x_i.

        Added up as if in twice the precision, and rounded once. Samples far from the origin are added up from their
        shift m: with d the sum of the coef_i, which is zero but for rounding, w = sum_i coef_i (x_i - m) + d m.
        """
        samples = self._kernel.samples(self.support_vectors_)
        rows = (self._weigh(samples, weights) for weights in self._expansion().T)  # one at a time: they may be wide
        if held:
            rows = (row if w is None else w.copy() for row, w in zip(rows, self._held_weights(), strict=True))
        if sp.issparse(self.support_vectors_):
            return type(self.support_vectors_)(sp.vstack([sp.csr_array(row[None]) for row in rows]))
        return np.stack(list(rows))

    def _weigh(self, samples: Any, weights: np.ndarray) -> np.ndarray:
        """sum_i coef_i x_i of one machine, in the frame of the user."""
        high, low, _ = samples.combine_closely(weights)
        shift = self._kernel.shift
        return high + low if shift is None else high + (low + fsum(weights) * shift)

    def _public_intercepts(self, held: bool = True) -> np.ndarray:
        """b - <w, shift> of each machine, in LIBSVM's sign: that of f(x) = <w, x> + b, w as of `_weigh_vectors`."""
        b = self._intercept_
        if not self._kernel.linear or self._kernel.shift is None:
            return b
        return self._kernel.move_to_origin(self._weigh_vectors(held), b)

    @property
    def n_support_(self) -> np.ndarray:
        """The number of support vectors (of each class)."""
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise AttributeError(str(error)) from error
        return self._n_support

    def _split_support(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the support vectors that are free somewhere, and of those at a bound everywhere."""
        check_is_fitted(self)
        free = np.zeros(self.shape_fit_[0], bool)
        free[self._free] = True
        return self.support_[free[self.support_]], self.support_[~free[self.support_]]

    @property
    def free_support_(self) -> np.ndarray:
        """Indices of the support vectors with a dual strictly between its bounds: those on the margin."""
        return self._split_support()[0]

    @property
    def bounded_support_(self) -> np.ndarray:
        """Indices of the support vectors with a dual at its bound: those beyond the margin."""
        return self._split_support()[1]
