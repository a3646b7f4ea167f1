"""Probabilities of kernel machines, and folds that are interrupted."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import sklearn.svm
from machine_data import every_weighting, make_classes
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import StratifiedKFold

from maxmargin import SVC, SVR, LinearSVC, LinearSVR, NuSVC, RiskClassifier, RiskClassifierCV, load, save
from maxmargin.estimators import probability
from maxmargin.estimators.fold_decisions import TaskFold
from maxmargin.estimators.tasks import Budget
from maxmargin.model_selection import GridSearchCV
from maxmargin.solvers.smo.active import ITERATIONS
from maxmargin.solvers.smo.cells import JointCells

ignore_deprecation = pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_folds_of_two_classes_are_those_of_scikit_learn(share):
    """The same random numbers hold out the same samples as StratifiedKFold, and as many numbers are drawn."""
    y = np.where(np.random.default_rng(3).random(47) < share, 1.0, -1.0)
    folds = min(5, int((y > 0).sum()), int((y < 0).sum()))
    ours, theirs = np.random.RandomState(8), np.random.RandomState(8)
    place = probability.assign_folds(y, folds, ours)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=theirs)
    for fold, (_, test) in enumerate(splitter.split(y[:, None], y)):
        assert np.flatnonzero(place == fold).tolist() == test.tolist()
    assert ours.rand() == theirs.rand()


@ignore_deprecation
@pytest.mark.parametrize("estimator", [SVC, NuSVC], ids=["SVC", "NuSVC"])
@every_weighting
def test_binary_probabilities_agree_with_predictions(estimator, weighted):
    """The larger probability is that of the predicted class, it grows with the decision, and rows sum to one."""
    X, y = make_classes(150, 2)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y)) if weighted else None
    model = estimator(probability=True, random_state=0).fit(X, y, sample_weight=weight)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    order = np.argsort(model.decision_function(X))
    assert (np.diff(p[order, 1]) >= 0).all()
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)


def draw(seed: int) -> np.random.RandomState:
    """A generator, which a fit draws from."""
    return np.random.RandomState(seed)


@ignore_deprecation
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", [int, draw], ids=["number", "generator"])
@pytest.mark.parametrize("estimator", [SVC, NuSVC], ids=["SVC", "NuSVC"])
def test_probabilities_repeat_by_random_state(estimator, make, n_classes):
    """The same seed, the same probabilities to the last bit, alone, in a search and side by side; others differ."""
    X, y = make_classes(120, n_classes)
    given = {"probability": True, "n_jobs": 1}

    def fit(seed: int, **more) -> np.ndarray:
        return estimator(**given | more, random_state=make(seed)).fit(X, y).predict_proba(X)

    first = fit(0)
    np.testing.assert_array_equal(fit(0), first)
    np.testing.assert_array_equal(fit(0, n_jobs=2), first)
    assert not np.array_equal(fit(1), first)
    search = GridSearchCV(estimator(**given, random_state=make(0)), {"shrinking": [True]}, cv=2).fit(X, y)
    if make is int:
        np.testing.assert_array_equal(search.predict_proba(X), first)


@ignore_deprecation
@pytest.mark.parametrize("estimator", [SVC, NuSVC], ids=["SVC", "NuSVC"])
def test_probabilities_repeat_by_the_seed_of_numpy(estimator):
    """random_state=None draws from NumPy's own generator, as in scikit-learn."""
    X, y = make_classes(120, 2)
    found = []
    for seed in (0, 0, 1):
        np.random.seed(seed)  # noqa: NPY002
        found.append(estimator(probability=True).fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


@pytest.mark.parametrize(
    "model", [RiskClassifier("logistic"), RiskClassifierCV(loss="logistic", cv=2)], ids=["C", "Cs"]
)
def test_probabilities_of_a_loss_always_repeat(model):
    """Nothing is drawn for them, or from what everyone draws from."""
    X, y = make_classes(120, 2)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again = (clone(model).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@ignore_deprecation
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_many_classes(multi_class):
    """They are probabilities, near those of scikit-learn, and as random_state says."""
    X, y = make_classes(200, 3)
    model = SVC(probability=True, multi_class=multi_class, random_state=0).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (200, 3)
    assert ((p >= 0) & (p <= 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p.argmax(axis=1) == model.predict(X)).mean() > 0.95
    again = SVC(probability=True, multi_class=multi_class, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), p)
    theirs = sklearn.svm.SVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    assert np.abs(p - theirs).mean() < 0.06


@ignore_deprecation
def test_probabilities_only_where_asked_for():
    """Without probability=True there is no predict_proba."""
    X, y = make_classes(60, 2)
    assert not hasattr(SVC().fit(X, y), "predict_proba")
    assert hasattr(SVC(probability=True, random_state=0).fit(X, y), "predict_proba")


def press_before_fold(monkeypatch, number: int) -> None:
    """Ctrl-C right before the fold of a number."""

    def press(task, train, test):
        if press.number == number:
            signal.raise_signal(signal.SIGINT)
        press.number += 1
        return TaskFold(task, train, test)

    press.number = 0
    monkeypatch.setattr(probability, "TaskFold", press)


@ignore_deprecation
@pytest.mark.parametrize("fold", [0, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interrupted_folds_make_no_probabilities(n_classes, fold, monkeypatch, tmp_path):
    """The machine is whole but for them, in a file too; going on makes those of a fit that was not interrupted."""
    X, y = make_classes(150, n_classes)
    whole = SVC(probability=True, random_state=0).fit(X, y)
    model = SVC(probability=True, random_state=0)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch:
            press_before_fold(patch, fold)
            with pytest.raises(KeyboardInterrupt):
                model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, handler)
    save(model, tmp_path / "model.maxmargin")
    for each in (model, load(tmp_path / "model.maxmargin")):
        assert each.result_.converged
        np.testing.assert_array_equal(each.predict(X), whole.predict(X))
        with pytest.raises(NotFittedError, match="the fit ended before the probabilities were there"):
            each.predict_proba(X)
        each.set_params(warm_start=True).fit(X, y)
        np.testing.assert_allclose(each.predict_proba(X), whole.predict_proba(X), atol=1e-3)


@ignore_deprecation
def test_folds_without_a_step_make_no_probabilities(monkeypatch):
    """Where a budget leaves nothing for them, the fit says so; where it limits the folds, they give what they can."""
    X, y = make_classes(150, 2)
    model, shares = SVC(probability=True, random_state=0, max_seconds=100.0), iter([None])
    with monkeypatch.context() as patch:
        patch.setattr(Budget, "share", lambda self: next(shares, 0.0))
        with pytest.warns(ConvergenceWarning, match="ended before the probabilities were fitted; raise max_seconds"):
            model.fit(X, y)
    assert model.result_.converged
    with pytest.raises(NotFittedError, match="the fit ended before the probabilities were there"):
        model.predict_proba(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=20"):
        model.set_params(max_iter=20).fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == y).mean() > 0.6


FOLDED = {
    "two classes": (SVC(tol=1e-7), 2),
    "three classes": (SVC(C=10.0, tol=1e-7), 3),
    "one against the rest": (SVC(multi_class="ovr", tol=1e-7), 3),
    "linear": (SVC(kernel="linear", tol=1e-7), 3),
    "squared hinge": (SVC(loss="squared_hinge", tol=1e-7), 2),
    "weights of classes": (SVC(class_weight="balanced", tol=1e-7), 3),
    "NuSVC": (NuSVC(nu=0.3, tol=1e-7), 3),
}


@ignore_deprecation
@pytest.mark.parametrize("name", FOLDED)
def test_folds_over_one_matrix_are_those_of_single_solves(name, monkeypatch):
    """The same probabilities to what the gaps leave open, and all but one fold in ten have no solve of their own."""
    estimator, n_classes = FOLDED[name]
    X, y = make_classes(240, n_classes)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    model = clone(estimator).set_params(probability=True, random_state=0)
    alone = []
    train = probability.FoldSolves.train
    monkeypatch.setattr(probability.FoldSolves, "train", lambda self, *parts: alone.append(1) or train(self, *parts))
    shared = model.fit(X, y, sample_weight=weight).predict_proba(X)
    assert len(alone) <= 0.1 * 5 * len(model.results_)
    alone.clear()
    monkeypatch.setattr(probability.SharedFolds, "pose", lambda *_: None)
    single = model.fit(X, y, sample_weight=weight).predict_proba(X)
    assert len(alone) == 5 * len(model.results_)
    np.testing.assert_allclose(shared, single, atol=1e-4)


@ignore_deprecation
def test_folds_begin_at_the_duals_of_the_whole_fit(monkeypatch):
    """Scaled until they balance, within their bounds; folds then need fewer steps to the same machines."""
    X, y = make_classes(600, 3)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, len(y))
    model, steps, begun = SVC(C=3.0, probability=True, random_state=0), [], []
    start, solve = probability.SharedFolds.start, JointCells.solve

    def check_start(folds, a):
        start(folds, a)
        cells = folds.cells
        lo, hi, found = cells.rows[3][0, 0], cells.rows[4][0, 0], cells.a[0, 0]
        assert ((lo <= found) & (found <= hi)).all()
        sums, sizes = (np.add.reduceat(each, cells.ends[:-1]) for each in (found, np.abs(found)))
        assert (np.abs(sums) <= 1e-14 * sizes).all()
        assert (np.add.reduceat(np.abs(a), cells.ends[:-1]) > sizes).all()
        begun.append(1)

    def count_steps(cells, *arguments):
        solve(cells, *arguments)
        steps.append(cells.counts[..., ITERATIONS].sum())

    monkeypatch.setattr(probability.SharedFolds, "start", check_start)
    monkeypatch.setattr(JointCells, "solve", count_steps)
    warm = model.fit(X, y, sample_weight=weight).predict_proba(X)
    monkeypatch.setattr(probability.SharedFolds, "start", lambda *_: None)
    cold = model.fit(X, y, sample_weight=weight).predict_proba(X)
    assert len(begun) == 1
    assert 0 < steps[0] < 0.9 * steps[1]
    np.testing.assert_allclose(warm, cold, atol=1e-4)


@ignore_deprecation
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_long_folds_share_the_matrix_unless_the_kernel_is_linear(kernel, monkeypatch):
    X, y = make_classes(1400, 2)
    model, alone = SVC(kernel=kernel, probability=True, random_state=0), []
    train = probability.FoldSolves.train
    monkeypatch.setattr(probability.FoldSolves, "train", lambda self, *parts: alone.append(1) or train(self, *parts))
    found = model.fit(X, y).predict_proba(X)
    assert len(alone) == (5 if kernel == "linear" else 0)
    monkeypatch.setattr(probability.SharedFolds, "pose", lambda *_: None)
    np.testing.assert_allclose(found, model.fit(X, y).predict_proba(X), atol=1e-4)


@ignore_deprecation
def test_a_fold_that_has_not_converged_is_solved_alone(monkeypatch):
    """Its decisions are those of its own solve."""
    X, y = make_classes(200, 2)
    whole = SVC(probability=True, random_state=0).fit(X, y)
    judge = probability.SharedFolds.judge
    monkeypatch.setattr(
        probability.SharedFolds, "judge", lambda self, tol: judge(self, tol) & (np.arange(len(self.folds)) != 2)
    )
    alone = []
    train = probability.FoldSolves.train
    monkeypatch.setattr(probability.FoldSolves, "train", lambda self, *parts: alone.append(1) or train(self, *parts))
    again = SVC(probability=True, random_state=0).fit(X, y)
    assert len(alone) == 1
    np.testing.assert_allclose(again.predict_proba(X), whole.predict_proba(X), atol=1e-3)


@ignore_deprecation
@pytest.mark.parametrize("estimator", [SVC(C=3.0), NuSVC(nu=0.3)], ids=["SVC", "NuSVC"])
def test_folds_with_a_stale_intercept_get_the_best_one(estimator, monkeypatch):
    """Duals that are good enough need no other solve where the intercept alone is not."""
    X, y = make_classes(200, 2)
    model = clone(estimator).set_params(probability=True, random_state=0, tol=1e-6)
    whole = model.fit(X, y).predict_proba(X)
    solve, solves, alone = JointCells.solve, [], []

    def solve_with_another_intercept(cells, *arguments):
        solve(cells, *arguments)
        solves.append(1)
        cells.b += 0.1

    monkeypatch.setattr(JointCells, "solve", solve_with_another_intercept)
    train = probability.FoldSolves.train
    monkeypatch.setattr(probability.FoldSolves, "train", lambda self, *parts: alone.append(1) or train(self, *parts))
    again = model.fit(X, y).predict_proba(X)
    assert len(solves) == 1
    assert not alone
    np.testing.assert_allclose(again, whole, atol=1e-3)


@ignore_deprecation
@pytest.mark.parametrize("limits", [{"max_seconds": 60.0}, {"cache_size": 0.1}, {"solver": "qp"}], ids=repr)
def test_folds_with_limits_are_solved_alone(limits, monkeypatch):
    """A budget of time, a matrix that does not fit, another solver."""
    X, y = make_classes(200, 2)
    whole = SVC(probability=True, random_state=0).fit(X, y)
    alone = []
    train = probability.FoldSolves.train
    monkeypatch.setattr(probability.FoldSolves, "train", lambda self, *parts: alone.append(1) or train(self, *parts))
    model = SVC(probability=True, random_state=0, **limits).fit(X, y)
    assert len(alone) == 5
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("kind", [SVC, SVR, LinearSVC, LinearSVR])
def test_whole_numbers_for_C(kind):
    """C=10 is C=10.0, also without sample weights."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    whole, real = kind(C=10).fit(X, y), kind(C=10.0).fit(X, y)
    np.testing.assert_array_equal(whole.predict(X), real.predict(X))
