"""Grids of C and gamma: every criterion at each value, what it chooses, and what the test samples say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, SVR, RiskBounds, risk_bounds
from maxmargin.plots import plot_risk_bounds

from .clouds import make_sine
from .page import Table
from .panels import open_panels

CRITERIA = ("xi-alpha", "radius-margin", "leave-one-out", "5-fold")
COUNT = {True: 5, False: 13}  # values of a grid, quick or not
RANGES = {"C": (-2.0, 3.0), "gamma": (-3.5, 1.5)}
GAMMAS = {"breast cancer": 1.0 / 30.0, "moons": 1.0, "sine": 1.0}  # while C varies
SETS = ("breast cancer", "moons")
TOL, SECONDS = 1e-6, 60.0


@dataclass(frozen=True)
class Grid:
    """One parameter over a range, all else fixed."""

    data: str
    loss: str
    parameter: str
    values: np.ndarray


@dataclass
class Survey:
    """What every criterion says at each value of a grid, and what the test samples say."""

    grid: Grid
    bounds: list[RiskBounds] = field(default_factory=list)
    folds: list[float] = field(default_factory=list)
    test: list[float] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: {"bounds": 0.0, "leave-one-out": 0.0, "5-fold": 0.0})

    def list_errors(self, criterion: str) -> np.ndarray:
        """The values of a criterion along the grid."""
        if criterion == "leave-one-out":
            return np.array([each.leave_one_out.error for each in self.bounds])
        if criterion in ("xi-alpha", "radius-margin"):
            return np.array([getattr(each, criterion.replace("-", "_")) for each in self.bounds])
        return np.array(self.folds if criterion == "5-fold" else self.test)

    def choose(self, criterion: str) -> int:
        """The place of the least value; of several, the first: the least C, or the widest kernel."""
        return int(np.argmin(self.list_errors(criterion)))


def load_set(name: str, quick: bool):
    """X, X_test, y, y_test: halves of breast cancer, standardised by the first; moons, or a sine, with noise."""
    if name == "sine":
        (X, y), (X_test, y_test) = make_sine(), make_sine(seed=1)
        return (X[::4], X_test, y[::4], y_test) if quick else (X, X_test, y, y_test)
    if name == "moons":
        X, y = make_moons(4000 + (60 if quick else 200), noise=0.3, random_state=0)
        return X[4000:], X[:4000], y[4000:], y[:4000]
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    if quick:
        X, y = X[:80], y[:80]
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test), y, y_test


def list_grids(quick: bool) -> list[Grid]:
    """Both sets and parameters, and both losses unless it must be quick; the sine comes last."""
    grids = [
        Grid(data, loss, parameter, np.logspace(*RANGES[parameter], COUNT[quick]))
        for data in SETS
        for loss in (("hinge",) if quick else ("hinge", "squared_hinge"))
        for parameter in RANGES
    ]
    return [*grids, Grid("sine", "epsilon_insensitive", "C", np.logspace(-3.0, 2.0, COUNT[quick]))]


def survey_grid(grid: Grid, quick: bool, tick: Callable[[str], None]) -> Survey:
    """A fit, its bounds, five folds and the test samples at every value."""
    X, X_test, y, y_test = load_set(grid.data, quick)
    real = grid.data == "sine"
    folds = (KFold if real else StratifiedKFold)(5, shuffle=True, random_state=0)
    survey = Survey(grid)
    for value in grid.values:
        tick(f"risk: {grid.data}, {grid.loss}, {grid.parameter} = {value:.3g}")
        settings = {"C": 1.0, "gamma": GAMMAS[grid.data], "loss": grid.loss, grid.parameter: float(value)}
        model = (SVR if real else SVC)(**settings, tol=TOL).fit(X, y)
        began = time.perf_counter()
        bounds = risk_bounds(model, X, y, exact=True, max_seconds=SECONDS)
        survey.seconds["leave-one-out"] += bounds.leave_one_out.seconds
        survey.seconds["bounds"] += time.perf_counter() - began - bounds.leave_one_out.seconds
        began = time.perf_counter()
        left_out = cross_val_predict(model, X, y, cv=folds)
        survey.seconds["5-fold"] += time.perf_counter() - began
        survey.bounds.append(bounds)
        survey.folds.append(measure_error(left_out, y, real))
        survey.test.append(measure_error(model.predict(X_test), y_test, real))
    return survey


def measure_error(predicted: np.ndarray, y: np.ndarray, real: bool) -> float:
    """The mean absolute error, or the share of wrong labels."""
    return float(np.abs(predicted - y).mean() if real else (predicted != y).mean())


# ---- tables and figures ---------------------------------------------------------------------------------------


def draw_surveys(surveys: list[Survey]) -> list:
    """A panel for each survey."""
    figures, axes = open_panels(len(surveys))
    for survey, ax in zip(surveys, axes, strict=True):
        grid = survey.grid
        others = {"5-fold": np.array(survey.folds), "test": np.array(survey.test)}
        plot_risk_bounds(grid.values, survey.bounds, name=grid.parameter, others=others, ax=ax)
        ax.set_title(f"{grid.data}, {grid.loss.replace('_', ' ')}")
    return figures


def tabulate_grids(surveys: list[Survey]) -> Table:
    """Every number at every value."""
    columns = ["data", "loss", "parameter", "value", "training", *CRITERIA, "test", "refits"]
    rows = []
    for survey in surveys:
        errors = [survey.list_errors(criterion).tolist() for criterion in (*CRITERIA, "test")]
        for k, value in enumerate(survey.grid.values):
            grid, bounds = survey.grid, survey.bounds[k]
            found = [column[k] for column in errors]
            rows.append(
                [grid.data, grid.loss, grid.parameter, float(value), bounds.training, *found,
                 bounds.leave_one_out.refits]
            )  # fmt: skip
    caption = (
        "Shares of errors, on the sine mean absolute errors. Where the radius-margin number is above 1 it is vacuous. "
        "C is 1 while gamma varies."
    )
    return Table("risk_grids", caption, columns, rows)


def tabulate_choices(surveys: list[Survey]) -> Table:
    """What each criterion chooses, and the test error there."""
    columns = ["data", "loss", "parameter"]
    columns += [f"{criterion}: {what}" for criterion in (*CRITERIA, "best") for what in ("chooses", "test error")]
    rows = []
    for survey in surveys:
        grid, test = survey.grid, survey.list_errors("test")
        chosen = [survey.choose(criterion) for criterion in (*CRITERIA, "test")]
        cells = [cell for k in chosen for cell in (float(grid.values[k]), float(test[k]))]
        rows.append([grid.data, grid.loss, grid.parameter, *cells])
    caption = "The parameter that each criterion chooses, and the test error there; beside them the best on the grid."
    return Table("risk_choices", caption, columns, rows)
