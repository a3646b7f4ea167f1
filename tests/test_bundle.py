"""Cutting planes and bundles on regularised risks: every rule, few cuts, paths, mixtures of answers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from class_problems import CLASS_LOSSES, find_class_optimum, make_class_problem
from linear_problems import EXAMPLES, find_optimum, make_data, make_linear_problem, pose
from time_allowances import HANG_SECONDS

from maxmargin import Bundle, RiskClassifier, RiskRegressor, explain, path
from maxmargin.certificates.certificate import judge
from maxmargin.model.features import Design
from maxmargin.model.formulations import Risk
from maxmargin.model.losses import F1, METRICS, ErrorRate, Hinge, RocAuc
from maxmargin.model.problem import Mixture, Point, Problem
from maxmargin.model.samples import wrap
from maxmargin.solvers import SOLVERS
from maxmargin.solvers.choice import plan
from maxmargin.solvers.loop import solve, solve_stages
from maxmargin.solvers.paths import solve_path
from maxmargin.solvers.result import Outcome, Result
from maxmargin.solvers.sequence import PreviousSolve

STRUCTURED = ("frank_wolfe", "structured_bundle")
METHODS = ("ocas", "bmrm", "line-search", "proximal-bundle", "trust-region-bundle", "level-bundle")
OTHERS = METHODS[1:]  # ocas goes over all losses in test_linear_solvers
CS = [3.0, 0.01, 0.3, 10.0, 0.03, 1.0, 0.1, 0.02]  # in no order
PATH_LOSSES = ("hinge", "logistic", "squared_hinge")
every_method = pytest.mark.parametrize("method", METHODS)
every_loss = pytest.mark.parametrize("name", EXAMPLES)
both_intercepts = pytest.mark.parametrize("intercept", ["free", "regularised"])


def follow(problem: Problem, solver: Bundle, tol: float, previous: PreviousSolve) -> Result:
    """A solve that knows the last run, as those along a path do."""
    return solve_stages(problem, plan(problem, solver, tol), tol, previous_run=previous)


def walk(problem: Problem, solver: Bundle, tol: float):
    """A run to its end, round by round, and what it believed after each."""
    run, rounds = solver.start(problem, tol), []
    outcome = Outcome.GOING
    while outcome is Outcome.GOING:
        outcome = run.advance(1, 5.0)
        rounds.append(run.progress(0.0))
        assert len(rounds) < 3000
    assert outcome is Outcome.DONE
    return run, rounds


def check_walk(problem: Problem, solver: Bundle, optimum: float, tol: float) -> list:
    """The optimum, certified; bounds below it and values that never rise all along the way."""
    run, rounds = walk(problem, solver, tol)
    certificate, slack = judge(problem, run.point()), 1e-9 * abs(optimum)
    assert certificate.relative_gap <= tol
    assert certificate.primal == pytest.approx(optimum, rel=tol)
    assert certificate.dual <= optimum + slack
    assert optimum <= certificate.primal + slack
    assert max(each.dual for each in rounds) <= optimum + slack
    assert np.all(np.diff([each.primal for each in rounds]) <= 0)
    assert np.all(np.diff([each.dual for each in rounds]) >= 0)
    return rounds


# ---- the optimum ----------------------------------------------------------------------------------------------


@both_intercepts
@every_loss
@pytest.mark.parametrize("method", OTHERS)
def test_every_method_on_every_loss(method, name, intercept):
    """Each rule ends at the optimum of a general solver, and never claims more than that."""
    check_walk(make_linear_problem(name, intercept), Bundle(method), find_optimum(name, intercept), 1e-6)


@every_method
@pytest.mark.parametrize("name", CLASS_LOSSES)
def test_every_method_on_losses_of_classes(name, method):
    """One w for each class; free intercepts cost a faint ridge, which the certificate does not know of."""
    check_walk(
        make_class_problem(name, "regularised", n=20),
        Bundle(method),
        find_class_optimum(name, "regularised", n=20),
        1e-6,
    )
    result = solve(make_class_problem(name, "free", n=20), Bundle(method), tol=1e-6, max_seconds=HANG_SECONDS)
    optimum = find_class_optimum(name, "free", n=20)
    assert result.converged
    assert result.certificate.primal == pytest.approx(optimum, rel=1e-6)
    assert result.certificate.dual <= optimum * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("Model", "loss", "shape", "seed"),
    [
        (RiskClassifier, "exponential", (6, 1), 8), (RiskClassifier, "exponential", (6, 1), 13),
        (RiskClassifier, "exponential", (8, 3), 43), (RiskRegressor, "poisson", (6, 1), 12),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_exponentials_of_large_numbers(Model, loss, shape, seed):
    """Where values of X are so large that every step overflows, cuts stay finite, and the certificate is a true one."""
    X = 1e8 * np.random.default_rng(seed).normal(size=shape)
    y = np.arange(len(X)) % 2
    model = Model(loss, solver="bundle", max_iter=60).fit(X, y)
    reference = Model(loss, tol=1e-6).fit(X / 1e8, y, np.full(len(X), 1e16)).certificate_  # in other units of w
    assert model.certificate_.dual * 1e16 <= reference.primal
    assert reference.dual <= model.certificate_.primal * 1e16
    assert np.isfinite(model.coef_).all()


@both_intercepts
@pytest.mark.parametrize("name", ["hinge", "logistic"])
@every_method
def test_few_cuts(method, name, intercept):
    """Six cuts are enough: what is melted into their mean still proves the bound."""
    rounds = check_walk(make_linear_problem(name, intercept), Bundle(method, 6), find_optimum(name, intercept), 1e-4)
    assert max(each.active for each in rounds) <= 6


@pytest.mark.parametrize("max_cuts", [4, 6])
@every_method
def test_cuts_are_melted(method, max_cuts):
    """With thirteen coordinates and as few cuts some that have weight must go, and the bound stays one."""
    problem = make_linear_problem("hinge", "regularised", n=200, d=12)
    run, rounds = walk(problem, Bundle(method, max_cuts), 1e-3)
    certificate = judge(problem, run.point())
    assert run.descent.aggregated > 0
    assert max(each.active for each in rounds) <= max_cuts
    assert certificate.relative_gap <= 1e-3
    optimum = find_optimum("hinge", "regularised", n=200, d=12)
    assert certificate.dual <= optimum * (1.0 + 1e-9) <= certificate.primal * (1.0 + 2e-9)


def test_names_of_methods():
    """BMRM and OCAS are the first two methods of Schmidt-Thieme's lecture notes."""
    problem = make_linear_problem("hinge", "free")
    for name, other in (("bmrm", "cutting-plane"), ("ocas", "cutting-plane-line-search")):
        one, two = (solve(problem, Bundle(each), tol=1e-6) for each in (name, other))
        assert one.n_iter == two.n_iter
        np.testing.assert_array_equal(one.point.coef, two.point.coef)
    with pytest.raises(ValueError, match=r"method must be one of .*, got 'kelley'\."):
        Bundle("kelley")
    with pytest.raises(ValueError, match="max_cuts must be 4 or more, got 3"):
        Bundle(max_cuts=3)


# ---- forms of the data ----------------------------------------------------------------------------------------


@every_method
def test_two_runs_are_the_same(method):
    """To the bit: a point, its certificate and the rounds it took."""
    for name in ("hinge", "logistic"):
        one, two = (solve(make_linear_problem(name), Bundle(method), tol=1e-6) for _ in range(2))
        assert (one.n_iter, one.certificate) == (two.n_iter, two.certificate)
        np.testing.assert_array_equal(one.point.coef, two.point.coef)
        np.testing.assert_array_equal(one.point.a, two.point.a)


@every_method
@pytest.mark.parametrize("name", ["hinge", "logistic"])
def test_sparse_equals_dense(name, method):
    """P and w, at a tolerance that leaves nothing to the path taken."""
    X, y, c = make_data(EXAMPLES[name], n=30, d=3)
    dense, sparse = (
        solve(pose(EXAMPLES[name], form(X), y, c), Bundle(method), tol=1e-10) for form in (np.asarray, sp.csr_array)
    )
    assert dense.converged
    assert sparse.converged
    assert sparse.certificate.primal == pytest.approx(dense.certificate.primal, rel=1e-9)
    np.testing.assert_allclose(sparse.point.coef, dense.point.coef, atol=1e-4)


@pytest.mark.parametrize("name", ["hinge", "logistic"])
def test_float32(name):
    """Data in single precision are those numbers: the same optimum as in double precision."""
    X, y, c = make_data(EXAMPLES[name])
    X = X.astype(np.float32)
    single, double = (solve(pose(EXAMPLES[name], each, y, c), Bundle(), tol=1e-6) for each in (X, X.astype(float)))
    assert single.converged
    assert single.certificate.primal == pytest.approx(double.certificate.primal, rel=2e-6)
    assert single.certificate.dual <= double.certificate.primal


# ---- paths ----------------------------------------------------------------------------------------------------


def make_cloud(n: int = 500, d: int = 10, seed: int = 0):
    """Two classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n) > 0, 1, -1)


def fit_alone(loss: str, X, y, weight=None, **settings) -> list:
    """The results of fits without memory, one for each C."""
    return [RiskClassifier(loss, C=C, solver=Bundle(), **settings).fit(X, y, weight).result_ for C in CS]


@pytest.mark.parametrize("loss", PATH_LOSSES)
def test_path_equals_fits_and_asks_less(loss):
    """A bundle that remembers its cuts finds at every C what a cold fit finds, for a fraction of the products."""
    X, y = make_cloud()
    found, alone = path(X, y, Cs=CS, loss=loss, solver=Bundle(), tol=1e-4), fit_alone(loss, X, y)
    assert found.converged.all()
    for mine, cold in zip(found.certificates, alone, strict=True):
        assert mine.relative_gap <= 1e-4
        assert mine.primal == pytest.approx(cold.certificate.primal, rel=1e-4)
        assert mine.dual <= cold.certificate.primal * (1.0 + 1e-12)
    calls, cold = ([each.counters["oracle_calls"] for each in results] for results in (found.results, alone))
    assert sum(calls) <= 4 * max(cold)
    assert sum(calls) < 0.7 * sum(cold)


@pytest.mark.parametrize(
    ("loss", "method"),
    [*(("hinge", method) for method in METHODS), ("logistic", "ocas"), ("squared_hinge", "proximal-bundle")],
)
def test_path_of_every_method_with_weights(loss, method):
    """Remembered cuts are right with sample weights and a regularised intercept, many of them or few."""
    X, y = make_cloud(60, 3)
    weight, Cs = np.random.default_rng(1).uniform(0.0, 2.0, 60).round(1), [1.0, 0.03, 0.3]
    settings = {"intercept": "regularised", "tol": 1e-6}
    alone = [RiskClassifier(loss, C=C, **settings).fit(X, y, weight).certificate_ for C in Cs]
    for solver in (Bundle(method), Bundle(method, 12)):
        found = path(X, y, Cs=Cs, loss=loss, sample_weight=weight, solver=solver, **settings)
        assert found.converged.all()
        for mine, cold in zip(found.certificates, alone, strict=True):
            assert mine.primal == pytest.approx(cold.primal, rel=1e-6)
            assert mine.dual <= cold.primal * (1.0 + 1e-12)


def test_memory_is_not_leaked():
    """A path leaves the user's own solver as it was, and the same solver follows another path as a new one would."""
    solver = Bundle("proximal-bundle", 50)
    first, second = (make_cloud(60, 3, seed) for seed in (0, 1))
    for X, y in (first, second, first):
        found, fresh = (path(X, y, Cs=CS, solver=each) for each in (solver, Bundle("proximal-bundle", 50)))
        np.testing.assert_array_equal(found.coefs, fresh.coefs)
    assert vars(solver) == vars(Bundle("proximal-bundle", 50))
    assert solver == Bundle("proximal-bundle", 50)
    assert (solver.method, solver.max_cuts) == ("proximal-bundle", 50)


@pytest.mark.parametrize("change", ["data", "labels", "loss", "weights", "intercept"])
def test_cuts_of_another_problem_are_not_reused(change):
    """A run takes the cuts of the one before it for the same risk at another C only."""
    solver, previous, loss = Bundle(), PreviousSolve(), EXAMPLES["hinge"]
    X, y, c = make_data(loss)
    features = Design(wrap(X))
    follow(Risk("free", 0.0, loss).pose(features, y, c), solver, 1e-6, previous)
    others = {
        "data": Risk("free", 0.0, loss).pose(Design(wrap(X[::-1].copy())), y, c),
        "labels": Risk("free", 0.0, loss).pose(features, -y[::-1].copy(), c),
        "loss": Risk("free", 0.0, Hinge(2.0)).pose(features, y, c),
        "weights": Risk("free", 0.0, loss).pose(features, y, c * np.linspace(0.5, 2.0, len(c))),
        "intercept": Risk("none", 0.0, loss).pose(features, y, c),
    }
    again, fresh = follow(others[change], solver, 1e-6, previous), solve(others[change], Bundle(), tol=1e-6)
    assert again.converged
    assert again.certificate == fresh.certificate
    np.testing.assert_array_equal(again.point.coef, fresh.point.coef)


@pytest.mark.parametrize("method", METHODS[:3])
def test_cuts_of_another_cost_are_reused(method):
    """The same risk at another C begins with the cuts there are; the same problem once more is all but solved."""
    X, y, c = make_data(EXAMPLES["hinge"], n=120, d=6)
    features, formulation = Design(wrap(X)), Risk("free", 0.0, EXAMPLES["hinge"])
    solver, previous, saved = Bundle(method), PreviousSolve(), []
    for factor in (1.0, 1.3, 0.1, 1.0, 1.0):
        problem = formulation.pose(features, y, factor * c)
        warm, cold = follow(problem, solver, 1e-4, previous), solve(problem, solver, tol=1e-4)
        assert warm.converged
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-4)
        saved.append(cold.counters["oracle_calls"] - warm.counters["oracle_calls"])
    assert saved[0] == 0
    assert min(saved[1], saved[3]) > 0
    assert saved[4] > 0.5 * cold.counters["oracle_calls"]


def test_path_of_a_metric():
    """The cuts of a loss of the whole list serve every C too."""
    X, y, c = make_data(EXAMPLES["hinge"], n=30)
    features = Design(wrap(X))
    problems = {C: Risk("none", 0.0, F1()).pose(features, y, C * c) for C in (0.1, 1.0, 5.0)}
    found = solve_path(problems.get, np.array(list(problems)), solver="bundle", tol=1e-7)
    for result, problem in zip(found, problems.values(), strict=True):
        assert result.converged
        assert result.certificate.primal == pytest.approx(
            solve(problem, "bundle", tol=1e-7).certificate.primal, rel=1e-7
        )


# ---- mixtures -------------------------------------------------------------------------------------------------


def pose_metric(loss, intercept: str = "none") -> Problem:
    """Thirty samples and a loss of the whole list."""
    X, y, c = make_data(EXAMPLES["hinge"], n=30)
    return pose(loss, X, y, c, intercept)


def judge_at(problem: Problem, mixture: Mixture | None):
    """The certificate of w = 0 and a mixture."""
    return judge(problem, Point(np.zeros(problem.n), 0.0, np.zeros(5), mixture))


@pytest.mark.parametrize("metric", METRICS)
def test_mixtures_never_prove_too_much(metric):
    """Whatever the scores and weights are, D is below the optimum: the judge asks the loss itself."""
    problem, rng = pose_metric(METRICS[metric]()), np.random.default_rng(0)
    result = solve(problem, tol=1e-8)
    assert result.converged
    centre, highest = result.point.mixture.scores, -np.inf
    for _ in range(100):
        near = centre[rng.integers(len(centre), size=6)]
        scores = near + rng.choice([0.0, 1e-3, 1.0, 30.0]) * rng.normal(size=near.shape)
        mixture = Mixture(rng.dirichlet(np.ones(6)), scores)
        highest = max(highest, judge_at(problem, mixture).dual)
    assert highest <= result.certificate.primal * (1.0 + 1e-12)
    assert highest > 0.5 * result.certificate.primal  # and the bound is not an empty one


@pytest.mark.parametrize("loss", [F1(), RocAuc()], ids=lambda loss: loss.name)
def test_weights_of_a_mixture(loss):
    """Weights count by their shares, and negative ones not at all."""
    problem = pose_metric(loss)
    point = solve(problem, tol=1e-8).point
    mixture, dual = point.mixture, judge(problem, point).dual
    assert judge_at(problem, mixture._replace(weights=7.0 * mixture.weights)).dual == pytest.approx(dual, rel=1e-12)
    astray = Mixture(np.append(mixture.weights, -3.0), np.vstack([mixture.scores, np.ones(30)]))
    assert judge_at(problem, astray).dual == pytest.approx(dual, rel=1e-12)
    assert judge_at(problem, None).dual == -np.inf
    assert judge_at(problem, None).relative_gap == np.inf


def test_mixture_without_weight_proves_nothing():
    """D = -inf, as without a mixture."""
    problem = pose_metric(F1())
    for weights in (np.zeros(1), np.array([-1.0])):
        assert judge_at(problem, Mixture(weights, np.zeros((1, 30)))).dual == -np.inf


def test_mixture_that_does_not_balance_proves_nothing():
    """With a free intercept the duals must sum to zero; all scores far below say they do not."""
    problem = pose_metric(F1(), "free")
    assert judge_at(problem, Mixture(np.ones(1), np.full((1, 30), -50.0))).dual == -np.inf


def test_error_rate_is_the_hinge():
    """Of all metrics one does split over samples: its optimum is that of a general solver."""
    for intercept in ("free", "regularised", "none"):
        result = solve(pose_metric(ErrorRate(), intercept), tol=1e-8)
        assert result.certificate.primal == pytest.approx(find_optimum("hinge", intercept, n=30), rel=1e-7)


@pytest.mark.parametrize("loss", [RocAuc(), METRICS["prbep"]()], ids=lambda loss: loss.name)
def test_free_intercept_that_the_loss_does_not_see(loss):
    """It changes nothing: the optimum is the one without it."""
    with_it, without = (solve(pose_metric(loss, intercept), tol=1e-8) for intercept in ("free", "none"))
    assert with_it.converged
    assert with_it.certificate.primal == pytest.approx(without.certificate.primal, rel=1e-7)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("bundle", *STRUCTURED)])
def test_other_solvers_refuse_whole_lists(solver):
    """With a sentence that says where to go."""
    problem = pose_metric(F1())
    assert "'bundle'" in SOLVERS[solver]().accepts(problem)
    with pytest.raises(ValueError, match="'bundle'"):
        solve(problem, solver)


def test_explain_names_the_bundle():
    """For losses of whole lists there is one solver."""
    assert explain(pose_metric(F1())) == "bundle, because f1 is a loss of all scores at once."
