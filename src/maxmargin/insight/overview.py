"""Which solver takes which problem, from what each declares and from its answers: the page docs/solvers.md.

python -m maxmargin.insight.overview > docs/solvers.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..contracts.solvers import Solver
from ..contracts.traits import Takes, phrase_structure
from ..model.features import AbsoluteDesign, ClassDesign, Design, Gram
from ..model.formulations import INTERCEPTS, NuClassification, OneClass, Risk
from ..model.kernels import KERNELS, RBF
from ..model.losses import F1, LOSSES, Loss, MulticlassHinge, Multivariate, Novelty, RocAuc, Softmax
from ..model.problem import Problem
from ..model.samples import wrap
from ..solvers import SOLVERS

KINDS = {
    "linear": "Linear machines, |w|^2 / 2",
    "kernel": "Kernel machines",
    "absolute": "Linear machines, |w|_1",
    "classes": "Linear machines of many classes or targets at once",
}
INTERCEPT_MARKS = {"free": "f", "regularised": "r", "none": "n"}
X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0], [0.5, 0.5], [1.5, 0.0], [1.0, 1.0]])
TARGETS = {
    "label": np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]),
    "real": np.array([0.5, 1.0, -0.5, 2.0, 0.0, 1.0]),
    "count": np.array([0.0, 1.0, 3.0, 2.0, 0.0, 1.0]),
    "none": np.ones(6),
    "class": np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]),
    "vector": np.array([[0.5, 1.0, -0.5, 2.0, 0.0, 1.0], [1.0, 0.0, 1.5, 0.5, 0.0, 2.0]]),
}


class Probe(NamedTuple):
    """A tiny problem that stands for its kind."""

    kind: str
    loss: str
    intercept: str
    problem: Problem


def make_probes() -> Iterator[Probe]:
    """Every loss with every kind of features and every intercept."""
    for kind in ("linear", "kernel", "absolute"):
        for loss in [*(make() for name, make in LOSSES.items() if name != "novelty"), Novelty(rho=1.0), F1(), RocAuc()]:
            for intercept in INTERCEPTS:
                if not (kind == "kernel" and loss.name in ("f1", "roc_auc")):
                    yield Probe(kind, loss.name, intercept, pose(kind, loss, intercept))
    scaled = MulticlassHinge(label_costs=1.0 - np.eye(3), label_scales=2.0 - np.eye(3))
    named = {"softmax": Softmax(), "multiclass_hinge": MulticlassHinge(), "multiclass_hinge with costs": scaled}
    for name, loss in {**named, "multivariate": Multivariate(np.eye(2))}.items():
        for intercept in INTERCEPTS:
            yield Probe("classes", name, intercept, pose_classes(loss, intercept))
    y = TARGETS["label"]
    yield Probe(
        "kernel",
        "nu machines",
        "free",
        NuClassification("free", nu=0.5).pose(make_features("kernel", "free"), y, np.ones(6)),
    )


def make_features(kind: str, intercept: str):
    """The features of a kind, with the constant column of a regularised intercept."""
    scaling = 1.0 if intercept == "regularised" else 0.0
    if kind == "kernel":
        return Gram.from_data(RBF(gamma=0.5), X, scaling)
    return (AbsoluteDesign if kind == "absolute" else Design)(wrap(X), scaling)


def pose(kind: str, loss: Loss, intercept: str) -> Problem:
    """The problem of a loss of one score per sample."""
    features, y, c = make_features(kind, intercept), TARGETS[loss.target], np.ones(6)
    if loss.target == "none" and intercept == "free":
        return OneClass(intercept, nu=0.5).pose(features, y, c)
    return Risk(intercept, loss=loss).pose(features, y, c)


def pose_classes(loss: Loss, intercept: str) -> Problem:
    """The problem of a loss of several scores per sample."""
    y = TARGETS[loss.target]
    many = 3 if loss.target == "class" else len(y)
    balance = np.zeros(many) if intercept == "free" else None
    return Problem(ClassDesign(make_features("linear", intercept), many), y, np.ones(6), loss, balance)


class SolverReply(NamedTuple):
    """What a solver says to a probe: None, or why not."""

    solver: str
    probe: Probe
    reason: str | None


def ask_solvers() -> list[SolverReply]:
    """Every solver of the registry about every probe."""
    probes = list(make_probes())
    return [
        SolverReply(name, probe, make().accepts(probe.problem)) for name, make in SOLVERS.items() for probe in probes
    ]


def describe_solvers() -> str:
    """docs/solvers.md: the solvers, what each declares to take, and in their own words what they refuse.

    Returns
    -------
    str
        Markdown.
    """
    replies = ask_solvers()
    parts = [INTRODUCTION, list_solvers(), DECLARATIONS, list_declarations()]
    parts.append(TABLES.replace("KERNELS", ", ".join(KERNELS)))
    parts += [f"### {title}\n\n{tabulate(kind, replies)}" for kind, title in KINDS.items()]
    parts += [REFUSALS, list_refusals(replies)]
    return "\n\n".join(parts) + "\n"


def list_solvers() -> str:
    """A row for each solver: its name, class, formulation and forms of data."""
    rows = ["| solver | class | solves | data | step |", "|---|---|---|---|---|"]
    for name, make in SOLVERS.items():
        step = describe_step(make).replace("|", "\\|")
        rows.append(f"| `{name}` | `{make.__name__}` | {make.formulation} | {' or '.join(make.forms)} | {step} |")
    return "\n".join(rows)


def describe_step(make: type[Solver]) -> str:
    """The formula with which the docstring of a solver opens."""
    return (make.__doc__ or "").strip().splitlines()[0].rstrip(".")


def list_declarations() -> str:
    """A row for each solver of scores: what it declares to take."""
    rows = ["| solver | scores per sample | features | penalty | loss | layers | intercept |", "|---" * 7 + "|"]
    for name, make in SOLVERS.items():
        if make.forms != ("structures",):
            rows.append(f"| `{name}` | " + " | ".join(describe_declaration(make.takes)) + " |")
    return "\n".join(rows)


def describe_declaration(takes: Takes) -> list[str]:
    """The cells of a declaration, in words."""
    loss = phrase_structure(takes.structure) if takes.structure else takes.loss
    several = {"one": "one", "free": "one, or several with free intercepts", "any": "any number"}[takes.layers]
    return [
        takes.scores,
        takes.features,
        {"l2": "1/2 \\|w\\|^2", "l1": "\\|w\\|_1"}[takes.penalty],
        f"{loss}, also of a whole list of scores" if takes.joint else loss,
        several if takes.signed else f"{several}, without signs",
        "any" if takes.free_intercept else "regularised or none",
    ]


def tabulate(kind: str, replies: list[SolverReply]) -> str:
    """Losses down, solvers across; in a cell the intercepts that are taken."""
    replies = [reply for reply in replies if reply.probe.kind == kind]
    takers = [name for name in SOLVERS if any(each.solver == name and each.reason is None for each in replies)]
    losses = list(dict.fromkeys(reply.probe.loss for reply in replies))
    rows = ["| loss | " + " | ".join(f"`{name}`" for name in takers) + " |", "|---" * (len(takers) + 1) + "|"]
    for loss in losses:
        cells = [show_cell([a for a in replies if a.solver == name and a.probe.loss == loss]) for name in takers]
        rows.append(f"| {loss} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def show_cell(replies: list[SolverReply]) -> str:
    """The letters of the intercepts that are taken."""
    return " ".join(INTERCEPT_MARKS[reply.probe.intercept] for reply in replies if reply.reason is None)


def list_refusals(replies: list[SolverReply]) -> str:
    """For each solver its sentences, each once, with all the solvers that they name."""
    parts = []
    for name in SOLVERS:
        named: dict[str, list[str]] = {}
        for reply in replies:
            if reply.solver == name and reply.reason is not None:
                claim, solver = split_remedy(generalise(reply.reason, reply.probe.problem.loss.name))
                named.setdefault(claim, []).extend(solver)
        if named:
            sentences = (join_remedies(claim, list(dict.fromkeys(solvers))) for claim, solvers in named.items())
            parts.append("\n".join([f"**`{name}`**", "", *(f"- {sentence}" for sentence in sentences)]))
    return "\n\n".join(parts)


def generalise(sentence: str, loss: str) -> str:
    """A sentence without the name of the loss and the number of scores it was asked about."""
    sentence = sentence.replace(repr(loss), "*the loss*")
    return re.sub(r"this problem has \d+", "this problem has several", sentence)


def split_remedy(sentence: str) -> tuple[str, list[str]]:
    """A sentence without "; use 'x'", and the solver that it names, if any."""
    found = re.fullmatch(r"(.*); use '(\w+)'\.", sentence)
    return (sentence, []) if found is None else (f"{found[1]}.", [found[2]])


def join_remedies(claim: str, solvers: list[str]) -> str:
    """The sentence again, with all solvers that were named."""
    if not solvers:
        return claim
    *others, last = (f"`{name}`" for name in solvers)
    named = f"{', '.join(others)} or {last}" if others else last
    return f"{claim.removesuffix('.')}; use {named}."


INTRODUCTION = """# Solvers

`python -m maxmargin.insight.overview` writes this page, from what every registered solver declares to take and from
its answers to every loss, kind of features and intercept; a test checks it against the code. Choose a solver by name
or as an object: `SVC(solver="gradient_descent")`, `LinearSVC(solver=Newton())`, `solve(problem, "qp")`. By default
`solver="auto"` chooses one, and `maxmargin.explain(problem)` says which one and why. [Formulations](formulations.md)
shows the problems they solve, side by side.

## The solvers"""

DECLARATIONS = """## What each solver declares to take

Every solver has an attribute `takes` (`maxmargin.contracts.traits.Takes`), and every problem has an attribute `traits`.
Together they decide whether a solver accepts a problem, and what the error says if it does not. "linear" means that the
machine stores w itself, "kernel rows" that rows of the kernel matrix can be evaluated; a "piecewise" loss consists of
linear and quadratic pieces, and a "smooth" one has no kink. Layers, and samples with signs, come from the nu machines.
Solvers that form a matrix of the features or of the duals also reject problems that are too large for it."""

TABLES = """## Which solver takes which loss

A cell lists the intercepts that a solver takes with a loss: f free, r regularised, n none. Every solver that takes
kernels takes all of them: KERNELS, a matrix, a callable or a `Kernel` object."""

REFUSALS = """## What is refused, and why

These are the messages of the errors that a fit raises if its solver cannot solve its problem. Each message names one
solver that can, if there is one; this page lists all that it may name. [Scaling out](scaling.md) says which solvers
take data in blocks."""


if __name__ == "__main__":
    print(describe_solvers(), end="")
