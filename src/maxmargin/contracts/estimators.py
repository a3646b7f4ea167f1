"""What an estimator is, said by its class: its task, its family, the data it takes, and which parameters are local."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

if TYPE_CHECKING:
    from ..model.problem import Problem
    from .solvers import Solver
EstimatorTask = Literal["classification", "regression", "novelty", "ranking", "structured"]
EstimatorFamily = Literal["kernel", "linear", "structured"]


class Estimator(ABC):
    """min R(w) + sum_i c_i l(f(x_i); y_i), certified: the base of every estimator of this package.

    The class attributes below hold before any fit and for every choice of parameters. The properties depend on the
    parameters, or on the fit. `estimators.registry` has the public estimators by name.

    Attributes
    ----------
    task : {"classification", "regression", "novelty", "ranking", "structured"}
        "classification" has `classes_`, and like "novelty" a `decision_function`; "regression" and "ranking" predict
        real numbers; "structured" predicts labellings.
    family : {"kernel", "linear", "structured"}
        What a fitted estimator consists of. "kernel": f(x) = sum_i coef_i k(x_i, x) + b, with `support_vectors_`,
        `dual_coef_` of shape (machines, n_SV) and `intercept_`. "linear": f(x) = <w, x> + b, with `coef_` of shape (d,)
        or (machines, d) and `intercept_`. "structured": argmax_z <w, psi(x, z)>, with `model_` and `coef_`.
    losses : tuple of str
        The names that the parameter `loss` takes, beside objects of `Loss`; empty if there is no such parameter.
    tube_losses : tuple of str
        Those of `losses` that are zero within a tube of half-width `epsilon`.
    loss_targets : tuple of str
        `Loss.target` of the objects that the parameter `loss` takes; empty if there is no such parameter.
    takes_targets : bool
        Whether `fit` looks at y.
    takes_weights : bool
        Whether `fit` takes `sample_weight`.
    takes_queries : bool
        Whether `fit` takes `group`, the query of each sample.
    takes_blocks : bool
        Whether X may be a Dask collection or an object of `Blocks`: the loss is a sum over rows.
    takes_sparse : bool
        Whether X may be a sparse matrix.
    takes_kernel_matrix : bool
        Whether X may hold kernel values, with kernel="precomputed".
    is_drop_in : bool
        Whether the class has the name, the parameters and the fitted attributes of a class of `sklearn.svm`, so that a
        model of that name from any library poses the same problem.
    has_risk_bounds : bool
        Whether the theorems behind `risk_bounds` are about this estimator.
    tol : float
        A parameter of all of them: the certified relative gap (P - D) / max(|P|, |D|) to reach.
    solver : str or Solver
        A parameter of all of them: "auto", a name of `solvers.registry`, or a solver.
    local_parameters : tuple of str
        Parameters that mean something on this machine only, such as paths; model files do not hold them.
    """

    task: ClassVar[EstimatorTask]
    family: ClassVar[EstimatorFamily]
    losses: ClassVar[tuple[str, ...]] = ()
    tube_losses: ClassVar[tuple[str, ...]] = ()
    loss_targets: ClassVar[tuple[str, ...]] = ()
    takes_targets: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    takes_queries: ClassVar[bool] = False
    takes_blocks: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = True
    takes_kernel_matrix: ClassVar[bool] = False
    is_drop_in: ClassVar[bool] = False
    has_risk_bounds: ClassVar[bool] = False
    local_parameters: ClassVar[tuple[str, ...]] = ()
    tol: float
    solver: str | Solver

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """The fitted estimator itself, with `result_` and `certificate_`."""

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """One prediction for each sample."""

    # ---- what depends on the parameters, or on the fit -----------------------------------------------------------

    @property
    def is_kernel_matrix(self) -> bool:
        """Whether X is to hold kernel values of each sample with every training sample."""
        return False

    @property
    def is_vector_valued(self) -> bool:
        """Whether a target has several numbers, so that y has the shape (n, n_targets)."""
        return False

    @property
    def needs_dense(self) -> bool:
        """Whether a fitted estimator takes dense rows only, as it was fitted on such."""
        return False

    @property
    def has_results(self) -> bool:
        """Whether `result_` is there, of a fit or from a file; machines that other libraries fitted lack it."""
        return False

    @property
    def wants_probabilities(self) -> bool:
        """Whether a parameter asks for probabilities that a fit has to make after its solves."""
        return False

    @property
    def has_probabilities(self) -> bool:
        """Whether a fitted estimator has `predict_proba` to offer."""
        return False

    @property
    def inverse_link(self) -> Literal["identity", "exp"]:
        """What a fitted estimator predicts of f(x): f(x) itself, or exp(f(x))."""
        return "identity"

    def pose_problem(self, X: Any, y: Any, number: int) -> Problem:
        """One of the problems that a fit on these data would solve, by its number; not for family "structured"."""
        raise NotImplementedError(f"{type(self).__name__} poses no problem over rows of features.")

    def pose_first_problem(self, X: Any, y: Any) -> Problem:
        """The first of them."""
        return self.pose_problem(X, y, 0)
