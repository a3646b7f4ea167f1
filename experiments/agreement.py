"""Who solves the same problem, and how far P of each of them lies above the best lower bound of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from .fits import Measured, Setting, Task, measure
from .page import Table, Text

GROUPS = {
    "agreement_primal": ("linear machines, intercept regularised", "linear", "regularised", False),
    "agreement_squared": ("linear machines, squared losses, intercept regularised", "linear", "regularised", True),
    "agreement_linear": ("linear kernel, intercept free", "linear", "free", False),
    "agreement_kernels_free": ("polynomial and Gaussian kernel, intercept free", None, "free", False),
    "agreement_kernels": ("polynomial and Gaussian kernel, intercept regularised", None, "regularised", False),
}
REFERENCES = ("default", "cvxopt")  # measured for every problem whose loss is not squared
ORDER = ("default", "smo", "augmented", "cvxopt", "libsvm", "liblinear", "adagrad", "gd", "lagrangian")
NAMES = {"lagrangian": "plain Lagrangian", "augmented": "augmented Lagrangian"}


@dataclass(frozen=True)
class Comparison:
    """A problem, the best D of every fold, and by how much P of each solver exceeds it, relatively, at worst."""

    task: Task
    bounds: tuple[float, ...]
    excess: dict[str, float]


def compare(measured: dict[Setting, Measured]) -> list[Comparison]:
    """P - D of the best certificate, over max(|P|, |D|), the worst fold: one comparison for each problem.

    Parameters
    ----------
    measured : dict of Setting to Measured

    Returns
    -------
    list of Comparison
    """
    comparisons = []
    for task in dict.fromkeys(setting.task for setting in measured):
        rivals = {setting: each for setting, each in measured.items() if setting.task == task}
        bounds = tuple(max(duals) for duals in zip(*(each.duals for each in rivals.values()), strict=True))
        excess = {name_solver(setting): exceed(each, bounds) for setting, each in rivals.items()}
        comparisons.append(Comparison(task, bounds, excess))
    return comparisons


def exceed(each: Measured, bounds: tuple[float, ...]) -> float:
    """The difference that is largest by its size, over max(|P|, |D|); below zero it would contradict weak duality."""
    pairs = zip(each.primals, bounds, strict=True)
    return max(((P - D) / max(abs(P), abs(D), 1e-300) for P, D in pairs), key=abs)


def name_solver(setting: Setting) -> str:
    """The solver, with its momentum."""
    name = NAMES.get(setting.solver, setting.solver)
    return f"{name} {setting.momentum}" if setting.momentum else name


def list_missing(settings: list[Setting]) -> list[Setting]:
    """The references that no table has: problems of the Lagrangian tables that no other reference solves."""
    tasks = dict.fromkeys(setting.task for setting in settings)
    wanted = [Setting(task, solver) for task in tasks if "squared" not in task.loss for solver in REFERENCES]
    return [setting for setting in wanted if setting not in set(settings)]


def count_agreements(settings: list[Setting], quick: bool) -> int:
    """How often `write_agreement` calls `tick`."""
    return len(list_missing(settings))


def write_agreement(settings: list[Setting], quick: bool, tick: Callable[[str], None]) -> list:
    """Tables of how far P of every solver is above the best D, and what follows."""
    for setting in list_missing(settings):
        tick(f"agreement: {setting.solver}, {setting.task.kernel}, C = {setting.task.C:g}")
        measure(setting)
    measured = {setting: measure(setting) for setting in [*settings, *list_missing(settings)]}
    comparisons = compare(measured)
    tables = [make_table(name, comparisons) for name in GROUPS]
    return [Text(INTRODUCTION), *tables, Text(summarise(comparisons, measured))]


INTRODUCTION = """
Whether solvers agree cannot be seen from scores alone: different machines may have the same. The next tables put
side by side everyone who solves the same problem. A cell is how far P of that solver lies above the best lower bound D
that any of them certifies, relative to its size, in the worst of the three folds. A negative number would contradict
weak duality: one solver's objective below another's bound. cvxopt and scikit-learn share no line of code with SMO.
"""


def make_table(name: str, comparisons: list[Comparison]) -> Table:
    """One table: a problem in each row, a solver in each column."""
    title, kernel, intercept, squared = GROUPS[name]
    chosen = [
        each
        for each in comparisons
        if (each.task.kernel == "linear") == (kernel == "linear")
        and each.task.intercept == intercept
        and ("squared" in each.task.loss) == squared
    ]
    solvers = sorted({solver for each in chosen for solver in each.excess}, key=place_solver)
    columns = ["data", "kernel", "C", "epsilon", "D", *(f"excess of P over D: {solver}" for solver in solvers)]
    rows = [
        [each.task.data, each.task.kernel, int(each.task.C), each.task.epsilon, sum(each.bounds) / len(each.bounds)]
        + [each.excess.get(solver) for solver in solvers]
        for each in chosen
    ]
    return Table(name, f"<b>Agreement</b>: {title}. D is the mean over the folds.", columns, rows)


def place_solver(solver: str) -> tuple[int, str]:
    """The place of a solver in ORDER."""
    plain = {shown: name for name, shown in NAMES.items()}.get(solver, solver.split()[0])
    return ORDER.index(plain), solver


def summarise(comparisons: list[Comparison], measured: dict[Setting, Measured]) -> str:
    """What the tables of agreement say, as sentences."""
    lowest = min(value for each in comparisons for value in each.excess.values())
    found = {solver: collect(comparisons, solver) for solver in ("default", "cvxopt", "libsvm", "liblinear")}
    lines = [
        f"No P lies below a bound D of another solver by more than rounding: the lowest of all differences is "
        f"{lowest:.1e}.",
        "Above the best bound, at worst and in the median: "
        + "; ".join(f"{solver} {max(values):.2g} and {median(values):.2g}" for solver, values in found.items())
        + ".",
        describe_capped(measured),
        describe_plain(comparisons, measured),
    ]
    return "\n\n".join(line for line in lines if line)


def collect(comparisons: list[Comparison], solver: str) -> list[float]:
    """The excess of a solver on all problems that it solves."""
    return [each.excess[solver] for each in comparisons if solver in each.excess]


def describe_capped(measured: dict[Setting, Measured]) -> str:
    """Which rows of scikit-learn ended at a limit, and how far off those are that did not."""
    theirs = [each for setting, each in measured.items() if setting.solver in ("libsvm", "liblinear")]
    capped = [each.gap for each in theirs if each.end != "done"]
    ended = [each.gap for each in theirs if each.end == "done"]
    if not capped or not ended:
        return ""
    return (
        f"{len(capped)} of {len(theirs)} rows of scikit-learn ended at their limit of iterations in at least one fold, "
        f"with gaps of {min(capped):.2g} to {max(capped):.2g}. Where LIBSVM and LIBLINEAR stop by their own rules, "
        f"their gap is {max(ended):.2g} at worst and {median(ended):.2g} in the median. These rules bound what a score "
        f"may violate, and P counts a violation C times: a fit at C = 100 whose P is small is off the most."
    )


def describe_plain(comparisons: list[Comparison], measured: dict[Setting, Measured]) -> str:
    """How far the plain Lagrangian dual is off, and why."""
    plain = [each for setting, each in measured.items() if setting.solver == "lagrangian"]
    excess = collect(comparisons, NAMES["lagrangian"])
    if not plain:
        return ""
    residuals = [each.residual for each in plain if each.residual is not None]
    reached = sum(each.gap <= 1e-3 for each in plain)
    text = (
        f"The plain Lagrangian dual reaches a gap of 1e-3 in {reached} of {len(plain)} rows; the median excess of its "
        f"P over the best D is {median(excess):.2g}, relative to P."
    )
    if residuals:
        text += (
            f" The residual of its last linear system, |Q v - r| / |r|, is {min(residuals):.2f} to "
            f"{max(residuals):.2f}: where Q is singular and the multipliers lead out of its range, the inner problem "
            f"has no minimum, and MINRES answers with a least-squares solution that minimises nothing. The augmented "
            f"Lagrangian adds the squares that make the inner minimum finite, and ends at the Wolfe optimum."
        )
    return text
