"""First-order methods on the primal: gradient descent, Polyak's and Nesterov's momentum, AdaGrad."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from ...model.problem import Point, Problem
from .batches import BatchRun, BatchSteps
from .movers import KINK_MOMENTUM, Adaptive, Momentum, RunningMean
from .objective import Objective
from .run import FirstOrderRun
from .steps import DualSteps, GivenSteps, SearchedSteps

__all__ = ["AdaGrad", "GradientDescent"]

MOMENTA = ("none", "polyak", "nesterov")
STOPS = ("gap", "patience")
# of the distance a coordinate may have to go: AdaGrad's first step, that of Meoli (2021) on data of scale 1
FIRST_STEP_SHARE = 0.5


class FirstOrder(Solver):
    """What first-order solvers share: which problems they accept, when they stop, and their checks."""

    formulation: ClassVar[str] = "primal"
    own_rule: ClassVar[str] = "no lower P within `patience` iterations"
    takes: ClassVar[Takes] = Takes(scores="any", signed=False)
    coordinatewise: ClassVar[bool]  # whether each coordinate has a step length of its own
    step: float | None
    batch: int | None
    patience: int
    seed: int

    def refuse(self, problem: Problem) -> str | None:
        """Refuse free intercepts of several scores if the loss has kinks."""
        traits = problem.traits
        if traits.vector and traits.kinked and traits.free_intercept:
            return (
                f"needs a regularised intercept or none for {traits.loss!r} with many classes, since no step suits "
                "free intercepts with kinked losses; use 'bundle'"
            )
        return None

    def start(self, problem: Problem, tol: float, warm: Point | None = None) -> FirstOrderRun:
        """A run at `warm`, or at zero."""
        return (FirstOrderRun if self.batch is None else BatchRun)(self, problem, tol, warm)

    def check(self) -> None:
        """Refuse parameters that make no sense."""
        name = type(self).__name__
        if self.stop not in STOPS:
            raise ValueError(f"{name}'s stop must be one of {list(STOPS)}, got {self.stop!r}.")
        if self.step is not None and not (isinstance(self.step, Real) and 0 < self.step < np.inf):
            raise ValueError(f"{name}'s step must be a positive number or None, got {self.step!r}.")
        counts = (("patience", self.patience, 1), ("batch", self.batch, 1), ("seed", self.seed, 0))
        for parameter, value, least in counts:
            if not (isinstance(value, Integral) and value >= least) and not (parameter == "batch" and value is None):
                raise ValueError(f"{name}'s {parameter} must be an integer of at least {least}, got {value!r}.")


@dataclass(frozen=True)
class GradientDescent(FirstOrder):
    """w <- w - step (w - sum_i a_i phi(x_i)), -a_i in c_i dl(f_i; y_i): gradient descent on P, also with momentum.

    Parameters
    ----------
    momentum : {"none", "polyak", "nesterov"}
        v <- beta v + step grad P, w <- w - v; Nesterov takes the gradient at w - beta v.
    beta : float in [0, 1), optional
        By default Polyak's for modulus 1 or Nesterov's k / (k + 3), dropped whenever P rises; 1/2 over kinks.
    step : float, optional
        By default 1/L if the loss is smooth, (P - D) / |grad P|^2 if it has kinks, and found by a line search if it
        grows exponentially.
    batch : int, optional
        Samples per step; an iteration is then a pass over all samples in random order, with steps 2 / (t + 2 L).
    stop : {"gap", "patience"}
        At the certified gap, or when P has not been lower for `patience` iterations.
    patience : int
    seed : int
        Seed of the random order of the samples.

    See Also
    --------
    AdaGrad : A step length for each coordinate.
    Newton : Second derivatives too.

    References
    ----------
    - Polyak (1964). Some methods of speeding up the convergence of iteration methods. USSR Computational
      Mathematics and Mathematical Physics 4, 1-17.
    - Nesterov (1983). A method of solving a convex programming problem with convergence rate O(1/k^2). Soviet
      Mathematics Doklady 27, 372-376.
    - O'Donoghue and Candès (2015). Adaptive restart for accelerated gradient schemes. Foundations of Computational
      Mathematics 15, 715-732.
    - Meoli (2021). Support Vector Machines. Project report, University of Pisa.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import GradientDescent, RiskClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RiskClassifier("logistic", solver=GradientDescent("nesterov")).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('gradient_descent', True)
    """

    momentum: str = "none"
    beta: float | None = None
    step: float | None = None
    batch: int | None = None
    stop: str = "gap"
    patience: int = 5
    seed: int = 0
    name: ClassVar[str] = "gradient_descent"
    coordinatewise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.check()
        if self.momentum not in MOMENTA:
            raise ValueError(f"GradientDescent's momentum must be one of {list(MOMENTA)}, got {self.momentum!r}.")
        if self.beta is not None and not (isinstance(self.beta, Real) and 0 <= self.beta < 1):
            raise ValueError(f"GradientDescent's beta must be a number in [0, 1) or None, got {self.beta!r}.")

    def choose_steps(self, objective: Objective) -> GivenSteps | DualSteps | SearchedSteps | BatchSteps:
        """The rule that chooses the step lengths."""
        if self.step is not None:
            return GivenSteps(self.step)
        if self.batch is not None:
            return BatchSteps(objective, self.batch)
        if objective.problem.kinked:
            return DualSteps()
        return SearchedSteps() if objective.problem.loss.grows_exponentially else GivenSteps(1.0 / objective.smoothness)

    def make_mover(self, objective: Objective) -> Momentum:
        """How w moves."""
        if self.beta is None and (objective.problem.kinked or self.batch is not None):
            return Momentum(self.momentum, KINK_MOMENTUM)
        known = self.momentum == "polyak" and self.beta is None and not objective.problem.loss.grows_exponentially
        return Momentum(self.momentum, self.beta, objective.smoothness if known else np.inf)

    make_dual_mover = make_mover  # the duals move like w


@dataclass(frozen=True)
class AdaGrad(FirstOrder):
    """s_j <- s_j + g_j^2, w_j <- w_j - step g_j / sqrt(s_j + offset): each coordinate has its own step length.

    With a kernel the coordinates are the coefficients of w on the phi(x_i).

    Parameters
    ----------
    step : float, optional
        By default half the spread of the targets (1 for labels) over the root mean square of each coordinate.
    batch, stop, patience, seed
        As in `GradientDescent`.
    offset : float
        Keeps the root away from zero.

    See Also
    --------
    GradientDescent : One step length for all coordinates.

    References
    ----------
    - Duchi, Hazan and Singer (2011). Adaptive subgradient methods for online learning and stochastic optimization.
      Journal of Machine Learning Research 12, 2121-2159.
    - Meoli (2021). Support Vector Machines. Project report, University of Pisa.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import AdaGrad, LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", solver=AdaGrad(), tol=0.05).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('adagrad', True)
    """

    step: float | None = None
    batch: int | None = None
    stop: str = "gap"
    patience: int = 5
    offset: float = 1e-8
    seed: int = 0
    name: ClassVar[str] = "adagrad"
    coordinatewise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self.check()
        if not (isinstance(self.offset, Real) and 0 < self.offset < np.inf):
            raise ValueError(f"AdaGrad's offset must be a positive number, got {self.offset!r}.")

    def choose_steps(self, objective: Objective) -> GivenSteps:
        """A constant step, which the roots make shorter."""
        return GivenSteps(FIRST_STEP_SHARE * objective.reach if self.step is None else self.step)

    def make_mover(self, objective: Objective) -> Adaptive:
        """How w moves."""
        return Adaptive(self.offset, cautious=self.step is None and objective.problem.loss.grows_exponentially)

    def make_dual_mover(self, objective: Objective) -> RunningMean:
        """The duals are the mean of those of all iterates."""
        return RunningMean()
