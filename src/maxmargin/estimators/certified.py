"""The one fit: validate, pose, solve, read; and what every estimator has to say of it, certificates and one warning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from ..certificates.certificate import Certificate
from ..contracts.estimators import Estimator
from ..insight.diagnosis import suggest_remedy
from ..model.kernels import Kernel
from ..model.problem import Problem
from ..runtime.blas import single_threaded_blas
from ..runtime.checkpoints import CheckpointFile
from ..runtime.interrupt import Interrupt, watch_interrupt
from ..runtime.scikit_learn import BaseEstimator, ConvergenceWarning, DocumentedEstimator, effective_n_jobs
from ..runtime.threads import CORES, STRIPS, is_main
from ..runtime.user_warnings import warn_user
from ..solvers.result import Result
from .fit_problems import FitProblems, SolvedTogether
from .kept_results import pack_results, unpack_results
from .observers import Observation, ObservedFit
from .parameters import CheckedParameters, read_defaults
from .solves import FoundBySolves, Solves, find_worst
from .tasks import Budget
from .training_set import TrainingSet
from .validation import UNLIMITED_ITERATIONS

# What a machine does that has no parameter of the name.
ABSENT_PARAMETERS = {
    "C": None, "certify_labels": None, "checkpoint": None, "class_weight": None, "fit_intercept": True,
    "intercept": "free", "intercept_scaling": 1.0, "loss": None, "multi_class": "ovr", "n_jobs": None, "penalty": "l2",
}  # fmt: skip
# What a machine may have from a file, or from an older version of this library, in place of `Solves`.
OF_EARLIER_FITS = {"data_hash_", "results_", "certificates_", "result_", "certificate_", "_optimum", "_points"}
# What a pickle has no need of: it follows from `_kept_results`, or has the size of the training data.
NOT_PICKLED = {"_solves", "_posed", "_posed_tasks", "_points", "results_", "result_"}


class CertifiedMachine(ObservedFit, CheckedParameters, Estimator, DocumentedEstimator, BaseEstimator):
    """A machine trained by one certified solve for each of its problems.

    A subclass says how its data are checked (`_validate`), which problems they are (`_pose_problems`) and what a solved
    machine has (`_set_fitted_attributes`). Time, Ctrl-C, callbacks, warm starts, checkpoints and warnings are here.
    They need `tol`, `solver`, `max_iter`, `max_seconds`, `warm_start` and `verbose`: parameters, or attributes of the
    class.
    """

    _kernel: Kernel
    _solves: Solves
    _posed: Any = None  # what the points of the last fit must agree with to be started from
    results_: list[Result] = FoundBySolves("results")  # type: ignore[assignment]
    certificates_: list[Certificate] = FoundBySolves("certificates")  # type: ignore[assignment]
    result_: Result = FoundBySolves("result")  # type: ignore[assignment]
    certificate_: Certificate = FoundBySolves("certificate")  # type: ignore[assignment]
    _points: list[tuple[np.ndarray | None, Any]] = FoundBySolves("points")  # type: ignore[assignment]

    @property
    def has_results(self) -> bool:
        """Whether a fit, or the file of one, has left its results."""
        return "_solves" in vars(self) or "result_" in vars(self)

    def _parameter(self, name: str) -> Any:
        """A parameter that some machines lack: its value, or what it is for those."""
        return vars(self).get(name, ABSENT_PARAMETERS[name])

    @property
    def _feature_names(self) -> Any:
        """The names of the features of the fit; None where they had none."""
        return vars(self).get("feature_names_in_")

    # ---- the fit ------------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any = None, group: Any = None) -> Self:
        """Validate, pose, solve, read: the same for every estimator."""
        budget = Budget(self.max_seconds)
        data = self._validate(X, y, sample_weight, group)
        with nullcontext() if data.is_small else single_threaded_blas():
            problems = self._pose_problems(data)
            solves = self._count_solves(problems)
            with self._observe(*data.observed, solves) as observation:
                # A small fit is over before Ctrl-C could be of use; what is left of it for the loop is watched there.
                with nullcontext(Interrupt()) if data.is_small else watch_interrupt() as interrupt:
                    fits = self._solve(problems, budget.plan(solves, interrupt), observation)
                    self._set_fitted_attributes(problems, fits)
                    self._finish_fit(problems, budget, observation)
                self._report(problems, observation, interrupted=bool(interrupt))
        return self

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any, group: Any = None) -> TrainingSet:
        """Data that are sound; sets what follows from them alone, such as `classes_` and `n_features_in_`."""

    @abstractmethod
    def _pose_problems(self, data: Any) -> FitProblems:
        """The problems of a fit on data that are sound."""

    @abstractmethod
    def _set_fitted_attributes(self, problems: Any, fits: Any) -> None:
        """The attributes of a fitted estimator, from what `FitProblems.read` made of each result, or of all at once."""

    def _count_solves(self, problems: Any) -> int:
        """How many solves share the time budget."""
        return len(problems)

    def _finish_fit(self, problems: Any, budget: Budget, observation: Observation) -> None:
        """What a machine adds once it is fitted."""

    def pose_problems(self, X: Any, y: Any) -> FitProblems:
        """All problems of a fit, none of them solved."""
        self._validate_params()
        return self._pose_problems(self._validate(X, y, None))

    def pose_problem(self, X: Any, y: Any, number: int) -> Problem:
        """One of the problems of a fit, by its number."""
        problems = self.pose_problems(X, y)
        if not 0 <= number < len(problems):
            raise ValueError(f"number must be at least 0 and less than {len(problems)}, got {number!r}.")
        problem: Problem = problems.problem(number)
        return problem

    # ---- solving ------------------------------------------------------------------------------------------

    def _solve(self, problems: Any, budget: Budget, observation: Observation) -> Any:
        """One fit for each problem, side by side on n_jobs threads where that can be; Ctrl-C stops all of them."""
        budget.workers = self._count_workers(problems)
        solver, starts, stores = self._solver(problems), self._warm_points(problems), self._open_stores(len(problems))
        max_iter = self.max_iter if self._limits_iterations else None

        def snapshot(problem: Any, result: Result) -> dict[str, Any]:
            return self._snapshot_attributes(
                lambda fitted_copy: fitted_copy._set_fitted_attributes(problems, [problems.read(problem, result)])
            )

        plain = max_iter is None and not observation.is_watched and not any(starts)
        begun = self._solve_ahead(problems, solver, budget) if plain else {}
        if isinstance(begun, SolvedTogether) and begun.is_complete:
            return begun
        done = {k: fit for k, fit in begun.items() if fit.result.converged}
        if len(done) == len(problems):
            return [done[k] for k in range(len(problems))]
        budget.skip(len(done))

        def run(k: int) -> Any:
            if k in done:
                return done[k]
            before = begun.get(k)
            if before is None and done and budget.is_up():
                return None  # those that were solved together have used up the time
            with single_threaded_blas():
                problem = problems.problem(k)
                result = observation.solve(
                    k, problem, solver, snapshot if problems.has_snapshots else None, tol=self.tol, max_iter=max_iter,
                    max_seconds=budget.share(), warm=starts[k] if before is None else before.result.point,
                    interrupt=budget.interrupt, checkpoint=stores[k],
                )  # fmt: skip
                if before is not None:
                    result = replace(result, n_iter=before.result.n_iter + result.n_iter)
                return problems.read(problem, result)

        with watch_interrupt(flag=budget.interrupt):
            found = problems.run_all(run, budget, stores)
        fits = [done.get(k) if fit is None else fit for k, fit in enumerate(found)]
        return problems.fill_in(fits, starts, bool(budget.interrupt))

    @property
    def _limits_iterations(self) -> bool:
        """Whether max_iter is a limit."""
        return 0 <= self.max_iter < UNLIMITED_ITERATIONS

    def _count_iterations(self, n_iter: Any, converged: Any) -> Any:
        """n_iter_, less than max_iter where a problem has converged.

        LIBLINEAR and LIBSVM count to max_iter only if that came first, and programs ask n_iter_ >= max_iter.
        """
        if not self._limits_iterations or not self.max_iter:
            return n_iter
        return np.where(converged, np.minimum(n_iter, self.max_iter - 1), n_iter)

    def _solver(self, problems: Any = None) -> Any:
        """The solver, by name or as an object."""
        return self.solver

    def _solve_ahead(self, problems: Any, solver: Any, budget: Budget) -> Mapping[int, Any]:
        """Fits of problems that are solved together, by number; those that have not converged are gone on with."""
        return {}

    def _solve_anew(self, problems: Any, tol: float, budget: Budget) -> Mapping[int, Any]:
        """The same to a smaller gap, where that takes less time than to go on with each problem from where it is."""
        return {}

    def _count_workers(self, problems: FitProblems) -> int:
        """Threads for the problems: n_jobs, or all cores up to STRIPS; one within a thread of the caller's."""
        if not problems.side_by_side:
            return 1
        wanted, own = self._parameter("n_jobs"), CORES if is_main() else 1
        return min(own if wanted is None else effective_n_jobs(wanted), len(problems), STRIPS)

    def _open_stores(self, count: int) -> list[CheckpointFile | None]:
        """Where the state of each problem is kept: the checkpoint itself, or one file beside it for each of several."""
        checkpoint = self._parameter("checkpoint")
        if checkpoint is None:
            return [None] * count
        path = Path(checkpoint)
        paths = [path] if count == 1 else [path.with_name(f"{path.stem}-{k}{path.suffix}") for k in range(count)]
        return [CheckpointFile(each) for each in paths]

    # ---- warm starts --------------------------------------------------------------------------------------

    def _warm_start_key(self) -> tuple[Any, ...]:
        """What a point must agree with to be started from."""
        return ()

    def _warm_points(self, problems: Any) -> list[Any]:
        """The points of the last fit where they are of problems like these, else nothing."""
        last, count = self._points if self.warm_start and self.has_results else None, len(problems)
        if last is None or len(last) != count or self._posed != self._warm_start_key():
            return [None] * count
        same = all(has_same_rows(index, before) for index, (before, _) in zip(problems.indices, last, strict=True))
        return [point for _, point in last] if same else [None] * count

    def _keep_results(
        self, indices: Sequence[np.ndarray | None], results: Sequence[Result], finished: bool | None = None
    ) -> None:
        """results_, certificates_, the worst of both, and the points from which a warm fit starts."""
        for name in OF_EARLIER_FITS & self.__dict__.keys():
            del self.__dict__[name]
        self._solves, self._posed = Solves(results, indices, finished), self._warm_start_key()

    # ---- pickles and copies -------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle keeps: the machine and how good it is, and nothing of the size of the training data.

        A warm fit from a pickle starts anew; `maxmargin.save` keeps the duals from which it would go on.
        """
        state = {name: value for name, value in vars(self).items() if name not in NOT_PICKLED}
        if results := self._list_results():
            state["_kept_results"] = pack_results(results)
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # an earlier version may have had fewer parameters
        self.__dict__.update({**read_defaults(type(self)), **state})
        if (kept := self.__dict__.pop("_kept_results", None)) is not None:
            self._restore_results(unpack_results(kept))

    def __copy__(self) -> Self:
        """A copy in memory has all that the machine has, points included."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = memo[id(self)] = type(self).__new__(type(self))
        twin.__dict__.update(deepcopy(self.__dict__, memo))
        return twin

    def _list_results(self) -> Sequence[Result]:
        """The results of the last fit; none where a file had certificates alone, and before a fit."""
        solves = vars(self).get("_solves")
        return [] if solves is None else solves.given

    def _restore_results(self, results: list[Result]) -> None:
        """Take results without points as those of the last fit."""
        self._solves = Solves(results, [None] * len(results))

    # ---- what is said of the fit --------------------------------------------------------------------------

    def _report(self, problems: FitProblems, observation: Observation, interrupted: bool) -> None:
        """Refuse what is not finite, warn once if the tolerance was not reached, and pass on Ctrl-C."""
        self._check_finite()
        observation.close()
        self._summarise(observation)
        if interrupted:
            raise KeyboardInterrupt
        if failed := self._list_failed():
            warn_user(self._explain(failed, problems), ConvergenceWarning)

    def _list_failed(self) -> list[Result]:
        """The results that did not end as they should."""
        return self._solves.failed

    def _check_finite(self) -> None:
        """Refuse a machine of numbers that are not finite."""

    def _explain(self, failed: list[Result], problems: Any) -> str:
        """One message: why the solver stopped, how far from optimal it is, and what to do."""
        result = find_worst(failed)
        gap, known = result.certificate.relative_gap, f"tol={self.tol:g} is not certified"
        if gap < np.inf:
            known = f"The certified relative gap is {gap:.2g}, tol is {self.tol:g}"
        where = f" in {len(failed)} of {len(self.results_)} binary problems" if len(self.results_) > 1 else ""
        remedy = suggest_remedy(problems.X, self._kernel, result, self._parameter("C"), self._feature_names)
        return f"{self._warning_prefix(result)}{result.message} {known}{where}. {remedy}"

    def _warning_prefix(self, result: Result) -> str:
        """What scikit-learn says in such a case, if users may know it."""
        return ""


def has_same_rows(index: np.ndarray | None, before: np.ndarray | None) -> bool:
    """Whether two problems are over the same rows; rows in blocks have no numbers, and older files none of them."""
    if index is None or before is None:
        return index is None and (before is None or len(before) == 0)
    return np.array_equal(index, before)
