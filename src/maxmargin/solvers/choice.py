"""Which solver takes a problem: the rule behind solver="auto", and the sentence that explains it.

Measured on two cores at C = 1, seconds to a certified relative gap of 1e-6 (`python -m benchmarks linear_fits`):

    hinge, dense, 3 to 54 features, 50,000 to 580,000 rows: multipliers 0.06 to 2.5, interior point 3 to 10 times that
    hinge, sparse, 15 to 200 entries a row: coordinate to 1e-5, then multipliers: 0.3 to 0.8; multipliers alone 0.5 to
        8, coordinate alone 0.3 to 1.5
    squared hinge, up to 784 features: Newton 0.02 to 2.6, coordinate 5 to 100 times that
    squared hinge, 55,000 features: coordinate 0.05 to 0.1, Newton 2 to 3
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ..model.features import ClassDesign, Design, Gram
from ..model.problem import Problem
from ..model.samples import Sparse
from .newton.feature_space import FeatureSpace
from .newton.kernel_interior_point import KernelInteriorPoint
from .newton.system import NORMAL_MATRIX_MAX_FEATURES
from .registry import SMO, SOLVERS, Coordinate, InteriorPoint, Multipliers, Newton
from .smo import is_small

HANDOVER_GAP = 1e-5  # relative gap at which coordinate descent hands a kinked loss over to the method of multipliers
CLASS_COORDINATE_MAX_PASSES = 200.0  # over the samples that coordinate descent over classes has before cuts are tried
CUTTING_PLANE_MAX_COORDINATES = 200_000  # coordinates of all classes up to which hundreds of cuts are kept
COORDINATE_UPDATES_PER_SAMPLE = 600.0  # updates a sample that coordinate descent has for that
LAST_UPDATES_PER_SAMPLE, LAST_UPDATES_TOTAL = (
    2000.0,
    5e6,
)  # updates a sample, or in all, that it has where no other solver waits
# per sample that SMO has where a linear kernel can be solved in the space of its features instead,
PAIR_STEPS_PER_SAMPLE = 20
PAIR_SCORE_UPDATES = 1e8  # or so many scores, if that is more: less than a tenth of a second,
# or times the square of the features, which is what Newton steps would take in its place
PAIR_STEPS_PER_SQUARED_FEATURE = 4
PAIR_STEPS_PER_KERNEL_ENTRY = 0.5  # of the kernel matrix, which is what interior point would take


@dataclass(frozen=True)
class Automatic:
    """solver="auto" of an estimator that has settings for SMO."""

    smo: SMO = field(default_factory=SMO)


class Stage(NamedTuple):
    """A solver, the gap it is to reach, why it was chosen, and whether its points lose less by rounding than others."""

    solver: object
    tol: float
    reason: str
    smaller_rounding: bool = False


def plan(problem: Problem, solver="auto", tol: float = 1e-3, warm: bool = False) -> list[Stage]:
    """The solvers that take the problem one after the other: one, unless solver="auto" has others in reserve."""
    if isinstance(solver, str) and solver == "auto":
        solver = Automatic()
    if isinstance(solver, Automatic):
        proposed = propose(problem, tol, warm, solver.smo)
        stages = [stage for stage in proposed if stage.solver.accepts(problem) is None]
        if stages:
            return stages
        solver = "smo"
    if isinstance(solver, str):
        if solver not in SOLVERS:
            raise ValueError(f"solver must be 'auto', one of {sorted(SOLVERS)} or a solver object, got {solver!r}.")
        solver = SOLVERS[solver]()
    reason = refuse_form(problem, solver) or solver.accepts(problem)
    if reason is not None:
        raise ValueError(reason)
    return [Stage(solver, tol, "it was asked for")]


def refuse_form(problem, solver) -> str | None:
    """Why a solver cannot take data of this form, or None: in memory, in blocks, or structures."""
    form = getattr(problem, "form", "memory")
    if form == "memory" or form in getattr(solver, "forms", ("memory",)):  # of data in memory each solver says itself
        return None
    able = sorted(name for name, each in SOLVERS.items() if form in getattr(each, "forms", ("memory",)))
    what = {"blocks": "data in blocks", "structures": "structured outputs"}[form]
    return f"solver {get_solver_name(solver)!r} does not take {what}; use one of {able}."


def propose(problem: Problem, tol: float, warm: bool, smo: SMO) -> list[Stage]:
    """The rule: kernels, classes, smooth or kinked, few features or many, dense or sparse, in that order."""
    if hasattr(problem, "suggest"):
        return [Stage(SOLVERS[name](), tol, reason) for name, reason in problem.suggest(tol, warm)]
    features = problem.features
    if problem.terms.joint:
        return [Stage(SOLVERS["bundle"](), tol, f"{problem.loss.name} is a loss of all scores at once")]
    if isinstance(features, ClassDesign):
        return propose_for_classes(problem, tol)
    if not isinstance(features, Design) and problem.row is None:
        reason = f"the features have a kernel, and {problem.loss.name} is no piecewise loss"
        return [Stage(SOLVERS["gradient_descent"]("nesterov"), tol, reason)]
    if not isinstance(features, Design):
        return propose_for_kernel(problem, tol, smo)
    d, sparse, kinked = features.samples.d, isinstance(features.samples, Sparse), problem.kinked
    size = f"{problem.n} samples of {d} features{', sparse' if sparse else ''}"
    name = problem.loss.name
    if features.penalty != "l2":
        return [Stage(SOLVERS["proximal_newton"](), tol, "the penalty |w|_1 has kinks of its own")]
    second_order = [Stage(InteriorPoint(), tol, "steps that do not depend on how rows lie on one another")]
    patient = [Stage(Coordinate(effort=choose_last_effort(problem)), tol, "it cannot go astray")]
    if problem.row is None:
        return [Stage(Newton(), tol, f"{name} is smooth")]
    if not kinked and d <= NORMAL_MATRIX_MAX_FEATURES:
        reason = f"{name} is smooth and the equations of {d} features are quickly solved ({size})"
        return [Stage(Newton(), tol, reason), *patient]
    if not kinked:
        return [
            Stage(Coordinate(effort=COORDINATE_UPDATES_PER_SAMPLE), tol, f"{size} are too many for a matrix"),
            Stage(Newton(), tol, ""),
        ]
    if d <= NORMAL_MATRIX_MAX_FEATURES and (warm or not sparse):
        reason = f"{name} has a kink and {size} leave few rows on it"
        others = [*patient, *second_order] if sparse else [*second_order, *patient]
        return [Stage(Multipliers(hasty=True), tol, reason), *others]
    first = Stage(
        Coordinate(effort=COORDINATE_UPDATES_PER_SAMPLE),
        max(tol, HANDOVER_GAP),
        f"{name} has a kink and {size} make cheap passes",
    )
    return [first, Stage(Multipliers(hasty=True), tol, "few duals are still free"), *second_order, *patient]


def propose_for_kernel(problem: Problem, tol: float, smo: SMO) -> list[Stage]:
    """SMO; where it takes long, the space of the features of a linear kernel, or interior point in the duals."""
    pairs, features = Stage(smo, tol, "the features have a kernel"), problem.features
    inner = [Multipliers(hasty=True), InteriorPoint()] if problem.kinked else [Newton()]
    inner = inner[::-1] if features.small else inner
    reason = "the kernel is linear and the features are few"
    taken = [solver for solver in map(FeatureSpace, inner) if solver.accepts(problem) is None]
    spaces = [Stage(solver, tol, reason, smaller_rounding=features.offset == 0.0) for solver in taken]
    duals = Stage(KernelInteriorPoint(), tol, "the samples are few")
    if duals.solver.accepts(problem) is not None:
        tried = spaces and type(features) is Gram and is_small(features)
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
    cuts = Stage(SOLVERS["bundle"](), tol, f"{problem.loss.name} is known by its cuts")
    if problem.loss.name == "multivariate":
        return [Stage(SOLVERS["vector_ridge"](), tol, "multivariate is quadratic"), cuts]
    if not getattr(problem.loss, "plain", True):
        return [cuts]
    smooth = problem.loss.name == "softmax"
    name = "class_newton" if smooth else "class_coordinate"
    reason = f"{problem.loss.name} is {'smooth' if smooth else 'a simplex for each row'}"
    if smooth:
        return [Stage(SOLVERS[name](), tol, reason)]
    last = Stage(SOLVERS[name](effort=choose_last_effort(problem)), tol, reason)
    if problem.features.n_classes * problem.features.samples.d > CUTTING_PLANE_MAX_COORDINATES:
        return [last]
    return [last._replace(solver=SOLVERS[name](effort=CLASS_COORDINATE_MAX_PASSES)), cuts, last]


def choose_last_effort(problem: Problem) -> float:
    """Updates a sample of a solver behind which none waits: many, and yet an end comes whatever the data are."""
    return max(LAST_UPDATES_PER_SAMPLE, LAST_UPDATES_TOTAL / problem.n)


def explain(problem: Problem, solver="auto", tol: float = 1e-3) -> str:
    """Which solver takes the problem and why, in a sentence.

    Parameters
    ----------
    problem : Problem
    solver : "auto", a name, or a solver object
    tol : float
        The relative gap to reach, which has a say in the choice.

    Returns
    -------
    str
    """
    first, *others = plan(problem, solver, tol)
    sentence = f"{get_solver_name(first.solver)}, because {first.reason}"
    if first.tol > tol:
        sentence += f", to a gap of {first.tol:g}; then {get_solver_name(others[0].solver)}, because {others[0].reason}"
        others = others[1:]
    if others:
        sentence += (
            f"; in reserve, should it stall: {', then '.join(get_solver_name(stage.solver) for stage in others)}"
        )
    return sentence + "."


def get_solver_name(solver) -> str:
    """The name of a solver as in the registry."""
    return getattr(solver, "name", type(solver).__name__.lower())
