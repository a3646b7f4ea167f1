"""Test scores of machines trained for F1 and for the area under the ROC curve, beside those of the plain hinge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from maxmargin import LinearSVC, MetricSVC

from ..measuring.clock import read_limit, time_once
from ..measuring.report import Report, Table
from .metric_cases import Part, Split, divide, list_splits
from .thresholds import compare, measure_f1, tune_threshold

TOL = 1e-3
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
BRIEF_CS = (0.1, 1.0)
VALIDATION_SHARE = 0.3  # of the training part
MACHINES = {
    "MetricSVC(f1)": lambda **parameters: MetricSVC("f1", **parameters),
    "MetricSVC(roc_auc)": lambda **parameters: MetricSVC("roc_auc", **parameters),
    "LinearSVC": lambda **parameters: LinearSVC(loss="hinge", intercept="free", **parameters),
    "LinearSVC, balanced": lambda **parameters: LinearSVC(
        loss="hinge", intercept="free", class_weight="balanced", **parameters
    ),
}
OURS = {"F1": "MetricSVC(f1)", "ROC area": "MetricSVC(roc_auc)"}
OWN, TUNED = "its own", "tuned"
PURPOSE = (
    "MetricSVC(metric='f1') and MetricSVC(metric='roc_auc') beside LinearSVC(loss='hinge'), plain and with "
    "class_weight='balanced', all to a certified relative gap of 1e-3 with a free intercept. C is one of 0.01, 0.1, 1, "
    "10, 100: the one with the best score on 30 % of the training part, from a fit on the other 70 %, the score being "
    "that of the table. A tuned threshold is the best one for F1 on the same 30 %. Then the machine is fitted on the "
    "whole training part, whose seconds, gap and test score are given. The positive class is the rare one. Intervals "
    "hold 95 % of the differences when the test samples are drawn again, 200 times."
)
COLUMNS = {
    "data": "{}", "machine": "{}", "threshold": "{}", "C": "{:g}", "validation": "{:.4f}", "test": "{:.4f}",
    "fit, s": "{:.3g}", "gap": "{:.0e}",
}  # fmt: skip
SETS = {
    "data": "{}", "training samples": "{:,}", "test samples": "{:,}", "features": "{:,}", "positive": "{:.1%}",
    "test part": "{}",
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """A machine as it would be used: its C, its threshold, and the validation score that chose them."""

    machine: str
    threshold: str
    C: float
    cut: float
    validation: float


@dataclass(frozen=True)
class Outcome:
    """A choice, fitted on the whole training part: its row, and what it says of the test samples."""

    row: dict
    said: np.ndarray  # whether positive, or the scores


def fit(machine: str, C: float, part: Part) -> tuple[float, object]:
    """Seconds of a fit, and the fitted machine."""
    model = MACHINES[machine](C=C, tol=TOL, max_seconds=read_limit())
    return time_once(lambda: model.fit(part.X, part.y))


def search(split: Split, Cs: tuple[float, ...]) -> dict[str, list[Choice]]:
    """The best choices for F1 and for the ROC area, machine by machine, from the training part alone."""
    train, validation = divide(split.train, VALIDATION_SHARE)
    tried = {"F1": [], "ROC area": []}
    for machine in MACHINES:
        for C in Cs:
            seconds, model = fit(machine, C, train)
            scores = model.decision_function(validation.X)
            own, (cut, tuned) = measure_f1(validation.y, scores > 0), tune_threshold(validation.y, scores)
            area = roc_auc_score(validation.y, scores)
            tried["F1"] += [Choice(machine, OWN, C, 0.0, own), Choice(machine, TUNED, C, cut, tuned)]
            tried["ROC area"].append(Choice(machine, OWN, C, 0.0, area))
            gap = model.certificate_.relative_gap
            told = f"F1 {own:.3f}, tuned {tuned:.3f}, area {area:.4f}, {seconds:.2g} s, gap {gap:.0e}"
            print(f"metric_scores: {split.name}, {machine}, C = {C:g}: {told}", flush=True)
    return {score: pick_best(choices) for score, choices in tried.items()}


def pick_best(choices: list[Choice]) -> list[Choice]:
    """Of each machine and threshold the choice with the best validation score, with the smallest C among equals."""
    best = {}
    for choice in choices:
        key = (choice.machine, choice.threshold)
        if key not in best or choice.validation > best[key].validation:
            best[key] = choice
    return [*best.values()]


def try_out(split: Split, choices: dict[str, list[Choice]]) -> dict[str, list[Outcome]]:
    """Every choice on the test part, each machine and C fitted once."""
    fitted = {}
    outcomes = {}
    for score, chosen in choices.items():
        outcomes[score] = []
        for choice in chosen:
            key = (choice.machine, choice.C)
            if key not in fitted:
                fitted[key] = fit(*key, split.train)
            seconds, model = fitted[key]
            scores = model.decision_function(split.test.X)
            said = scores > choice.cut if score == "F1" else scores
            row = {
                "data": split.name, "machine": choice.machine, "threshold": choice.threshold, "C": choice.C,
                "validation": choice.validation, "test": float(rate(score)(split.test.y, said)), "fit, s": seconds,
                "gap": float(model.certificate_.relative_gap),
            }  # fmt: skip
            outcomes[score].append(Outcome(row, said))
    return outcomes


def rate(score: str):
    """The function behind the name of a score."""
    return measure_f1 if score == "F1" else roc_auc_score


def judge(split: Split, score: str, outcomes: list[Outcome]) -> str:
    """The machine trained for the score beside the best of the plain ones on the test part, in a sentence."""
    ours = next(each for each in outcomes if each.row["machine"] == OURS[score] and each.row["threshold"] == OWN)
    others = [each for each in outcomes if each.row["machine"].startswith("LinearSVC")]
    best = max(others, key=lambda each: each.row["test"])
    difference, low, high = compare(rate(score), split.test.y, ours.said, best.said)
    verdict = "it wins" if low > 0 else "it loses" if high < 0 else "no difference beyond sampling error"
    tuned = ", threshold tuned" if best.row["threshold"] == TUNED else ""
    also = [each.row["test"] for each in outcomes if each.row["machine"] == OURS[score] and each is not ours]
    note = f" ({also[0]:.4f} with its threshold tuned too)" if also else ""
    return (
        f"{split.name}, test {score}: {OURS[score]} {ours.row['test']:.4f}{note}, the best of the others "
        f"{best.row['test']:.4f} ({best.row['machine']}{tuned}); difference {difference:+.4f} "
        f"({low:+.4f} to {high:+.4f}): {verdict}."
    )


def tell_edges(rows: list[dict], Cs: tuple[float, ...]) -> list[str]:
    """Whose C is at an end of the grid: a wider one might serve them better."""
    ends = [f"{row['machine']} on {row['data']}" for row in rows if row["C"] in (Cs[0], Cs[-1])]
    return [f"C at an end of the grid: {', '.join(dict.fromkeys(ends))}."] if ends else []


def describe(split: Split) -> dict:
    """A row about the set."""
    return {
        "data": split.name, "training samples": len(split.train.y), "test samples": len(split.test.y),
        "features": split.train.X.shape[1], "positive": float(np.mean(split.train.y > 0)), "test part": split.source,
    }  # fmt: skip


def run(*, brief: bool) -> Report:
    """Every set, or those that SETS names."""
    report = Report("metric_scores", PURPOSE, [], [])
    Cs = BRIEF_CS if brief else CS
    sets, rows, missing = [], {score: [] for score in OURS}, []
    for name, split in list_splits(brief=brief):
        if split is None:
            missing.append(name)
            continue
        sets.append(describe(split))
        for score, outcomes in try_out(split, search(split, Cs)).items():
            rows[score] += [outcome.row for outcome in outcomes]
            report.findings.append(judge(split, score, outcomes))
            print(f"metric_scores: {report.findings[-1]}", flush=True)
    report.tables = [
        Table("F1", COLUMNS, rows["F1"]),
        Table("ROC area", {name: form for name, form in COLUMNS.items() if name != "threshold"}, rows["ROC area"]),
        Table("Sets", SETS, sets),
    ]
    report.findings += [] if brief else tell_edges([row for table in rows.values() for row in table], Cs)
    report.findings += [f"Not in the folder of data: {', '.join(missing)}."] if missing else []
    return report
