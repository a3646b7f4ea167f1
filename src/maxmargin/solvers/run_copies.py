"""Copies of runs, to be asked for their points while the runs themselves go on."""

from __future__ import annotations

import copy

from ..contracts.solvers import Run
from ..model.problem import Problem


def copy_run(problem: Problem, run: Run) -> Run:
    """A copy of the run, to be asked for its point: that may end what the run is at, such as a barrier.

    The copy shares the problem and its data. A run that is `still` is not changed by the question. Runs over blocks and
    structures hold more than can be copied. Both are asked themselves.
    """
    if problem.traits.form != "memory" or run.still:
        return run
    owners = [problem, problem.features, problem.features.samples]
    shared = [part for owner in owners if owner is not None for part in (owner, *vars(owner).values())]
    return copy.deepcopy(run, {id(part): part for part in shared})
