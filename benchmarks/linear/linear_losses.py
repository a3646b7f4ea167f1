"""Linear machines with other losses beside scikit-learn's classes: seconds to the same primal value.

Every peer minimises the same P as we do, or one that differs by what `EQUAL` says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import make_friedman1

from ..measuring.clock import read_limit, time_once
from ..measuring.data import read_file, standardise
from ..measuring.report import Report, Table
from ..peers.linear_routes import ROUTES, TUBES, list_routes, make_huber
from .linear_cases import LinearCase, make_labelled, read_labelled
from .linear_fits import MORE, ROUTE_COLUMNS, average, lay_routes
from .linear_race import Race, run_race, warm_up

TOL = 1e-6
PURPOSE = (
    "RiskRegressor, RiskClassifier and LinearSVR, and the classes of scikit-learn that solve the same problem. Ours "
    "is the least time of three fits to a certified relative gap of 1e-6; theirs is the fastest run whose w and b, "
    "put into P by us, are within 1e-6 of the optimum, their tolerance being tightened until they are. Ratios are "
    "their seconds over ours."
)
EQUAL = {
    "quantile": "QuantileRegressor penalises |w|_1 and we |w|^2 / 2: it is fitted without a penalty (alpha = 0), and "
    "we with C = 10, where the penalty is a small part of P. The mean pinball losses of both fits are in the table.",
    "huber": "HuberRegressor finds the scale of the noise as well. Ours is given the scale it found: with threshold = "
    "epsilon scale and C = epsilon / alpha both have the same w and b, and the coefficients are compared.",
    "poisson": "PoissonRegressor divides the losses by n: alpha = 1 / (n C) is the same problem.",
    "logistic": "LogisticRegression(C=1) is the same problem, the intercept outside the penalty.",
    "epsilon_insensitive": "LinearSVR is LIBLINEAR, with a regularised intercept, as ours here.",
}
COLUMNS = {
    "loss": "{}", "data": "{}", "n": "{:,}", "d": "{:,}", "ours, s": "{:.3g}", "our gap": "{:.0e}", "solver": "{}",
    "peer": "{}", "theirs, s": "{:.3g}", "ratio": "{:.1f}", "route": "{}", "their distance": "{:.0e}",
}  # fmt: skip
CHECKS = {"case": "{}", "what is compared": "{}", "ours": "{:.10g}", "theirs": "{:.10g}", "difference": "{:.1e}"}
LOGISTIC_SETS = ("a9a", "ijcnn1", "w8a", "covtype")
TUBE_SETS = ("cadata", "house_16H", "kin40k")
GENERATED = 20_000


def make_regression(rows: int, *, counts: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """20 features, noise with heavy tails that grows with the first one; or counts with a mean of exp(<w, x>)."""
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 20))
    w = random.standard_normal(20)
    if counts:
        return X, random.poisson(np.exp(0.2 * (X @ w) + 0.5)).astype(float)
    return X, X @ w + (1.0 + 0.5 * np.abs(X[:, 0])) * random.standard_t(3, rows)


def pose_huber(name: str, X: np.ndarray, y: np.ndarray, C: float = 1e4) -> LinearCase:
    """Huber's loss with the threshold that HuberRegressor finds when it is left to converge."""
    _, model = time_once(lambda: make_huber(C, tol=1e-10, max_iter=100_000).fit(X, y))
    return LinearCase(name, "huber", X, y, C, "free", {"threshold": model.epsilon * model.scale_})


def list_generated(rows: int) -> Iterator[LinearCase]:
    """Every loss on data of its own kind."""
    X, y = make_regression(rows)
    for quantile in (0.5, 0.9):
        yield LinearCase(f"generated, q = {quantile:g}", "quantile", X, y, 10.0, "free", {"quantile": quantile})
    yield pose_huber("generated", X, y)
    yield LinearCase("generated", "poisson", *make_regression(rows, counts=True), 1.0, "free")
    yield LinearCase("generated", "poisson", *make_regression(10 * rows, counts=True), 1.0, "free")
    yield LinearCase("generated", "logistic", *make_labelled("clouds", 5 * rows), 1.0, "free")
    X, y = make_friedman1(rows, noise=1.0, random_state=0)
    for loss in TUBES:
        yield LinearCase("friedman1", loss, standardise(X), standardise(y[:, None]).ravel(), shape={"epsilon": 0.1})


def list_real() -> Iterator[LinearCase]:
    """Sets of the folder, those that are there."""
    for name in LOGISTIC_SETS:
        found = read_labelled(name)
        if found is not None:
            yield LinearCase(name, "logistic", *found, 1.0, "free")
    for name in TUBE_SETS:
        found = read_file(f"{name}/{name}")
        if found is not None:
            X, y = standardise(found[0]), standardise(found[1][:, None]).ravel()
            yield pose_huber(name, X, y)
            for loss in TUBES:
                yield LinearCase(name, loss, X, y, shape={"epsilon": 0.1})


def lay_rows(race: Race) -> list[dict]:
    """One row for each peer of the problem."""
    case, ours, rows = race.case, race.ours, []
    for peer in dict.fromkeys(ROUTES[name].peer for name in race.climbs):
        row = {
            "loss": case.loss, "data": case.name, "n": case.n, "d": case.X.shape[1], "ours, s": ours.seconds,
            "our gap": ours.gap, "solver": ours.solver, "peer": peer, "ratio": race.ratio(peer), "marks": {},
        }  # fmt: skip
        best = race.best(peer)
        if best is not None:
            bound = race.is_bound(peer)
            row |= {"theirs, s": best.longest if bound else best.seconds, "route": best.route}
            row["their distance"] = best.nearest
            row["marks"] = {"theirs, s": MORE, "ratio": MORE} if bound else {}
        rows.append(row)
    return rows


def check_huber(case: LinearCase) -> list[dict]:
    """The coefficients of both fits, left to converge."""
    theirs = make_huber(case.C, tol=1e-10, max_iter=100_000)
    _, theirs = time_once(lambda: theirs.fit(case.X, case.y))
    ours = case.make_ours(1e-10).fit(case.X, case.y)
    far = np.abs(ours.coef_ - theirs.coef_).max()
    sizes = [float(np.linalg.norm(model.coef_)) for model in (ours, theirs)]
    return [lay_check(f"huber, {case.name}", "|w|; largest difference of a coefficient", *sizes, float(far))]


def check_quantile(case: LinearCase) -> list[dict]:
    """The mean pinball loss of both fits, without any penalty."""
    route = ROUTES["QuantileRegressor, highs"]
    ours = case.make_ours(TOL).fit(case.X, case.y)
    machines = (ours.coef_, float(ours.intercept_[0])), route.fit(case, None)
    plain = LinearCase(case.name, case.loss, case.X, case.y, 1.0 / case.n, case.intercept, case.shape)
    losses = [plain.primal(w, b) - 0.5 * float(w @ w) for w, b in machines]
    return [lay_check(case.name, "mean pinball loss", *losses, (losses[0] - losses[1]) / losses[1])]


def lay_check(case: str, what: str, ours: float, theirs: float, difference: float) -> dict:
    """A row of the table of checks."""
    return {"case": case, "what is compared": what, "ours": ours, "theirs": theirs, "difference": difference}


CHECKED = {"huber": check_huber, "quantile": check_quantile}


def summarise(rows: list[dict]) -> list[str]:
    """The geometric mean and the least ratio of every loss; where we are slower."""
    findings = []
    for loss in dict.fromkeys(row["loss"] for row in rows):
        best: dict[str, tuple[float, str]] = {}  # the ratio of each set, and the mark of a bound
        for row in rows:
            if row["loss"] == loss and row["ratio"] is not None:
                data = f"{row['data']}, n = {row['n']:,}"
                best[data] = min((row["ratio"], row["marks"].get("ratio", "")), best.get(data, (math.inf, "")))
        if best:
            least, mark = min(best, key=lambda data: best[data]), max(mark for _, mark in best.values())
            ratio, own = best[least]
            findings.append(
                f"{loss}: geometric mean of the ratios to the fastest peer "
                f"{average([each for each, _ in best.values()]):.2f}{mark} over {len(best)} sets, "
                f"least {ratio:.2f}{own} ({least})."
            )
    slower = [f"{row['loss']} on {row['data']} ({row['peer']})" for row in rows if (row["ratio"] or math.inf) < 1]
    missed = [f"{row['loss']} on {row['data']}" for row in rows if row["our gap"] > TOL]
    findings.append(f"Slower than a peer on: {', '.join(slower) or 'nothing'}.")
    findings.append(f"Our gap is above 1e-6 on: {', '.join(dict.fromkeys(missed)) or 'nothing'}.")
    if any(row["marks"] for row in rows):
        findings.append(f"{MORE}: more than that; the peer was stopped.")
    return findings


def run(*, brief: bool) -> Report:
    """Every problem; a few hundred rows of generated data to be brief."""
    report = Report("linear_losses", PURPOSE, [], [])
    for case in list_generated(300):
        warm_up(case, TOL)
    races, checks = [], []
    for cases in (list_generated(400 if brief else GENERATED), () if brief else list_real()):
        for case in cases:
            least = read_limit() if case.loss == "quantile" else None  # one fit, worth waiting for
            races.append(run_race(case, TOL, list_routes(case.loss), least_cap=least))
            checks += CHECKED[case.loss](case) if case.loss in CHECKED else []
    rows = [row for race in races for row in lay_rows(race)]
    report.tables = [
        Table("Seconds to the same primal value", COLUMNS, rows),
        Table("Whether the problems are the same", CHECKS, checks),
        Table("Every route", ROUTE_COLUMNS, [row for race in races for row in lay_routes(race)]),
    ]
    report.findings = summarise(rows) + list(EQUAL.values())
    return report
