"""Gradient descent, momentum and AdaGrad: bounds of the theorems, the dual points they carry, and every loss."""

from __future__ import annotations

import numpy as np
import pytest
from class_problems import CLASS_LOSSES, find_class_optimum, make_class_problem
from linear_problems import EXAMPLES, INTERCEPTS, KINKED, find_optimum, make_data, make_linear_problem, pose
from reference_problems import make_nu_classification, make_problem
from time_allowances import HANG_SECONDS

from maxmargin import SVC, AdaGrad, GradientDescent, LinearSVC, Status, solve
from maxmargin.model.features import ClassDesign, Design, Gram
from maxmargin.model.kernels import RBF, Linear, Polynomial
from maxmargin.model.losses import Hinge, LeastSquares, Multivariate, SquaredHinge
from maxmargin.model.problem import Point, Problem
from maxmargin.model.samples import wrap

SOLVERS = {
    "plain": GradientDescent(),
    "polyak": GradientDescent("polyak"),
    "nesterov": GradientDescent("nesterov"),
    "adagrad": AdaGrad(),
}
every_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS.keys())
every_loss = pytest.mark.parametrize("name", EXAMPLES)
every_intercept = pytest.mark.parametrize("intercept", INTERCEPTS)


def check_gap(problem: Problem, solver, optimum: float, tol: float) -> None:
    """Converged, and D <= P* <= P with P* from a solver that is not ours."""
    result = solve(problem, solver, tol=tol, max_seconds=HANG_SECONDS)
    certificate, slack = result.certificate, 1e-8 * abs(optimum)
    assert result.converged, f"{result.status}, relative gap {certificate.relative_gap:.2g} after {result.n_iter}"
    assert certificate.dual <= optimum + slack
    assert optimum <= certificate.primal + slack
    assert certificate.primal - optimum <= tol * abs(certificate.primal) + slack


# ---- every loss ---------------------------------------------------------------------------------------------


@every_intercept
@every_loss
@every_solver
def test_the_gap_is_real(solver, name, intercept):
    """Weights, dense data: the gap is reached and holds the optimum of a general solver."""
    tol = 3e-3 if name in KINKED else 1e-5
    check_gap(make_linear_problem(name, intercept, weighted=True), solver, find_optimum(name, intercept, True), tol)


@every_loss
def test_sparse_data_are_the_same(name):
    """Iterate by iterate."""
    runs = [
        solve(make_linear_problem(name, "regularised", form), GradientDescent(step=3e-3), tol=1e-2, max_iter=200)
        for form in ("dense", "sparse")
    ]
    assert runs[0].n_iter == runs[1].n_iter
    assert runs[0].certificate.primal == pytest.approx(runs[1].certificate.primal, rel=1e-12)


@pytest.mark.parametrize("intercept", ["free", "regularised"])
@every_loss
@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Polynomial(gamma=0.3, degree=2, coef0=1.0)], ids=["rbf", "poly"])
def test_kernels(kernel, name, intercept):
    """The kernel primal, by the representer theorem; SMO's optimum where SMO takes the loss."""
    problem = make_problem(EXAMPLES[name], kernel, intercept=intercept, n=30)
    result = solve(problem, GradientDescent("nesterov"), tol=3e-3, max_seconds=HANG_SECONDS)
    assert result.converged
    if problem.row is not None:
        best = solve(problem, "smo", tol=1e-9).certificate
        assert best.dual <= result.certificate.primal + 1e-9 * abs(best.dual)
        assert result.certificate.dual <= best.primal + 1e-9 * abs(best.primal)


@pytest.mark.parametrize("momentum", ["none", "polyak", "nesterov"])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic", "epsilon_insensitive"])
def test_a_linear_kernel_takes_the_same_steps(name, momentum):
    """Coefficients on the samples are another way to write w, and nothing else."""
    X, y, c = make_data(EXAMPLES[name])
    loss, steps = EXAMPLES[name], 40
    results = [
        solve(Problem(features, y, c, loss, 0.0), GradientDescent(momentum), tol=1e-12, max_iter=steps)
        for features in (Design(wrap(X)), Gram.from_data(Linear(), X))
    ]
    w, coef = (result.point.coef for result in results)
    np.testing.assert_allclose(X.T @ coef, w[:-1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("intercept", ["regularised", "none", "free"])
@pytest.mark.parametrize("name", CLASS_LOSSES)
def test_many_classes(name, intercept):
    """Losses of several scores; over kinks the free intercepts are refused."""
    problem = make_class_problem(name, intercept, weighted=True)
    if name == "multiclass_hinge" and intercept == "free":
        assert "regularised intercept" in GradientDescent().accepts(problem)
        return
    check_gap(problem, GradientDescent("nesterov"), find_class_optimum(name, intercept, True), 3e-3)


def test_many_targets():
    """The multivariate loss, against its normal equations."""
    rng = np.random.default_rng(3)
    X, targets = rng.normal(size=(40, 3)), rng.normal(size=(2, 40))
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    problem = Problem(ClassDesign(Design(wrap(X)), 2), targets, np.ones(40), Multivariate(M), np.zeros(2))
    best = solve(problem, "vector_ridge", tol=1e-10).certificate.primal
    check_gap(problem, GradientDescent("nesterov"), best, 1e-6)


# ---- the theorems -------------------------------------------------------------------------------------------


def descend(problem: Problem, solver, steps: int) -> np.ndarray:
    """P at every iterate, the start included."""
    run = solver.start(problem, 1e-15)
    values = [run.place.value]
    for _ in range(steps):
        run.advance(1, 0.0)
        values.append(run.place.value)
    return np.array(values)


def make_ill_conditioned(n: int = 120, d: int = 6, spread: float = 30.0) -> Problem:
    """Least squares on features whose sizes span a factor."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d)) * np.geomspace(1.0, spread, d)
    y = X @ rng.normal(size=d) / spread + rng.normal(size=n)
    return Problem(Design(wrap(X)), y, np.full(n, 1.0), LeastSquares(), None)


def solve_normal_equations(problem: Problem) -> tuple[np.ndarray, float, float]:
    """w*, P* and the largest eigenvalue of the Hessian of least squares."""
    X, y = problem.features.samples.X, problem.y
    hessian = np.eye(X.shape[1]) + X.T @ X
    w = np.linalg.solve(hessian, X.T @ y)
    return w, 0.5 * float(w @ w) + 0.5 * float(np.sum((X @ w - y) ** 2)), float(np.linalg.eigvalsh(hessian)[-1])


def test_theorem_6():
    """P_k - P* <= |w0 - w*|^2 / (2 step k) for step <= 1/L, on a smooth loss whose optimum is known."""
    problem = make_ill_conditioned()
    w, optimum, largest = solve_normal_equations(problem)
    for step in (1.0 / largest, 0.3 / largest):
        over = descend(problem, GradientDescent(step=step), 300)[1:] - optimum
        assert (over <= float(w @ w) / (2.0 * step * np.arange(1, 301)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", ["squared_hinge", "logistic", "huber", "squared_epsilon_insensitive"])
def test_theorem_6_at_the_default_step(name, intercept):
    """The L that is measured is one for which the bound holds, a free intercept minimised out included."""
    problem = make_linear_problem(name, intercept)
    best = solve(problem, tol=1e-12)
    coef = problem.features.combine(best.point.a) if best.point.coef is None else best.point.coef
    solver = GradientDescent()
    smoothness = solver.start(problem, 1e-9).objective.smoothness
    over = descend(problem, solver, 200)[1:] - best.certificate.dual
    assert (over <= smoothness * float(coef @ coef) / (2.0 * np.arange(1, 201)) * (1 + 1e-9) + 1e-12).all()


def test_theorem_7():
    """P_k - P* <= L/2 (1 - step mu)^k |w0 - w*|^2 with mu = 1; the printed theorem lacks L/2 and does not hold."""
    problem = make_ill_conditioned()
    w, optimum, largest = solve_normal_equations(problem)
    over = descend(problem, GradientDescent(step=1.0 / largest), 400) - optimum
    printed = (1.0 - 1.0 / largest) ** np.arange(401) * float(w @ w)
    assert (over <= 0.5 * largest * printed * (1 + 1e-9) + 1e-12 * optimum).all()
    assert over[0] > printed[0]


def test_smoothness_is_the_largest_eigenvalue():
    """L by Lanczos is at least that of the matrix, and at most a hundredth more."""
    problem = make_ill_conditioned()
    _, _, largest = solve_normal_equations(problem)
    assert largest <= GradientDescent().start(problem, 1e-6).objective.smoothness <= 1.01 * largest


@pytest.mark.slow
def test_momentum_is_faster_on_ill_conditioned_data():
    """Iterations to a certified gap of 1e-6: Polyak and Nesterov need a fifth of plain descent, or less."""
    problem = make_ill_conditioned()
    steps = {
        kind: solve(problem, GradientDescent(kind), tol=1e-6, max_seconds=HANG_SECONDS)
        for kind in ("none", "polyak", "nesterov")
    }
    assert all(result.converged for result in steps.values())
    assert 5 * steps["polyak"].n_iter <= steps["none"].n_iter
    assert 5 * steps["nesterov"].n_iter <= steps["none"].n_iter


def test_the_report_s_momentum():
    """beta and step given: exactly v <- beta v + step g, w <- w - v, the look ahead at w - beta v."""
    X, y, c = make_data(EXAMPLES["squared_hinge"])
    problem = pose(EXAMPLES["squared_hinge"], X, y, c, "none")

    def differentiate(w):
        return w - 2.0 * X.T @ (c * y * np.maximum(0.0, 1.0 - y * (X @ w)))

    for kind in ("polyak", "nesterov"):
        w, v = np.zeros(X.shape[1]), np.zeros(X.shape[1])
        run = GradientDescent(kind, beta=0.4, step=0.003).start(problem, 1e-12)
        for _ in range(25):
            v = 0.4 * v + 0.003 * differentiate(w - 0.4 * v if kind == "nesterov" else w)
            w = w - v
            run.advance(1, 0.0)
        np.testing.assert_allclose(run.u[:-1], w, rtol=1e-10)


def test_adagrad_by_hand():
    """s <- s + g^2, w <- w - step g / sqrt(s + offset)."""
    X, y, c = make_data(EXAMPLES["squared_hinge"])
    run = AdaGrad(step=0.5).start(pose(EXAMPLES["squared_hinge"], X, y, c, "none"), 1e-12)
    w, s = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for _ in range(25):
        g = w - 2.0 * X.T @ (c * y * np.maximum(0.0, 1.0 - y * (X @ w)))
        s = s + g * g
        w = w - 0.5 * g / np.sqrt(s + 1e-8)
        run.advance(1, 0.0)
    np.testing.assert_allclose(run.u[:-1], w, rtol=1e-10)


# ---- the dual points ----------------------------------------------------------------------------------------


@every_intercept
@pytest.mark.parametrize("momentum", ["none", "polyak", "nesterov"])
@pytest.mark.parametrize("name", KINKED)
def test_w_is_the_mean_of_its_duals(name, momentum, intercept):
    """Over kinks w = sum_i average_i phi(x_i) throughout, and the mean stays within its bounds and balance."""
    problem = make_linear_problem(name, intercept)
    run = GradientDescent(momentum).start(problem, 1e-9)
    run.advance(60, np.inf)
    np.testing.assert_allclose(problem.features.combine(run.average), run.u, rtol=1e-9, atol=1e-9)
    row, slack = problem.row, 1e-12 * np.abs(run.average).max()
    assert (run.average >= row.lo - slack).all()
    assert (run.average <= row.hi + slack).all()
    assert problem.imbalance(run.average) <= 1e-9


@pytest.mark.parametrize("name", ["hinge", "absolute", "quantile"])
def test_dual_steps_are_the_best_on_their_line(name):
    """Without momentum D(average + t (a - average)) is largest at the step that is taken."""
    problem = make_linear_problem(name, "none")
    run = GradientDescent().start(problem, 1e-9)
    run.advance(20, np.inf)
    before, answer = run.average, run.place.a
    run.advance(1, 0.0)
    taken = problem.dual(run.average)
    for t in np.linspace(0.0, 1.0, 41):
        assert problem.dual(before + t * (answer - before)) <= taken + 1e-9 * abs(taken)


# ---- batches ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("solver", [GradientDescent(batch=8), AdaGrad(batch=8)], ids=["descent", "adagrad"])
@pytest.mark.parametrize("intercept", ["regularised", "free"])
@pytest.mark.parametrize("name", ["hinge", "squared_hinge", "logistic", "exponential", "epsilon_insensitive"])
def test_batches(name, intercept, solver):
    """A few samples a step: the gap is real all the same."""
    check_gap(make_linear_problem(name, intercept), solver, find_optimum(name, intercept), 0.1)


def test_batches_with_a_kernel_and_classes():
    """The same through kernel rows and through several scores."""
    kernel = make_problem(Hinge(), RBF(gamma=0.5), intercept="regularised", n=40)
    check_gap(kernel, GradientDescent(batch=5), solve(kernel, "smo", tol=1e-9).certificate.primal, 0.03)
    classes = make_class_problem("softmax", "free")
    check_gap(classes, GradientDescent(batch=5), find_class_optimum("softmax", "free"), 0.03)


def test_the_order_of_batches_depends_on_the_seed_alone():
    """Same seed, same bits; another seed, another path to the same gap."""
    problem = make_linear_problem("hinge", "regularised")
    first, again, other = (
        solve(problem, GradientDescent(batch=7, seed=seed), tol=1e-3, max_iter=20).certificate.primal
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_batch_of_all_samples_is_descent_on_all():
    """A batch larger than the data is the data."""
    problem = make_linear_problem("squared_hinge", "none")
    smoothness = GradientDescent().start(problem, 1e-6).objective.smoothness
    steps = [
        solve(problem, GradientDescent(step=1.0 / smoothness, batch=batch), tol=1e-12, max_iter=30).certificate.primal
        for batch in (48, 1000)
    ]
    assert steps[0] == pytest.approx(steps[1], rel=1e-13)


# ---- stopping -----------------------------------------------------------------------------------------------


def test_patience():
    """The report's rule: done when the objective has not been lower for five iterations, and the sentence says so."""
    problem = make_linear_problem("hinge", "regularised")
    solver = AdaGrad(step=0.5, stop="patience", patience=5)
    result = solve(problem, solver, tol=1e-12)
    assert result.status is Status.CONVERGED
    assert "patience" in result.message
    values = descend(problem, solver, result.n_iter)
    assert values.argmin() == result.n_iter - 5
    assert result.certificate.primal == pytest.approx(values.min(), rel=1e-12)
    assert result.certificate.relative_gap > 1e-12


def test_limits():
    """max_iter and max_seconds keep the best point; a step that is too long stalls and does not run for ever."""
    problem = make_linear_problem("hinge", "regularised")
    assert solve(problem, GradientDescent(), tol=1e-12, max_iter=7).n_iter == 7
    assert solve(problem, "adagrad", tol=1e-12, max_seconds=0.2).status is Status.MAX_SECONDS
    wild = solve(make_linear_problem("least_squares"), GradientDescent(step=10.0), tol=1e-6, max_seconds=HANG_SECONDS)
    assert wild.status is Status.STALLED
    assert np.isfinite(wild.certificate.primal)


@every_solver
def test_warm_starts(solver):
    """From the optimum no more than a few iterations are left."""
    problem = make_linear_problem("squared_hinge")
    best = solve(problem, tol=1e-10).point
    assert solve(problem, solver, tol=1e-4, warm=best).n_iter <= 5
    assert solve(problem, solver, tol=1e-4, warm=Point(best.a)).converged


# ---- machines -----------------------------------------------------------------------------------------------


def test_machines_read_the_primal():
    """Decision values are those of the certified point, for kernels and linear machines."""
    X, y, _ = make_data(EXAMPLES["hinge"], n=60)
    for model in (SVC(solver=GradientDescent("nesterov"), tol=1e-3), LinearSVC(solver="gradient_descent", tol=1e-3)):
        exact = type(model)(tol=1e-9).fit(X, y)
        model.fit(X, y)
        assert model.certificate_.relative_gap <= 1e-3
        f = model.decision_function(X)
        assert np.abs(f - exact.decision_function(X)).max() < 0.2
        losses = Hinge().value(f, y) if isinstance(model, SVC) else SquaredHinge().value(f, y)
        size = model.dual_coef_ @ model.decision_function(model.support_vectors_) if isinstance(model, SVC) else 0.0
        if isinstance(model, LinearSVC):
            norm = float(np.sum(model.coef_**2) + np.sum(model.intercept_**2))
            assert model.certificate_.primal == pytest.approx(0.5 * norm + losses.sum())
        else:
            norm = float(size[0] - model.intercept_[0] * model.dual_coef_.sum())
            assert model.certificate_.primal == pytest.approx(0.5 * norm + losses.sum())


@every_loss
def test_rows_without_weight_have_no_say(name):
    """Whatever they hold."""
    X, y, c = make_data(EXAMPLES[name], n=30)
    c[20:] = 0.0
    wild = X.copy()
    wild[20:] = 1e3 * X[20:] + 7.0
    for solver in (GradientDescent("nesterov"), AdaGrad()):
        first, second = (
            solve(pose(EXAMPLES[name], data, y, c), solver, tol=1e-3, max_iter=50).certificate for data in (X, wild)
        )
        assert first.primal == pytest.approx(second.primal, rel=1e-9)


# ---- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: GradientDescent("heavy"), "GradientDescent's momentum must be one of .* got 'heavy'"),
        (lambda: GradientDescent(beta=1.0), r"GradientDescent's beta must be a number in \[0, 1\) or None, got 1.0"),
        (lambda: GradientDescent(step=0.0), "GradientDescent's step must be a positive number or None, got 0.0"),
        (lambda: GradientDescent(step="long"), "GradientDescent's step must be a positive number or None, got 'long'"),
        (lambda: GradientDescent(batch=0), "GradientDescent's batch must be an integer of at least 1, got 0"),
        (lambda: GradientDescent(patience=2.5), "GradientDescent's patience must be an integer of at least 1, got 2.5"),
        (lambda: GradientDescent(seed=-1), "GradientDescent's seed must be an integer of at least 0, got -1"),
        (lambda: AdaGrad(stop="never"), "AdaGrad's stop must be one of .* got 'never'"),
        (lambda: AdaGrad(step=np.inf), "AdaGrad's step must be a positive number or None, got inf"),
        (lambda: AdaGrad(offset=0), "AdaGrad's offset must be a positive number, got 0"),
    ],
)
def test_bad_parameters(make, sentence):
    """One sentence with the parameter and its value."""
    with pytest.raises(ValueError, match=sentence):
        make()


def test_refusals():
    """Problems in layers, other penalties, and losses of whole lists, each with who takes them."""
    X, y, c = make_data(EXAMPLES["hinge"], n=12)
    layers = make_nu_classification(Design(wrap(X)), y, c, 0.4)
    assert GradientDescent().accepts(layers) == (
        "GradientDescent does not take the problems of the nu machines; use 'smo'."
    )
    assert "'proximal_newton'" in AdaGrad().accepts(make_linear_problem("logistic", penalty="l1"))
