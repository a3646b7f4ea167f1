"""Cutting planes and bundles on regularised risks: BMRM, line searches, proximal, trust-region and level bundles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...blocks.problem import BlockProblem
from ...contracts.solvers import Solver
from ...contracts.traits import Takes
from .blocks import BlockBundleRun
from .rules import RULES
from .run import BundleRun

METHODS = {"bmrm": "cutting-plane", "ocas": "cutting-plane-line-search"}
LINE_SEARCHES = ("line-search", "cutting-plane-line-search")
MAX_CUTS = 300  # cuts that are held at most


@dataclass(frozen=True)
class Bundle(Solver):
    """min max_k offset_k + <phi_k, w> + 1/2 |w|^2, cut by cut: any convex risk over linear features.

    Parameters
    ----------
    method : {"ocas", "bmrm", "line-search", "proximal-bundle", "trust-region-bundle", "level-bundle"}, default="ocas"
        Where the next cut is made: at the minimum of the model (BMRM, Teo et al. 2010; the 1-slack method of Joachims
        2006), at the least P on the line to it ("line-search", Schmidt-Thieme, n.d.), a little beyond that (OCAS, Franc
        and Sonnenburg 2008), or by the bundle methods of Schmidt-Thieme (n.d.). "cutting-plane" is another name of
        BMRM, and "cutting-plane-line-search" of OCAS.
    max_cuts : int, default=300
        Cuts that are held at most; beyond that they are aggregated into their mean.

    See Also
    --------
    OneSlack : The method of Joachims, line by line.
    minimize : The same methods for any convex function.

    References
    ----------
    - Teo, Vishwanathan, Smola and Le (2010). Bundle methods for regularized risk minimization. Journal of Machine
      Learning Research 11, 311-365.
    - Franc and Sonnenburg (2008). Optimized cutting plane algorithm for support vector machines. ICML, 320-327.
    - Joachims (2006). Training linear SVMs in linear time. KDD, 217-226.
    - Schmidt-Thieme (n.d.). Learning SVMs / Bundle Methods. Lecture slides, University of Hildesheim.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import Bundle, LinearSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", solver=Bundle("bmrm")).fit(X, y == 1)
    >>> model.result_.solver.name, model.result_.converged
    ('bundle', True)
    """

    method: str = "ocas"
    max_cuts: int = MAX_CUTS
    name = "bundle"
    formulation = "primal, by cuts"
    forms = ("memory", "blocks")
    takes = Takes("The bundle method", scores="any", features="linear", joint=True)

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"method must be one of {sorted({*RULES, *METHODS})}, got {self.method!r}.")
        if self.max_cuts < 4:
            raise ValueError(f"max_cuts must be 4 or more, got {self.max_cuts!r}.")

    def start(self, problem: Any, tol: float, warm: Any = None) -> BundleRun | BlockBundleRun:
        """A run at `warm`, or at zero."""
        if problem.traits.form == "blocks":
            return BlockBundleRun(self, self.rule_over_blocks, problem, tol, warm)
        return BundleRun(self, problem, tol, warm)

    def start_after(self, previous: Any, problem: Any, tol: float, warm: Any = None) -> BundleRun | BlockBundleRun:
        """A run with the cuts of the one before, which serve every C; over blocks, one without them."""
        if problem.traits.form == "blocks":
            return self.start(problem, tol, warm)
        return BundleRun(self, problem, tol, warm, previous)

    def resume(self, problem: BlockProblem, tol: float, state: dict[str, Any]) -> BlockBundleRun:
        """A run as it was packed."""
        run = BlockBundleRun(self, self.rule_over_blocks, problem, tol, None)
        run.unpack(state)
        return run

    @property
    def rule(self) -> str:
        """The name of the rule that makes the next cut."""
        return METHODS.get(self.method, self.method)

    @property
    def rule_over_blocks(self) -> str:
        """The rule that was asked for; proximal steps in place of those whose search of a line is several passes."""
        return "proximal-bundle" if self.rule in LINE_SEARCHES else self.rule
