"""MetricSVC and RankSVM: against other solvers, other losses and all labellings, and what they say of bad input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from exact_programs import solve_exactly
from sklearn.base import clone
from sklearn.metrics import f1_score, precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV
from test_listwise import sum_over_pairs, tabulate

from maxmargin import LinearSVC, RiskClassifier, certify
from maxmargin.estimators import linear_machine
from maxmargin.estimators.metric import MetricSVC, choose_threshold
from maxmargin.estimators.ranking import RankSVM
from maxmargin.model.losses import METRICS

TIGHT = 1e-6
INTERCEPTS = ("free", "regularised", "none")
ORDERS = [name for name, metric in METRICS.items() if not metric.sees_intercept]
COUNTS = [name for name, metric in METRICS.items() if not metric.takes_weights]
every_metric = pytest.mark.parametrize("metric", METRICS)


def make_labels(n: int = 60, share: float = 0.3, seed: int = 0, d: int = 3):
    """Two classes that overlap, the second of them the rarer one; weights of which some are zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.3
    signal = X[:, 0] - 0.5 * X[:, 1] + 0.8 * rng.normal(size=n)
    weight = rng.uniform(0.3, 2.5, n)
    weight[rng.permutation(n)[:5]] = 0.0
    return X, np.where(signal > np.quantile(signal, 1.0 - share), "rare", "frequent"), weight


def make_queries(n: int = 60, seed: int = 0):
    """Relevance of four levels in five queries of different sizes, mixed together."""
    rng = np.random.default_rng(seed)
    X, group = rng.normal(size=(n, 3)), rng.choice(5, n, p=[0.1, 0.1, 0.2, 0.2, 0.4])
    signal = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=n) + 3.0 * group  # a level of its own for each query
    return X, np.digitize(signal - 3.0 * group, [-1.0, 0.0, 1.0]).astype(float), group


def measure_primal(model, X: np.ndarray, risk: float) -> float:
    """1/2 |w|^2 (with b where it is regularised) + C R."""
    b = np.ravel(model.intercept_)[0] if getattr(model, "intercept", "none") == "regularised" else 0.0
    return 0.5 * float(np.sum(model.coef_**2)) + 0.5 * b**2 + model.C * risk


def solve_program(X, y, labellings, errors, C: float, intercept: str) -> float:
    """min 1/2 |w|^2 + C xi with xi >= errors_j - sum of y_i f_i where labelling j is wrong, for all j."""
    columns = np.ones((len(y), 1)) if intercept != "none" else np.empty((len(y), 0))
    Phi = np.column_stack([X, columns])
    d = Phi.shape[1]
    H = np.zeros((d + 1, d + 1))
    H[:d, :d] = np.eye(d)
    if intercept == "free":
        H[d - 1, d - 1] = 0.0
    rows = np.column_stack([-np.where(labellings != y, y, 0.0) @ Phi, -np.ones(len(errors))])
    return solve_exactly(H, np.append(np.zeros(d), C), rows, -errors).value


def list_pairs(X, y, weight, group) -> tuple[np.ndarray, np.ndarray]:
    """x_p - x_q of all pairs, and what each counts: S_g s_p s_q / (sum of s_p s_q in the query)."""
    differences, counts = [], []
    for name in np.unique(group):
        members = np.flatnonzero(group == name)
        pairs = [(p, q) for p in members for q in members if y[p] > y[q]]
        products = np.array([weight[p] * weight[q] for p, q in pairs])
        differences += [X[p] - X[q] for p, q in pairs]
        counts += list(weight[members].sum() * products / max(products.sum(), 1e-300))
    return np.array(differences), np.array(counts)


def fit_pairs(X, y, weight, group, C: float) -> np.ndarray:
    """w of the hinge loss over all pairs, each given with both signs so that there are two classes."""
    Z, counts = list_pairs(X, y, weight, group)
    model = RiskClassifier("hinge", C=C, intercept="none", tol=1e-9)
    sides = np.repeat([1, -1], len(Z))
    return model.fit(np.vstack([Z, -Z]), sides, sample_weight=0.5 * np.tile(counts, 2)).coef_[0]


# ---- against other solvers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_error_is_the_linear_svc(intercept, weighted):
    """The same P as that of the hinge loss, at the same C, and the same machine."""
    X, y, weight = make_labels()
    weight = weight if weighted else None
    ours = MetricSVC("error", C=0.7, intercept=intercept, tol=1e-7).fit(X, y, sample_weight=weight)
    usual = LinearSVC(loss="hinge", C=0.7, intercept=intercept, tol=1e-9).fit(X, y, sample_weight=weight)
    assert ours.certificate_.primal == pytest.approx(usual.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, usual.coef_, atol=2e-3)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(
    ("metric", "parameters"),
    [
        ("f1", {}), ("fbeta", {"beta": 0.4}), ("fbeta", {"beta": 2.5}), ("error", {}), ("prbep", {}),
        ("precision_at_k", {"k": 2}), ("precision_at_k", {"k": 5}), ("recall_at_k", {"k": 0.5}), ("recall_at_k", {}),
    ],
)  # fmt: skip
def test_optimum_over_all_labellings(metric, parameters, intercept):
    """P and D enclose the optimum of the quadratic program with a row for each of the labellings of eight samples."""
    if intercept == "regularised" and metric in ORDERS:
        pytest.skip("there is nothing to regularise")
    X, names, _ = make_labels(n=8, share=0.4, seed=2)
    y = np.where(names == "rare", 1.0, -1.0)
    model = MetricSVC(metric, C=3.0, intercept=intercept, tol=TIGHT, **parameters).fit(X, names)
    labellings, errors = tabulate(model._loss(), y)
    posed = "none" if metric in ORDERS else intercept
    optimum = solve_program(X, y, labellings, errors, 3.0, posed)
    certificate = model.certificate_
    assert certificate.relative_gap <= TIGHT
    assert certificate.dual <= optimum + 1e-8
    assert certificate.primal >= optimum - 1e-8
    b = 0.0 if posed == "none" else model.intercept_
    risk = (errors - np.where(labellings != y, y * (X @ model.coef_[0] + b), 0.0).sum(axis=1)).max()
    assert certificate.primal == pytest.approx(measure_primal(model, X, risk), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_roc_auc_is_the_hinge_of_pairs(weighted):
    """The same w as from all differences of a positive and a negative sample, listed one by one."""
    X, y, weight = make_labels(n=40)
    weight = weight if weighted else np.ones(40)
    model = MetricSVC("roc_auc", C=0.5, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_[0], fit_pairs(X, y == "rare", weight, np.zeros(40), 0.5), atol=1e-3)
    f = X @ model.coef_[0]
    alive = weight > 0
    risk = sum_over_pairs(f[alive], (y == "rare")[alive], weight[alive], np.zeros(alive.sum()))[0]
    assert model.certificate_.primal == pytest.approx(measure_primal(model, X, risk), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_ranking_is_the_hinge_of_pairs(weighted):
    """The same w as from all pairs of every query, listed one by one."""
    X, y, group = make_queries()
    weight = np.random.default_rng(1).uniform(0.3, 2.0, len(y)) if weighted else np.ones(len(y))
    model = RankSVM(C=0.5, tol=1e-8).fit(X, y, group, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, fit_pairs(X, y, weight, group, 0.5), atol=1e-3)
    risk = sum_over_pairs(X @ model.coef_, y, weight, group)[0]
    assert model.certificate_.primal == pytest.approx(measure_primal(model, X, risk), rel=1e-9)


def test_one_query_of_two_levels_is_roc_auc():
    """RankSVM and MetricSVC are the same machine there."""
    X, y, weight = make_labels()
    ranking = RankSVM(tol=1e-8).fit(X, np.where(y == "rare", 7.0, 2.0), sample_weight=weight)
    metric = MetricSVC("roc_auc", tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ranking.coef_, metric.coef_[0], atol=1e-4)


@every_metric
def test_certificate_is_sound(metric):
    """A loose fit has a gap within its tolerance, and what it proves is true of the tight one."""
    X, y, _ = make_labels(n=150)
    loose, tight = (MetricSVC(metric, tol=tol).fit(X, y).certificate_ for tol in (0.05, TIGHT))
    assert loose.relative_gap <= 0.05
    assert tight.relative_gap <= TIGHT
    assert loose.dual <= tight.primal + 1e-12
    assert loose.primal >= tight.dual - 1e-12
    assert tight.kkt <= 1e-4


# ---- what the metrics are for ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["f1", "prbep"])
def test_training_for_the_metric_pays(metric):
    """Where one class is rare and C small, a machine trained for few errors finds none of it, others do."""
    X, y, _ = make_labels(n=600, share=0.15)
    before, after = (
        f1_score(y, MetricSVC(name, C=0.01).fit(X, y).predict(X), pos_label="rare") for name in ("error", metric)
    )
    assert before == 0.0
    assert after > 0.5


def test_beta_trades_precision_for_recall():
    """Large beta finds more of the rare class."""
    X, y, _ = make_labels(n=120)
    found = [np.mean(MetricSVC("fbeta", beta=beta).fit(X, y).predict(X)[y == "rare"] == "rare") for beta in (0.2, 5.0)]
    assert found[1] > found[0]


def test_metrics_at_k():
    """At k = n_plus all three are one; below, scores of positives are rewarded without end, and |w| grows with C."""
    X, y, _ = make_labels()
    first, *others = (
        MetricSVC(metric, k=k, tol=1e-7).fit(X, y).coef_
        for metric, k in (("prbep", None), ("precision_at_k", 18), ("recall_at_k", 0.3), ("precision_at_k", None))
    )
    for coef in others:
        np.testing.assert_allclose(coef, first, atol=1e-4)
    short, long = (np.linalg.norm(MetricSVC("precision_at_k", k=5, C=C).fit(X, y).coef_) for C in (10.0, 20.0))
    assert long == pytest.approx(2.0 * short, rel=0.1)


@pytest.mark.parametrize(
    ("metric", "k", "expected"),
    [("roc_auc", None, 18), ("prbep", None, 18), ("precision_at_k", 7, 7), ("recall_at_k", 0.5, 30),
     ("precision_at_k", None, 18), ("recall_at_k", 60, 60)],
)  # fmt: skip
def test_cut_of_metrics_of_order(metric, k, expected):
    """As many training samples are predicted positive as k says, or as are; without an intercept the cut is at zero."""
    X, y, _ = make_labels()
    model = MetricSVC(metric, k=k).fit(X, y)
    assert np.count_nonzero(model.predict(X) == "rare") == expected
    assert model.intercept_.shape == (1,)
    plain = MetricSVC(metric, k=k, intercept="none").fit(X, y)
    assert plain.intercept_ == 0.0
    np.testing.assert_allclose(plain.coef_, model.coef_)
    np.testing.assert_array_equal(plain.predict(X) == "rare", X @ plain.coef_[0] > 0)


@pytest.mark.parametrize(
    ("f", "weight", "wanted", "chosen"),
    [
        ([3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0], 2.0, [0, 2]),
        ([3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 5.0, 1.0], 2.0, [0]),
        ([1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0], 1.0, [0, 1, 2]),
        ([1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0], 1.0, [0, 1, 2, 3]),
        ([3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0], 4.0, [0, 1, 2, 3]),
    ],
)
def test_choose_cut(f, weight, wanted, chosen):
    """As near to the wanted weight as can be, equal scores together."""
    np.testing.assert_array_equal(
        np.flatnonzero(np.array(f) > choose_threshold(np.array(f), np.array(weight), wanted)), chosen
    )


def test_precision_is_that_of_the_prediction():
    """What predict calls positive is the list of k samples the machine was trained for."""
    X, y, _ = make_labels(n=200)
    model = MetricSVC("precision_at_k", k=20).fit(X, y)
    top = np.argsort(-model.decision_function(X))[:20]
    assert precision_score(y, model.predict(X), pos_label="rare") == pytest.approx(np.mean(y[top] == "rare"))


def test_score_of_a_ranking():
    """Mean over queries of the share of pairs in order; with two levels and one query the area under the curve."""
    X, y, group = make_queries()
    model = RankSVM().fit(X, y, group)
    f = model.predict(X)
    shares = []
    for name in np.unique(group):
        members = np.flatnonzero(group == name)
        shares.append(np.mean([f[p] > f[q] for p in members for q in members if y[p] > y[q]]))
    assert model.score(X, y, group) == pytest.approx(np.mean(shares), rel=1e-12)
    assert model.score(X, y > 1) == pytest.approx(roc_auc_score(y > 1, f), rel=1e-12)
    assert model.score(X, y, group) > 0.75


# ---- data as it comes -----------------------------------------------------------------------------------------


def test_queries_in_any_order_and_under_any_name():
    """Rows may be shuffled, and queries may be numbers or words."""
    X, y, group = make_queries()
    names = np.array(["kiwi", "apple", "fig", "plum", "date"])[group]
    shuffle = np.random.default_rng(0).permutation(len(y))
    first = RankSVM(tol=1e-8).fit(X, y, group).coef_
    for each in (names, list(names), pd.Series(names), group * 10.5 - 3.0, group.astype(object)):
        np.testing.assert_allclose(RankSVM(tol=1e-8).fit(X, y, each).coef_, first, atol=1e-12)
    np.testing.assert_allclose(RankSVM(tol=1e-8).fit(X[shuffle], y[shuffle], names[shuffle]).coef_, first, atol=1e-3)
    assert np.abs(RankSVM(tol=1e-8).fit(X, y).coef_ - first).max() > 0.01


def test_offsets_of_queries_do_not_matter():
    """y + 100 g is another relevance, but the same order within each query."""
    X, y, group = make_queries()
    first, second = (RankSVM(tol=1e-8).fit(X, target, group).coef_ for target in (y, np.exp(y) + 100.0 * group))
    np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize("model", [MetricSVC("f1"), MetricSVC("roc_auc"), MetricSVC("prbep"), RankSVM()], ids=str)
@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.coo_array])
def test_sparse_equals_dense(model, form):
    """The same machine from sparse rows, and the same predictions."""
    X, y, _ = make_labels()
    X[np.abs(X) < 0.5] = 0.0
    y = y == "rare"
    dense, sparse = (clone(model).set_params(tol=1e-7).fit(data, y) for data in (X, form(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-3)
    np.testing.assert_allclose(sparse.predict(form(X)), sparse.predict(X))


@pytest.mark.parametrize("model", [MetricSVC("f1"), RankSVM()], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows_are_not_copied(model, dtype, monkeypatch):
    """The samples of the problem are the arrays of the user."""
    X, y, _ = make_labels()
    X = sp.csr_array(np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, X, 0.0).astype(dtype))
    seen = []
    design = linear_machine.Design
    monkeypatch.setattr(
        linear_machine, "Design", lambda samples, scaling: seen.append(samples) or design(samples, scaling)
    )
    model.fit(X, y == "rare")
    assert np.shares_memory(seen[0].data, X.data)


@every_metric
def test_weights(metric):
    """Rows of weight zero are left out, and equal weights multiply C."""
    X, y, _ = make_labels()
    kept = np.arange(60) % 7 != 0
    fits = [
        MetricSVC(metric, C=0.3, tol=1e-7).fit(X, y, sample_weight=2.5 * kept),
        MetricSVC(metric, C=0.75, tol=1e-7).fit(X[kept], y[kept]),
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-3)
    assert fits[0].certificate_.primal == pytest.approx(fits[1].certificate_.primal, rel=1e-6)


def test_weight_of_a_query():
    """One weight for all samples of a query multiplies its losses; none at all leaves it out."""
    X, y, group = make_queries()
    weight = np.array([0.0, 2.0, 1.0, 0.5, 3.0])[group]
    model = RankSVM(tol=1e-8).fit(X, y, group, sample_weight=weight)
    f = X @ model.coef_
    risk = sum(w * sum_over_pairs(f, y, np.ones(60), np.where(group == g, 1, -np.arange(60)))[0]
               for g, w in enumerate([0.0, 2.0, 1.0, 0.5, 3.0]))  # fmt: skip
    assert model.certificate_.primal == pytest.approx(measure_primal(model, X, risk), rel=1e-9)


@pytest.mark.parametrize("model", [*map(MetricSVC, METRICS), RankSVM()], ids=str)
def test_copies(model):
    """Pickled, cloned and fitted again: the same; nothing of the training data is kept under way."""
    X, y, _ = make_labels()
    y = y == "rare"
    model = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)
    assert "_group" not in vars(model)
    assert model.n_iter_ > 0


@pytest.mark.parametrize("model", [MetricSVC("f1"), MetricSVC("roc_auc"), RankSVM()], ids=str)
def test_warm_start(model):
    """From the last fit it is not further than from nothing, and the answer is the same."""
    X, y, _ = make_labels(n=200)
    model = clone(model).set_params(warm_start=True, tol=1e-5).fit(X, y == "rare")
    cold, coef = model.n_iter_, model.coef_
    model.fit(X, y == "rare")
    assert model.n_iter_ <= cold
    np.testing.assert_allclose(model.coef_, coef, atol=1e-2)
    assert model.certificate_.relative_gap <= 1e-5


def test_in_a_grid_search():
    """The metric and its parameters are parameters like others."""
    X, y, _ = make_labels(n=120)
    search = GridSearchCV(MetricSVC("fbeta"), {"beta": [0.5, 2.0], "C": [0.1, 1.0]}, cv=3, scoring="balanced_accuracy")
    search.fit(X, y)
    assert len({round(score, 6) for score in search.cv_results_["mean_test_score"]}) > 1
    assert search.best_score_ > 0.6


def test_limits():
    """A fit that stops early says so, with its gap."""
    X, y, group = make_queries()
    with pytest.warns(UserWarning, match="The certified relative gap is"):
        model = RankSVM(max_iter=1, tol=1e-9).fit(X, y, group)
    assert model.certificate_.relative_gap > 1e-9
    assert model.certificate_.dual <= RankSVM(tol=TIGHT).fit(X, y, group).certificate_.primal


# ---- bad input ------------------------------------------------------------------------------------------------


def test_three_classes():
    """A metric is of two classes."""
    X, _, _ = make_labels()
    with pytest.raises(ValueError, match=r"Only binary classification is supported. .* but y has 3"):
        MetricSVC().fit(X, np.arange(60) % 3)


@pytest.mark.parametrize("metric", COUNTS)
def test_counts_take_only_multiples(metric):
    """Weights that are no multiples of one another have no meaning for a metric of counts."""
    X, y, weight = make_labels()
    words = rf"metric='{metric}' counts samples, so sample_weight must be whole numbers, or multiples of the smallest"
    with pytest.raises(ValueError, match=words):
        MetricSVC(metric).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="must add up to at most 10,000,000 counts of 1, got"):
        MetricSVC(metric).fit(X, y, sample_weight=np.where(np.arange(len(y)) == 3, 1e9, 1.0))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("unit", [1.0, 0.25])
@pytest.mark.parametrize("metric", COUNTS)
def test_weights_of_counts_repeat_rows(metric, unit, sparse):
    """A row of weight 3 is the row three times, one of weight 0 is not there; so it is for the judge."""
    X, y, _ = make_labels()
    counts = np.arange(len(y)) % 4
    repeated, labels = X.repeat(counts, axis=0), y.repeat(counts)
    if sparse:
        X, repeated = sp.csr_array(X), sp.csr_array(repeated)
    weighted = MetricSVC(metric).fit(X, y, sample_weight=unit * counts)
    whole = MetricSVC(metric, C=unit).fit(repeated, labels)
    np.testing.assert_allclose(weighted.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, whole.intercept_, rtol=1e-9, atol=1e-12)
    judged = certify(weighted, X, y, sample_weight=unit * counts)
    assert judged.primal == pytest.approx(whole.certificate_.primal, rel=1e-9)


@pytest.mark.parametrize("metric", ORDERS)
def test_nothing_to_regularise(metric):
    """A metric of order does not see the intercept."""
    X, y, _ = make_labels()
    with pytest.raises(ValueError, match=rf"metric='{metric}' does not depend on the intercept, .* got 'regularised'"):
        MetricSVC(metric, intercept="regularised").fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"metric": "accuracy"}, "The 'metric' parameter of MetricSVC must be a str among"),
        ({"metric": "fbeta", "beta": 0.0}, "The 'beta' parameter of MetricSVC must be a float in the range"),
        ({"metric": "precision_at_k", "k": 0}, "The 'k' parameter of MetricSVC must be an int in the range"),
        ({"metric": "precision_at_k", "k": 1.5}, "The 'k' parameter of MetricSVC must be"),
        ({"metric": "recall_at_k", "k": 61}, "k must be between 1 and the number of samples, 60, .* got 61"),
        ({"C": 0.0}, "The 'C' parameter of MetricSVC must be"),
        ({"intercept": "maybe"}, "The 'intercept' parameter of MetricSVC must be"),
    ],
)
def test_parameters_that_are_none(parameters, words):
    """Each is refused by name and value."""
    X, y, _ = make_labels()
    with pytest.raises(ValueError, match=words):
        MetricSVC(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (np.zeros(59), r"group must name the query of each of 60 samples, got an array of shape \(59,\)"),
        (np.zeros((60, 1)), r"group must name the query of each of 60 samples, got an array of shape \(60, 1\)"),
        (3, r"group must name the query of each of 60 samples, got an array of shape \(\)"),
        (np.append(np.zeros(59), np.nan), r"group must be finite, but group\[59\] is nan"),
        (np.array([None, "a"] * 30, dtype=object), "group must hold numbers only or names only"),
        ([[0], [1, 2]] * 30, "group must be an array of numbers or names"),
        (np.arange(60), "y has no two different values in one query, so there are no pairs to order among 60 samples"),
    ],
)
def test_groups_that_are_none(group, words):
    """Each is refused with a sentence, and leaves nothing behind."""
    X, y, _ = make_queries()
    model = RankSVM()
    with pytest.raises(ValueError, match=words):
        model.fit(X, y, group)
    assert "_group" not in vars(model)


def test_scores_without_pairs():
    """No order, no share of it."""
    X, y, group = make_queries()
    model = RankSVM().fit(X, y, group)
    with pytest.raises(ValueError, match="y has no two different values in one query, so no order to score in 60"):
        model.score(X, np.ones(60))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:-1])


def test_order_without_differences():
    """One relevance for all is refused, as are weights that leave one only."""
    X, y, _ = make_queries()
    with pytest.raises(ValueError, match="y has no two different values"):
        RankSVM().fit(X, np.ones(60))
    with pytest.raises(ValueError, match="y has no two different values"):
        RankSVM().fit(X, y, sample_weight=(y == 1.0).astype(float))
