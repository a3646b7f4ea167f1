"""What every estimator has to say of its fit: certificates, results, points to start from, and one warning."""

from __future__ import annotations

import warnings

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..certificates.in_memory import Certificate, worst
from ..contracts.estimators import Estimator
from ..insight.diagnosis import suggest_remedy
from ..model.problem import Point
from ..runtime.threads import CORES, STRIPS, is_main
from ..solvers.result import Result, Status
from .observers import Observation, ObservedFit
from .tasks import Task


class CertifiedMachine(ObservedFit, Estimator, BaseEstimator):
    """A machine trained by one certified solve for each task."""

    def _count_workers(self, tasks: list[Task]) -> int:
        """Threads for the tasks: n_jobs, or all cores up to STRIPS; one where a thread of the caller's is at work."""
        wanted, own = getattr(self, "n_jobs", None), CORES if is_main() else 1
        return min(own if wanted is None else effective_n_jobs(wanted), len(tasks), STRIPS)

    def _warm_points(self, tasks: list[Task]) -> list[Point | None]:
        """The points of the last fit where they fit these tasks, else nothing."""
        last = getattr(self, "_points", None) if self.warm_start else None
        fits = last is not None and len(last) == len(tasks) and self._posed == self._warm_start_key()
        fits = fits and all(np.array_equal(task.index, index) for task, (index, _) in zip(tasks, last, strict=True))
        return [point for _, point in last] if fits else [None] * len(tasks)

    def _keep_results(self, tasks: list[Task], results: list[Result]) -> None:
        """results_, certificates_, the worst of both, and the points from which a warm fit starts."""
        self.__dict__.pop("data_hash_", None)  # of the data of an earlier fit, from a file
        self.results_ = results
        self.certificates_ = [result.certificate for result in results]
        self.certificate_: Certificate = worst(self.certificates_)
        self.result_ = find_worst(results)
        self._posed = self._warm_start_key()
        self._points = [(task.index, result.point) for task, result in zip(tasks, results, strict=True)]

    def _report(self, X, observation: Observation, interrupted: bool) -> None:
        """Refuse what is not finite, warn once if the tolerance was not reached, and pass on Ctrl-C."""
        self._check_finite()
        observation.close()
        self._summarise(observation)
        if interrupted:
            raise KeyboardInterrupt
        failed = [result for result in self.results_ if result.status not in (Status.CONVERGED, Status.STOPPED)]
        if failed:
            warnings.warn(self._explain(failed, X), ConvergenceWarning, stacklevel=5)

    def _explain(self, failed: list[Result], X) -> str:
        """One message: why the solver stopped, how far from optimal it is, and what to do."""
        result = find_worst(failed)
        gap, known = result.certificate.relative_gap, f"tol={self.tol:g} is not certified"
        if gap < np.inf:
            known = f"The certified relative gap is {gap:.2g}, tol is {self.tol:g}"
        where = f" in {len(failed)} of {len(self.results_)} binary problems" if len(self.results_) > 1 else ""
        remedy = suggest_remedy(X, self._kernel, result, getattr(self, "C", None))
        return f"{self._warning_prefix(result)}{result.message} {known}{where}. {remedy}"

    def _warning_prefix(self, result: Result) -> str:
        """What scikit-learn says in such a case, if users may know it."""
        return ""


def find_worst(results: list[Result]) -> Result:
    """The result with the largest gap; those that had no time to begin share theirs, and are looked at once."""
    distinct = {id(result): result for result in results}.values()
    return max(distinct, key=lambda result: result.certificate.relative_gap)
