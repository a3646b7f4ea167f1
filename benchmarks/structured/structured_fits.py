"""Cutting planes beside block Frank-Wolfe on chains: seconds and passes of the oracle to certified gaps."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import numpy as np

from maxmargin import ChainModel, FrankWolfe, StructuredBundle, StructuredSVM

from ..measuring.bounded import MORE, BoundedTable, Timing, fill, relate
from ..measuring.clock import read_limit, time_best, time_once
from ..measuring.report import RESULTS, Report
from .sequence_machines import Part, encode, take
from .sequences import Template, load_letters, load_sentences, make_words
from .structured_fits_chart import draw_chart

BUNDLE, FRANK_WOLFE = "bundle", "Frank-Wolfe"
SOLVERS = {BUNDLE: StructuredBundle(), FRANK_WOLFE: FrankWolfe()}
TOLS = (1e-1, 1e-2, 1e-3, 1e-4)
CS = (0.01, 0.1)
MAX_FIT_SECONDS = 60.0  # seconds of a fit, or LIMIT if that is less
WARM_UP_SEQUENCES = 50  # sequences of the fit that compiles
PURPOSE = (
    "StructuredSVM(ChainModel()) by solver='structured_bundle' and by solver='frank_wolfe', to certified relative "
    "gaps. Words of one fold and of nine folds of the handwritten words, and the training sentences of CoNLL-2000, as "
    "in `structured_scores`. A pass of the oracle is one search over all sequences. A cached pass is one over the "
    "labellings that were kept. `processor, s` are the seconds of all cores together: beside other processes they mean "
    "more than `seconds`. Both are the least of three fits, or of one that took longer than 5 s. > stands where the "
    "limit (60 s, or LIMIT if that is less) ended a fit; smaller gaps were then not tried. In the chart, lines are the "
    "gaps that a solver believed in, dots are certified."
)
COLUMNS = {
    "data": "{}", "sequences": "{:,}", "weights": "{:,}", "C": "{:g}", "solver": "{}", "tol": "{:.0e}",
    "seconds": "{:.3g}", "processor, s": "{:.3g}", "oracle passes": "{:,}", "cached passes": "{:,}", "gap": "{:.1e}",
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A set of sequences and a C."""

    name: str
    part: Part
    C: float


@dataclass(frozen=True)
class SolverRun:
    """What one solver did on one problem: a row for each tol, and its beliefs over seconds and rounds."""

    case: Case
    solver: str
    rows: list[dict]
    seconds: np.ndarray
    rounds: np.ndarray
    gaps: np.ndarray

    def timing(self, tol: float) -> Timing | None:
        """Processor seconds to a gap; None where it was not tried."""
        row = next((row for row in self.rows if row["tol"] == tol), None)
        return None if row is None else Timing(row["processor, s"], row["reached"])


def fit_chain(part: Part, C: float, solver: str, tol: float) -> StructuredSVM:
    """A fit by one solver, within the limit."""
    limit = min(MAX_FIT_SECONDS, read_limit())
    return StructuredSVM(ChainModel(), C=C, tol=tol, solver=SOLVERS[solver], max_seconds=limit).fit(part.X, part.y)


def measure(case: Case, solver: str, tol: float) -> tuple[dict, StructuredSVM]:
    """A row about the best of three fits, and the last of them."""
    worked = []

    def act() -> StructuredSVM:
        began = time.process_time()
        model = fit_chain(case.part, case.C, solver, tol)
        worked.append(time.process_time() - began)
        return model

    seconds, model = time_best(act)
    gap, counters = float(model.certificate_.relative_gap), model.result_.counters
    row = {
        "data": case.name, "sequences": len(case.part.y), "weights": len(model.coef_), "C": case.C, "solver": solver,
        "tol": tol, "oracle passes": counters["oracle_passes"], "cached passes": counters["cached_passes"], "gap": gap,
        "rounds": model.result_.n_iter, "reached": gap <= tol,
    }  # fmt: skip
    fill(row, "seconds", seconds, "" if gap <= tol else MORE)
    fill(row, "processor, s", min(worked), "" if gap <= tol else MORE)
    return row, model


def run_solver(case: Case, solver: str) -> SolverRun:
    """Fits to smaller and smaller gaps, until one is not reached; beliefs are those of the last fit."""
    rows = []
    for tol in TOLS:
        row, model = measure(case, solver, tol)
        rows.append(row)
        told = f"{row['seconds']:.3g} s, {row['oracle passes']:,} passes, gap {row['gap']:.1e}"
        print(f"structured_fits: {case.name}, C = {case.C:g}, {solver}, tol {tol:g}: {told}", flush=True)
        if not row["reached"]:
            break
    return SolverRun(case, solver, rows, *read_own_gaps(model))


def read_own_gaps(model: StructuredSVM) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds, rounds and the least relative gap so far, by the solver's own account."""
    lines = [line for line in model.result_.history if np.isfinite(line.primal) and np.isfinite(line.dual)]
    gaps = np.minimum.accumulate([line.relative_gap for line in lines]) if lines else np.zeros(0)
    return np.array([line.seconds for line in lines]), np.array([line.n_iter for line in lines]), gaps


def list_cases(*, brief: bool) -> list[Case]:
    """Words of one fold, words of nine, and sentences, each with both values of C; generated words if need be."""
    words = None if brief else load_letters()
    words = make_words(400) if words is None else words
    parts = {
        "one fold": take(words, np.flatnonzero(words.fold == 0)),
        "nine folds": take(words, np.flatnonzero(words.fold != 0)),
    }
    sentences = None if brief else load_sentences("train")
    if sentences is not None:
        parts["CoNLL-2000"] = encode(Template(sentences), sentences)
    return [Case(name, part, C) for name, part in parts.items() for C in CS]


def race(case: Case) -> list[SolverRun]:
    """Every solver on one problem, each after a small fit that compiles."""
    few = Part(case.part.X[:WARM_UP_SEQUENCES], case.part.y[:WARM_UP_SEQUENCES])
    for solver in SOLVERS:
        time_once(lambda solver=solver: fit_chain(few, case.C, solver, TOLS[0]))
    return [run_solver(case, solver) for solver in SOLVERS]


def tell_ratios(courses: list[SolverRun]) -> list[str]:
    """Processor seconds of the bundle over those of Frank-Wolfe, gap by gap."""
    pairs = list(zip(courses[::2], courses[1::2], strict=True))
    findings = []
    for tol in TOLS:
        known = []
        for one, other in pairs:
            ratio, sign = relate(one.timing(tol), other.timing(tol))
            if ratio is not None:
                known.append(f"{(sign + ' ').lstrip()}{ratio:.2g} ({one.case.name}, C = {one.case.C:g})")
        if known:
            findings.append(f"To {tol:g}, processor seconds of the bundle / Frank-Wolfe: {', '.join(known)}.")
    return findings


def tell_missed(courses: list[SolverRun]) -> list[str]:
    """Who did not come to the gap, and how near."""
    missed = [
        f"{row['solver']} on {row['data']}, C = {row['C']:g}, tol {row['tol']:g} (gap {row['gap']:.0e})"
        for course in courses
        for row in course.rows
        if not row["reached"]
    ]
    return [f"Not within tol in the time: {'; '.join(missed)}."] if missed else []


def run(*, brief: bool) -> Report:
    """Every problem and both solvers, and the chart."""
    report = Report("structured_fits", PURPOSE, [], [])
    courses = [course for case in list_cases(brief=brief) for course in race(case)]
    rows = [row for course in courses for row in course.rows]
    report.tables = [BoundedTable("Seconds and passes to a certified relative gap", COLUMNS, rows)]
    report.findings = tell_ratios(courses) + tell_missed(courses)
    if not brief and not os.environ.get("SETS"):
        report.figure = draw_chart(courses, RESULTS / "structured_fits.png").name
    return report
