"""Held-out labels of our searches beside scikit-learn's, and an account of each one that differs.

Let (w, b) be a machine with the primal value P, and a the duals of another one, in their domain and with the sum tau.
Fenchel and Young say, as in docs/certified_tuning.md, that

    tau f(x) >= -P - sum_i conj_i(a_i) - 1/2 |sum_i a_i phi(x_i) - tau phi(x)|^2                                  (1)

Take duals of a third machine (w*, b*), solved to a gap of REFERENCE_GAP, and move them by tau q, where q has the sum 1
and lives on free support vectors. With z = sum_i q_i phi(x_i), and b_q the intercept that these support vectors ask
for, (1) becomes

    f(x) >= <w*, phi(x)> + b_q - delta / tau - tau / 2 |phi(x) - z|^2,   delta <= gap + gap*,

and the same from above. With the best tau that is sqrt(2 delta) |phi(x) - z|: what the gap leaves open, with the
intercept free. A label that differs is explained if the scores of both machines lie within such bounds: then at least
one of the two has bounds with a zero between them.

Where no support vector is free, the optimal intercepts form an interval, and which of them a library takes is its own
choice: scikit-learn takes that of a dual which rounding has moved off its bound, we the middle. Labels that differ for
this reason are counted apart, and the mean scores of such candidates are not compared.

`python tests/search_accounts.py [name ...]` prints the table of docs/tuning.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sklearn.model_selection as theirs
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_circles,
    make_classification,
    make_friedman1,
    make_gaussian_quantiles,
    make_moons,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import ShuffleSplit, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin.model_selection import GridSearchCV

REFERENCE_GAP = 1e-9
FREE_SHARE = 1e-7  # of its bound, that a free dual is away from both ends at least
ROUNDING_SHARE = 1e-9  # of a score: what the evaluation of kernels in another order may change
DIFFERENT_SHARE = 1e-4  # of the standard deviation of y: predictions of a regression that differ by more are counted
GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.01, 0.1, 1.0]}
SCALED_GRID = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [0.003, 0.01, 0.03, 0.1]}
TUBES = {"C": [1.0, 10.0, 100.0], "gamma": [0.03, 0.1, 0.3], "epsilon": [0.1, 1.0]}


# ---- searches -------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One search: data, the names of both machines' class and their parameters, a grid, and how it is scored."""

    name: str
    X: np.ndarray
    y: np.ndarray
    grid: dict[str, list[Any]]
    kind: str = "SVC"
    parameters: dict[str, Any] = {}  # noqa: RUF012
    cv: Any = StratifiedKFold(5)
    score: Callable[..., float] = accuracy_score
    sample_weight: np.ndarray | None = None
    scaled: bool = False  # in each fold, by a Pipeline


class EveryThirdRow:
    """A splitter of its own: each fold holds out every third row."""

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Three."""
        return 3

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Training rows and held-out rows of each fold."""
        place = np.arange(len(X)) % 3
        for fold in range(3):
            yield np.flatnonzero(place != fold), np.flatnonzero(place == fold)


def score_costs(y: Any, predicted: Any) -> float:
    """A scorer of its own: minus the mean cost, where a missed positive costs five."""
    return -float(np.mean(np.where(y == predicted, 0.0, np.where(y == 1, 5.0, 1.0))))


def list_cases() -> dict[str, Case]:
    """All searches by name: five data sets that come with scikit-learn, and nine that are generated."""
    folds = ShuffleSplit(4, test_size=0.3, random_state=0)
    noisy = make_classification(600, 12, n_informative=6, flip_y=0.15, random_state=0)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 600)
    costly = make_classification(500, 8, n_informative=4, weights=[0.8], flip_y=0.1, random_state=3)
    found = [
        Case("iris", *load_iris(return_X_y=True), GRID),
        Case("wine", *load_wine(return_X_y=True), SCALED_GRID, scaled=True),
        Case("breast_cancer", *load_breast_cancer(return_X_y=True), SCALED_GRID, scaled=True),
        Case("digits", load_digits().data / 16.0, load_digits().target, {"C": [1.0, 10.0], "gamma": [0.01, 0.1, 0.3]}),
        Case("diabetes", *load_diabetes(return_X_y=True), TUBES, "SVR", cv=folds, score=r2_score, scaled=True),
        Case("moons", *make_moons(400, noise=0.3, random_state=0), GRID),
        Case("circles, polynomial", *make_circles(300, noise=0.15, factor=0.6, random_state=0),
             {"C": [0.1, 1.0, 10.0], "gamma": [0.5, 1.0], "degree": [2, 3]},
             parameters={"kernel": "poly", "coef0": 1.0}),
        Case("blobs, linear", *make_blobs(500, centers=5, cluster_std=3.0, random_state=0)[:2],
             {"C": [0.01, 0.1, 1.0]}, parameters={"kernel": "linear"}),
        Case("weights", *noisy, GRID, sample_weight=weight),
        Case("balanced classes", *costly, GRID, parameters={"class_weight": "balanced"}),
        Case("own splitter", *make_gaussian_quantiles(n_samples=450, n_features=4, n_classes=3, random_state=0), GRID,
             cv=EveryThirdRow()),
        Case("own scorer", *costly, GRID, score=score_costs),
        Case("friedman1", *make_friedman1(300, noise=1.0, random_state=0), TUBES, "SVR", cv=folds, score=r2_score),
        Case("many rows", *make_classification(2500, 10, n_informative=6, flip_y=0.1, random_state=0),
             {"C": [0.1, 1.0, 10.0], "gamma": [0.03, 0.1, 0.3]}, cv=StratifiedKFold(3)),
    ]  # fmt: skip
    return {case.name: case for case in found}


@dataclass
class RecordingScorer:
    """Scores what is predicted, and keeps it with the fitted machine, by parameters and held-out rows."""

    score: Callable[..., float]
    classifies: bool
    searched: list[str]
    kept: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray, Any]] = field(default_factory=dict)

    def __call__(self, machine: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        predicted = machine.predict(X)
        scores = machine.decision_function(X) if self.classifies else predicted
        self.kept[self.name_cell(machine.get_params(), X)] = predicted, scores, machine
        return (
            self.score(y, predicted) if sample_weight is None else self.score(y, predicted, sample_weight=sample_weight)
        )

    def name_cell(self, parameters: dict[str, Any], X: np.ndarray) -> tuple[Any, ...]:
        """What tells two cells apart: the parameters that are searched, and the held-out rows."""
        return tuple(parameters[name] for name in self.searched), X.tobytes()


def search(case: Case, kind: type, library: Any) -> tuple[Any, RecordingScorer]:
    """The search of a case over the machines of a library, and what its scorer was given."""
    classifies = case.kind == "SVC"
    machine = getattr(library, case.kind)(**case.parameters)
    if classifies:
        machine.set_params(decision_function_shape="ovo")
    prefix = f"{case.kind.lower()}__" if case.scaled else ""
    estimator = make_pipeline(StandardScaler(), machine) if case.scaled else machine
    grid = {prefix + name: values for name, values in case.grid.items()}
    recorded = RecordingScorer(case.score, classifies, list(grid))
    fit_params = {} if case.sample_weight is None else {prefix + "sample_weight": case.sample_weight}
    return kind(estimator, grid, cv=case.cv, scoring=recorded).fit(case.X, case.y, **fit_params), recorded


# ---- accounts -------------------------------------------------------------------------------------------------------


class Account(NamedTuple):
    """What two searches have in common, and what not.

    `unexplained` has (candidate, fold, row) of held-out labels that differ by more than the gaps allow. `undetermined`
    of those that differ are labels of machines whose optimal intercept is not unique; the largest difference is that of
    the mean scores of all candidates without such a label.
    """

    name: str
    cells: int
    folds: int
    same_winner: bool
    held_out: int
    different: int
    undetermined: int
    unexplained: list[tuple[int, int, int]]
    largest_difference: float


def compare_searches(case: Case) -> Account:
    """Both searches, and an account of all labels that differ."""
    ours, our_cells = search(case, GridSearchCV, maxmargin)
    other, their_cells = search(case, theirs.GridSearchCV, svm)
    assert ours.cv_results_["params"] == other.cv_results_["params"]
    folds = list(case.cv.split(case.X, case.y))
    held_out = different = undetermined = 0
    unexplained: list[tuple[int, int, int]] = []
    is_unique = np.ones(len(ours.cv_results_["params"]), bool)
    for candidate, parameters in enumerate(ours.cv_results_["params"]):
        for fold, (train, test) in enumerate(folds):
            name = our_cells.name_cell(parameters, case.X[test])
            gap = ours.search_outcome_.cells[candidate, fold].certificate.relative_gap
            pair = CellPair(case, train, test, our_cells.kept[name], their_cells.kept[name], gap)
            rows = pair.list_different()
            held_out, different = held_out + len(test), different + len(rows)
            unexplained += [(candidate, fold, int(row)) for row in rows if not pair.explains(row)]
            check_score(case, pair, len(rows), len(test))
            if not pair.has_unique_intercepts(rows):
                undetermined, is_unique[candidate] = undetermined + len(rows), False
    difference = np.abs(ours.cv_results_["mean_test_score"] - other.cv_results_["mean_test_score"])
    return Account(
        case.name, len(ours.cv_results_["params"]), len(folds), ours.best_params_ == other.best_params_, held_out,
        different, undetermined, unexplained, float(difference[is_unique].max()),
    )  # fmt: skip


def check_score(case: Case, pair: CellPair, different: int, held_out: int) -> None:
    """Scores of a cell differ by no more than the labels that do: those of accuracy by their share."""
    if case.score is accuracy_score and case.sample_weight is None:
        y = case.y[pair.test]
        difference = abs(accuracy_score(y, pair.ours[0]) - accuracy_score(y, pair.theirs[0]))
        assert difference <= different / held_out + 1e-12


@dataclass
class CellPair:
    """The machines of one cell, ours and scikit-learn's: predictions, scores and the fitted machine of each."""

    case: Case
    train: np.ndarray
    test: np.ndarray
    ours: tuple[np.ndarray, np.ndarray, Any]
    theirs: tuple[np.ndarray, np.ndarray, Any]
    relative_gap: float  # of ours, the largest of its binary machines
    references: dict[int, Reference] = field(default_factory=dict)

    def list_different(self) -> np.ndarray:
        """Held-out rows, as places, with another label; of regressions with another number."""
        if self.case.kind == "SVC":
            return np.flatnonzero(self.ours[0] != self.theirs[0])
        return np.flatnonzero(np.abs(self.ours[0] - self.theirs[0]) > DIFFERENT_SHARE * self.case.y.std())

    def explains(self, row: int) -> bool:
        """Whether all binary machines that differ in sign at a row have scores which their gaps allow, at least one."""
        ours, other = self.read_scores(row)
        machines = self.list_machines(row)
        return len(machines) > 0 and all(self.allows(number, row, ours[number], other[number]) for number in machines)

    def has_unique_intercepts(self, rows: np.ndarray) -> bool:
        """Whether the binary machines that differ in sign at these rows have free support vectors, which fix b."""
        machines = {number for row in rows for number in self.list_machines(row)}
        return all(len(self.open_reference(number).vectors) > 0 for number in machines)

    def read_scores(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Of all binary machines at a row, ours and scikit-learn's."""
        return np.atleast_1d(self.ours[1][row]), np.atleast_1d(self.theirs[1][row])

    def list_machines(self, row: int) -> np.ndarray:
        """The binary machines that differ in sign at a row; of a regression its one machine."""
        ours, other = self.read_scores(row)
        return np.flatnonzero((ours > 0) != (other > 0)) if self.case.kind == "SVC" else np.array([0])

    def allows(self, number: int, row: int, ours: float, other: float) -> bool:
        """Whether both scores of a binary machine lie within their bounds at a row."""
        reference = self.open_reference(number)
        x = self.transform(self.case.X[self.test[[row]]])
        certificate = self.their_certificate
        their_gap = (certificate.parts[number] if certificate.parts else certificate).gap
        # The gap is a share of P, and P <= P* + gap.
        our_gap = self.relative_gap / (1.0 - self.relative_gap) * reference.certificate.size
        return reference.contains(x, ours, our_gap) and reference.contains(x, other, their_gap)

    @property
    def machine(self) -> Any:
        """scikit-learn's fitted SVC or SVR."""
        fitted = self.theirs[2]
        return fitted[-1] if isinstance(fitted, Pipeline) else fitted

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Rows as the machine sees them."""
        fitted = self.theirs[2]
        return fitted[:-1].transform(X) if isinstance(fitted, Pipeline) else X

    @property
    def weight(self) -> np.ndarray | None:
        """Those of the training rows, as they were given."""
        return None if self.case.sample_weight is None else self.case.sample_weight[self.train]

    @cached_property
    def their_certificate(self) -> Any:
        """Of all binary machines of scikit-learn's model."""
        return maxmargin.certify(
            self.machine, self.transform(self.case.X[self.train]), self.case.y[self.train], self.weight
        )

    def open_reference(self, number: int) -> Reference:
        """The third machine of a pair of classes, or of a regression."""
        if number not in self.references:
            self.references[number] = self.make_reference(number)
        return self.references[number]

    def make_reference(self, number: int) -> Reference:
        """The same problem as that of one of scikit-learn's binary machines, solved to a small gap."""
        X, y, machine = self.transform(self.case.X[self.train]), self.case.y[self.train], self.machine
        weight = np.ones(len(y)) if self.weight is None else self.weight
        names = ("C", "kernel", "gamma", "degree", "coef0")
        parameters = {name: getattr(machine, name) for name in names}
        if self.case.kind == "SVR":
            reference = maxmargin.SVR(**parameters, epsilon=machine.epsilon, tol=REFERENCE_GAP)
            return Reference(reference, X, y, weight)
        classes = machine.classes_
        first, second = np.argwhere(np.triu(np.ones((len(classes),) * 2), 1))[number]
        positive = second if len(classes) == 2 else first  # the sign of decision_function, with two classes or more
        rows = np.flatnonzero((y == classes[first]) | (y == classes[second]))
        weight = weight * machine.class_weight_[np.searchsorted(classes, y)]
        reference = maxmargin.SVC(**parameters, tol=REFERENCE_GAP)
        return Reference(reference, X[rows], (y[rows] == classes[positive]).astype(int), weight[rows])


class Reference:
    """A binary machine or a regression with a small gap, and bounds on the scores of others with larger ones."""

    def __init__(self, machine: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray):
        self.machine = clone(machine).fit(X, y, sample_weight=weight)
        self.certificate = self.machine.certificate_
        assert self.certificate.relative_gap <= REFERENCE_GAP
        places, a = self.machine.support_, self.machine.dual_coef_.ravel()
        bound = self.machine.C * weight[places]
        free = np.minimum(np.abs(a), bound - np.abs(a)) > FREE_SHARE * bound
        self.vectors, self.a, self.bound = X[places][free], a[free], bound[free]
        sign = np.sign(self.a)
        # What the score of a free support vector is: its label, or the edge of the tube.
        self.wanted = sign if machine.task == "classification" else y[places][free] - machine.epsilon * sign

    def contains(self, x: np.ndarray, score: float, gap: float) -> bool:
        """Whether a machine with this gap may have this score at x."""
        low, high = self.enclose(x, gap + self.certificate.gap)
        slack = ROUNDING_SHARE * (1.0 + abs(score))
        return low - slack <= score <= high + slack

    def enclose(self, x: np.ndarray, delta: float) -> tuple[float, float]:
        """Bounds on f(x) of all machines with P <= D* + delta, from duals with the sums tau and -tau."""
        up = np.where(self.a > 0, self.bound - self.a, -self.a)
        return self.bound_score(x, delta, up, -1.0), self.bound_score(x, delta, self.bound - up, 1.0)

    def bound_score(self, x: np.ndarray, delta: float, room: np.ndarray, side: float) -> float:
        """From below where side = -1, from above where it is +1; infinite where no support vector is free."""
        if not len(room):
            return side * np.inf
        q = room / room.sum()
        k_x = self.evaluate(self.vectors, x)[:, 0]
        square = max(float(self.evaluate(x, x)[0, 0] - 2.0 * q @ k_x + q @ self.matrix @ q), 0.0)
        tau = min(room.sum(), np.sqrt(2.0 * delta / square) if square else np.inf)
        plain = float(self.score(x)[0]) + float(q @ self.errors)
        return plain + side * (delta / tau + tau / 2.0 * square)

    @cached_property
    def matrix(self) -> np.ndarray:
        """k over all free support vectors."""
        return self.evaluate(self.vectors, self.vectors)

    @cached_property
    def errors(self) -> np.ndarray:
        """By how much the scores of free support vectors miss what they are at the optimum."""
        return self.wanted - self.score(self.vectors)

    def score(self, X: np.ndarray) -> np.ndarray:
        """<w*, phi(x)> + b*."""
        machine = self.machine
        return machine.decision_function(X) if machine.task == "classification" else machine.predict(X)

    def evaluate(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """k(x, z)."""
        machine = self.machine
        metric = machine.kernel
        names = {"rbf": ("gamma",), "poly": ("gamma", "degree", "coef0"), "linear": ()}[metric]
        return pairwise_kernels(X, Z, metric=metric, **{name: getattr(machine, name) for name in names})


# ---- the table ------------------------------------------------------------------------------------------------------

HEADER = (
    "| data | cells | folds | same winner | held out | differ | explained | b not unique | "
    "largest difference of a mean score |"
)


def write_row(account: Account) -> str:
    """A line of the table."""
    explained = account.different - len(account.unexplained)
    return (
        f"| {account.name} | {account.cells} | {account.folds} | {'yes' if account.same_winner else 'no'} | "
        f"{account.held_out:,} | {account.different} | {explained} | {account.undetermined} | "
        f"{account.largest_difference:.1e} |"
    )


def main() -> None:
    """Print it, line by line as the searches end."""
    print(HEADER)
    print("|" + "---|" * 9)
    for case in list_cases().values():
        if sys.argv[1:] and case.name not in sys.argv[1:]:
            continue
        print(write_row(compare_searches(case)), flush=True)


if __name__ == "__main__":
    main()
