"""Which solver takes a problem: the rule behind solver="auto", and the sentence that explains it.

Measured on two cores at C = 1, seconds to a certified relative gap of 1e-6 (`python -m benchmarks linear_fits`):

    hinge, dense, 3 to 54 features, 50,000 to 580,000 rows: multipliers 0.06 to 2.5, interior point 3 to 10 times that
    hinge, sparse, 15 to 200 entries per row: coordinate, then multipliers: 0.3 to 0.8; multipliers alone 0.5 to
        8, coordinate alone 0.3 to 1.5
    squared hinge, up to 784 features: Newton 0.02 to 2.6, coordinate 5 to 100 times that
    squared hinge, 55,000 features: coordinate 0.05 to 0.1, Newton 2 to 3
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ..blocks.problem import BlockProblem
from ..contracts.solvers import Solver
from ..contracts.traits import FORM_PHRASES
from ..model.problem import Problem
from ..structures.examples import count_jobs
from ..structures.problem import StructuredProblem
from .automatic import Automatic
from .newton.blocks import BLOCK_MATRIX_MAX_FEATURES
from .newton.feature_space import FeatureSpace
from .newton.kernel_interior_point import KernelInteriorPoint
from .newton.system import NORMAL_MATRIX_MAX_FEATURES
from .registry import (
    SMO,
    SOLVERS,
    Bundle,
    ClassCoordinate,
    ClassNewton,
    Coordinate,
    FrankWolfe,
    GradientDescent,
    InteriorPoint,
    Multipliers,
    Newton,
    ProximalNewton,
    StructuredBundle,
    VectorRidge,
)
from .smo import is_small

AnyProblem = Problem | BlockProblem | StructuredProblem

HANDOVER_GAP = 3e-5  # relative gap at which coordinate descent hands a kinked loss over to the method of multipliers
COORDINATE_UPDATES_PER_SAMPLE = 600.0  # updates per sample that coordinate descent has for that
CLASS_COORDINATE_MAX_PASSES = 200.0  # over the samples that coordinate descent over classes has before cuts are tried
CUTTING_PLANE_MAX_COORDINATES = 200_000  # coordinates of all classes up to which hundreds of cuts are kept
# Updates that coordinate descent has where no other solver is in reserve: per sample, or in all if that is more.
LAST_UPDATES_PER_SAMPLE = 2000.0
LAST_UPDATES_TOTAL = 5e6
# Steps that SMO has before another solver takes over, the largest of: so many per sample; as many as update so many
# scores, which takes less than a tenth of a second; and what the other solver would take, which is so many times the
# square of the features for Newton steps, or so many times the entries of the kernel matrix for interior point.
PAIR_STEPS_PER_SAMPLE = 20
PAIR_SCORE_UPDATES = 1e8
PAIR_STEPS_PER_SQUARED_FEATURE = 4
PAIR_STEPS_PER_KERNEL_ENTRY = 0.5


class Stage(NamedTuple):
    """A solver, the gap it is to reach, why it was chosen, and whether its points lose less by rounding than others."""

    solver: Solver
    tol: float
    reason: str
    smaller_rounding: bool = False


def plan(
    problem: AnyProblem, solver: str | Solver | Automatic = "auto", tol: float = 1e-3, warm: bool = False
) -> list[Stage]:
    """The solvers that take the problem one after the other: one, unless solver="auto" has others in reserve."""
    if isinstance(solver, str) and solver == "auto":
        solver = Automatic()
    if isinstance(solver, Automatic):
        proposed = propose(problem, tol, warm, solver.smo)
        stages = [stage for stage in proposed if stage.solver.accepts(problem) is None]
        if stages:
            return stages
        solver = "smo"
    solver = make_solver(solver)
    reason = refuse_form(problem, solver) or solver.accepts(problem)
    if reason is not None:
        raise ValueError(reason)
    return [Stage(solver, tol, "it was asked for")]


def make_solver(solver: str | Solver) -> Solver:
    """The solver of a name, or the object that was given."""
    if isinstance(solver, Solver):
        return solver
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise ValueError(f"solver must be 'auto', one of {sorted(SOLVERS)} or a solver object, got {solver!r}.")
    return SOLVERS[solver]()


def refuse_form(problem: AnyProblem, solver: Solver) -> str | None:
    """Why a solver cannot take data in blocks or structured outputs, and which ones can; or None."""
    form = problem.traits.form
    if form == "memory" or form in solver.forms:  # of data in memory each solver says itself
        return None
    able = sorted(name for name, each in SOLVERS.items() if form in each.forms)
    return f"solver {solver.name!r} does not take {FORM_PHRASES[form]}; use one of {able}."


def propose(problem: Any, tol: float, warm: bool, smo: SMO) -> list[Stage]:
    """The rule: where the data live, one score or several, a kernel or none; then what the loss is like."""
    traits = problem.traits
    if traits.form == "blocks":
        return propose_for_blocks(problem, tol)
    if traits.form == "structures":
        return propose_for_structures(problem, tol)
    if traits.joint:
        return [Stage(Bundle(), tol, f"{traits.loss} is a loss of all scores at once")]
    if traits.vector:
        return propose_for_classes(problem, tol)
    if not traits.linear and not traits.piecewise:
        reason = f"the features have a kernel, and {traits.loss} is not a piecewise loss"
        return [Stage(GradientDescent("nesterov"), tol, reason)]
    if not traits.linear:
        return propose_for_kernel(problem, tol, smo)
    return propose_for_linear(problem, tol, warm)


def propose_for_linear(problem: Problem, tol: float, warm: bool) -> list[Stage]:
    """A linear machine of one score per sample: smooth or kinked, few features or many, dense or sparse."""
    traits = problem.traits
    name, d, sparse = traits.loss, traits.d, traits.sparse
    size = f"{traits.n} samples of {d} features{', sparse' if sparse else ''}"
    if traits.penalty != "l2":
        return [Stage(ProximalNewton(), tol, "the penalty |w|_1 has kinks too")]
    second_order = [Stage(InteriorPoint(), tol, "its number of steps hardly depends on the data")]
    patient = [Stage(Coordinate(effort=choose_last_effort(problem)), tol, "it always makes progress")]
    if not traits.piecewise:
        return [Stage(Newton(), tol, f"{name} is smooth")]
    if not traits.kinked and d <= NORMAL_MATRIX_MAX_FEATURES:
        reason = f"{name} is smooth and the equations of {d} features are solved fast ({size})"
        return [Stage(Newton(), tol, reason), *patient]
    if not traits.kinked:
        return [
            Stage(Coordinate(effort=COORDINATE_UPDATES_PER_SAMPLE), tol, f"{size} are too many for a matrix"),
            Stage(Newton(), tol, ""),
        ]
    if d <= NORMAL_MATRIX_MAX_FEATURES and (warm or not sparse):
        reason = f"{name} has a kink and {size} leave few rows at the kink"
        others = [*patient, *second_order] if sparse else [*second_order, *patient]
        return [Stage(Multipliers(hasty=True), tol, reason), *others]
    first = Stage(
        Coordinate(effort=COORDINATE_UPDATES_PER_SAMPLE, onward_tol=tol),
        max(tol, HANDOVER_GAP),
        f"{name} has a kink and {size} make passes cheap",
    )
    return [first, Stage(Multipliers(hasty=True), tol, "few duals are still free"), *second_order, *patient]


def propose_for_blocks(problem: BlockProblem, tol: float) -> list[Stage]:
    """Second order where a matrix of the features is small, cuts else, and in reserve."""
    traits = problem.traits
    cuts = Stage(Bundle(), tol, f"a cut of {traits.d} features is all that a block has to return")
    if traits.vector or traits.d > BLOCK_MATRIX_MAX_FEATURES:
        return [cuts]
    reason = f"blocks return matrices of {traits.d + 1} x {traits.d + 1} numbers"
    return [Stage(Multipliers() if traits.kinked else Newton(), tol, reason), cuts]


def propose_for_structures(problem: StructuredProblem, tol: float) -> list[Stage]:
    """Steps for each sample, and cuts in reserve, which alone can ask an oracle in several processes.

    Measured on 6,251 handwritten words to a gap of 1e-3, in seconds of processor time: the Frank-Wolfe method took
    2, 6 and 36 at C = 0.01, 0.1 and 1, level bundles 8 and 21 at C = 0.01 and 0.1.
    """
    cuts = Stage(StructuredBundle(), tol, "it calls the oracle for all samples at once")
    if not problem.examples.packed and count_jobs(problem.examples.n_jobs) > 1:
        return [cuts]
    return [Stage(FrankWolfe(), tol, f"each of {problem.n} samples has its own step"), cuts]


def propose_for_kernel(problem: Problem, tol: float, smo: SMO) -> list[Stage]:
    """SMO; where it takes long, the space of the features of a linear kernel, or interior point in the duals."""
    features: Any = problem.features  # a KernelMatrix
    pairs = Stage(smo, tol, "the features have a kernel")
    inner = [Multipliers(hasty=True), InteriorPoint()] if problem.traits.kinked else [Newton()]
    inner = inner[::-1] if features.small else inner
    reason = "the kernel is linear and the features are few"
    taken = [solver for solver in map(FeatureSpace, inner) if solver.accepts(problem) is None]
    spaces = [Stage(solver, tol, reason, smaller_rounding=features.offset == 0.0) for solver in taken]
    duals = Stage(KernelInteriorPoint(), tol, "the samples are few")
    if duals.solver.accepts(problem) is not None:
        tried = spaces and is_small(features)
        first = (
            [pairs._replace(solver=replace(smo, effort=min(smo.effort, PAIR_SCORE_UPDATES / problem.n)))]
            if tried
            else []
        )
        return [*first, *spaces, pairs]
    limits = [PAIR_STEPS_PER_SAMPLE * problem.n, PAIR_SCORE_UPDATES / problem.n]
    limits.append(
        PAIR_STEPS_PER_SQUARED_FEATURE * features.samples.d**2 if spaces else PAIR_STEPS_PER_KERNEL_ENTRY * problem.n**2
    )
    limited = pairs._replace(solver=replace(smo, effort=min(smo.effort, max(limits))))
    return [limited, *spaces, duals, limited]


def propose_for_classes(problem: Problem, tol: float) -> list[Stage]:
    """Many classes at once: Newton for softmax, blocks of coordinates for the multiclass hinge."""
    traits = problem.traits
    cuts = Stage(Bundle(), tol, f"{traits.loss} is given by its cuts")
    if traits.structure == "quadratic":
        return [Stage(VectorRidge(), tol, f"{traits.loss} is quadratic"), cuts]
    if traits.structure == "softmax":
        return [Stage(ClassNewton(), tol, f"{traits.loss} is smooth")]
    if traits.structure != "simplex":
        return [cuts]
    reason = f"{traits.loss} is a simplex for each row"
    last = Stage(ClassCoordinate(effort=choose_last_effort(problem)), tol, reason)
    if traits.n_scores * traits.d > CUTTING_PLANE_MAX_COORDINATES:
        return [last]
    return [last._replace(solver=ClassCoordinate(effort=CLASS_COORDINATE_MAX_PASSES)), cuts, last]


def choose_last_effort(problem: Problem) -> float:
    """Updates per sample of a solver with none in reserve: many, and yet an end comes whatever the data are."""
    return max(LAST_UPDATES_PER_SAMPLE, LAST_UPDATES_TOTAL / problem.n)


def explain(problem: AnyProblem, solver: str | Solver = "auto", tol: float = 1e-3) -> str:
    """Which solver takes the problem, and why.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name, or a solver object
    tol : float
        The relative gap to reach, on which the choice depends too.

    Returns
    -------
    str

    See Also
    --------
    solve : Solves the problem.
    diagnose : Time and memory of a fit.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import explain
    >>> from maxmargin.model.features import Design
    >>> from maxmargin.model.losses import Hinge
    >>> from maxmargin.model.problem import Problem
    >>> from maxmargin.model.samples import wrap
    >>> X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    >>> problem = Problem(Design(wrap(X)), y, np.ones(4), Hinge())
    >>> explain(problem, "multipliers")[:11]
    'multipliers'
    """
    first, *others = plan(problem, solver, tol)
    sentence = f"{first.solver.name}, because {first.reason}"
    if first.tol > tol:
        sentence += f", to a gap of {first.tol:g}; then {others[0].solver.name}, because {others[0].reason}"
        others = others[1:]
    if others:
        sentence += f"; if it stalls: {', then '.join(stage.solver.name for stage in others)}"
    return sentence + "."
