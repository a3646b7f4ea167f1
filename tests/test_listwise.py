"""Losses of whole lists against all labellings and all pairs, written out."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from selection import leave_long
from sklearn.metrics import fbeta_score, precision_score, recall_score, roc_auc_score

from maxmargin.compiled.labellings import worst_f_labelling
from maxmargin.compiled.ranking_pairs import count_pairs, sort_by_group
from maxmargin.model.losses import (
    F1,
    METRICS,
    BreakEven,
    ErrorRate,
    FBeta,
    Hinge,
    PairwiseLoss,
    PrecisionAtK,
    RecallAtK,
    RocAuc,
    measure_concordance,
)

BETAS = (0.1, 0.5, 2.0, 5.0)
SHARES = (1, 3, 0.2, None)
LABELLING_LOSSES = [
    ErrorRate(), F1(), BreakEven(), *map(FBeta, BETAS), *map(PrecisionAtK, SHARES), *map(RecallAtK, SHARES),
]  # fmt: skip
EVERY_LOSS = [*LABELLING_LOSSES, RocAuc(), PairwiseLoss(), PairwiseLoss(np.arange(40) % 4)]
every_loss = pytest.mark.parametrize("loss", EVERY_LOSS, ids=[f"{k}-{each.name}" for k, each in enumerate(EVERY_LOSS)])


# ---- references -----------------------------------------------------------------------------------------------


def measure_deltas(loss, labellings: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Delta(ybar, y) of each row, as the metric is defined; nan where a labelling is not one the metric is about."""
    hits, chosen = ((labellings > 0) & (y > 0)).sum(axis=1), (labellings > 0).sum(axis=1)
    n, n_plus = len(y), np.count_nonzero(y > 0)
    if isinstance(loss, ErrorRate):
        return (labellings != y).mean(axis=1)
    if isinstance(loss, F1 | FBeta):
        square = getattr(loss, "beta", 1.0) ** 2
        return 1.0 - (1.0 + square) * hits / (chosen + square * n_plus)
    k = getattr(loss, "k", None)
    k = n_plus if k is None else k if isinstance(k, int) else max(1, round(k * n))
    return np.where(chosen == k, 1.0 - hits / (k if isinstance(loss, PrecisionAtK) else n_plus), np.nan)


def tabulate(loss, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All labellings that the metric is about, and n Delta of each."""
    labellings = np.array(list(product([-1.0, 1.0], repeat=len(y))))
    deltas = measure_deltas(loss, labellings, y)
    return labellings[~np.isnan(deltas)], len(y) * deltas[~np.isnan(deltas)]


def sum_over_pairs(f, y, s, groups) -> tuple[float, np.ndarray]:
    """sum_g S_g / (sum of s_p s_q) sum s_p s_q max(0, 1 - (f_p - f_q)) and minus its gradient, pair by pair."""
    total, a = 0.0, np.zeros(len(y))
    for name in np.unique(groups):
        members = np.flatnonzero(groups == name)
        pairs = [(p, q) for p in members for q in members if y[p] > y[q]]
        weight = sum(s[p] * s[q] for p, q in pairs)
        for p, q in pairs:
            if f[p] - 1.0 < f[q]:
                share = s[members].sum() * s[p] * s[q] / weight
                total += share * (1.0 - (f[p] - f[q]))
                a[p], a[q] = a[p] + share, a[q] - share
    return total, a


def draw_scores(n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Scores without and with ties, all equal, far apart."""
    return [rng.normal(size=n), rng.integers(-2, 3, n) / 2.0, np.zeros(n), 30.0 * rng.normal(size=n)]


def draw_list(loss, n: int = 40, seed: int = 0):
    """Labels or levels, and scores that know something of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n).astype(float) if loss.target == "level" else np.where(rng.random(n) < 0.3, 1.0, -1.0)
    return y, 0.7 * y + rng.normal(size=n), rng


# ---- labellings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "metric"),
    [
        (F1(), partial(fbeta_score, beta=1.0, zero_division=0.0)),
        *((FBeta(beta), partial(fbeta_score, beta=beta, zero_division=0.0)) for beta in BETAS),
        (PrecisionAtK(3), precision_score),
        (RecallAtK(5), recall_score),
        (BreakEven(), recall_score),
    ],
    ids=lambda part: getattr(part, "name", None),
)
def test_references_are_the_metrics_of_scikit_learn(loss, metric):
    """1 - Delta is fbeta_score, precision_score or recall_score."""
    y = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0])
    for labelling, errors in zip(*tabulate(loss, y), strict=True):
        assert 1.0 - errors / 6 == pytest.approx(metric(y, labelling), abs=1e-14)


@pytest.mark.parametrize("n", leave_long(range(2, 8), 6, 7))
def test_all_labellings_of_all_small_lists(n):
    """C R(f) is the maximum over all labellings, and the duals are those of a labelling that attains it."""
    C, rng = 0.7, np.random.default_rng(n)
    losses = [ErrorRate(), F1(), BreakEven(), *map(FBeta, BETAS), PrecisionAtK(0.4), RecallAtK(0.4)]
    losses += [Loss(k) for Loss in (PrecisionAtK, RecallAtK) for k in range(1, n + 1)]
    for y in map(np.array, product([-1.0, 1.0], repeat=n)):
        if abs(y.sum()) == n:
            continue
        scores = draw_scores(n, rng)
        for loss in losses:
            labellings, errors = tabulate(loss, y)
            terms = loss.terms(y, np.full(n, C))
            for f in scores:
                values = C * (errors - np.where(labellings != y, y * f, 0.0).sum(axis=1))
                assert terms.value(f) == pytest.approx([values.max()], rel=1e-12, abs=1e-12)
                check_labelling(terms, f, C * y, labellings, C * errors, y)


def check_labelling(terms, f, price, labellings, errors, y):
    """a_i is C y_i for the samples that one of the labellings has wrong, and its errors are C R(f) + a.f."""
    value, a = terms.cut(f)
    assert set(np.unique(a)) <= {*price, 0.0}
    (place,) = np.flatnonzero((labellings == np.where(a != 0, -y, y)).all(axis=1))
    assert errors[place] == pytest.approx(value + a @ f, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("loss", [F1(), FBeta(0.2), FBeta(3.0), PrecisionAtK(2), RecallAtK(6), BreakEven()])
def test_all_labellings_of_eight(loss):
    """Eight samples, three of them positive, many scores."""
    rng = np.random.default_rng(8)
    y = np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0])
    labellings, errors = tabulate(loss, y)
    terms = loss.terms(y, np.ones(8))
    for f in [scores for _ in range(100) for scores in draw_scores(8, rng)]:
        values = errors - np.where(labellings != y, y * f, 0.0).sum(axis=1)
        assert terms.value(f)[0] == pytest.approx(values.max(), rel=1e-12, abs=1e-12)


def label_slowly(positive, negative, square):
    """The best of all h and m, in the formula of the metric."""
    n, best = len(positive) + len(negative), (-np.inf, 0, 0)
    for h in range(len(positive) + 1):
        for m in range(len(negative) + 1):
            loss = 1.0 - (1.0 + square) * h / (h + m + square * len(positive))
            best = max(best, (n * loss - positive[h:].sum() + negative[:m].sum(), h, m))
    return best


@pytest.mark.parametrize("square", [0.001, 0.04, 1.0, 9.0])
@pytest.mark.parametrize("sizes", [(1, 30), (30, 1), (25, 25), (40, 8), (5, 0)])
def test_walk_over_true_and_false_positives(square, sizes):
    """The walk finds what a search of the whole table finds."""
    rng = np.random.default_rng(sizes[0])
    for spread in (0.01, 1.0, 20.0):
        positive, negative = (-np.sort(spread * rng.normal(size=size)) for size in sizes)
        h, m, _ = worst_f_labelling(positive, negative, square)
        n, loss = sum(sizes), 1.0 - (1.0 + square) * h / (h + m + square * len(positive))
        height = n * loss - positive[h:].sum() + negative[:m].sum()
        assert height == pytest.approx(label_slowly(positive, negative, square)[0], rel=1e-12)


@pytest.mark.parametrize("square", [1e-4, 0.01, 1.0, 25.0])
def test_walk_is_short(square):
    """At most 2 n_minus + n_plus steps, where it climbs and comes back too."""
    lists = np.linspace(3.0, -3.0, 2000), np.linspace(0.0, -1.0, 3000)
    for positive in (lists[0], 0.01 * lists[0], lists[0] - 5.0):
        for negative in (lists[1], 0.1 * lists[1], 10.0 * lists[1]):
            assert worst_f_labelling(positive, negative, square)[2] <= 2 * 3000 + 2000


def test_walk_comes_back():
    """For small beta the best number of false positives rises with the true ones and falls again, and is found."""
    negative, n, square = np.linspace(-0.2, -8.0, 60), 260, 1e-4
    h, m = np.arange(201)[:, None], np.arange(61)
    losses = 1.0 - (1.0 + square) * h / (h + m + square * 200)
    heights = n * losses + np.concatenate([[0.0], np.cumsum(negative)])
    best = heights.argmax(axis=1)
    assert best.max() > max(best[1], best[-1]) + 5
    for turn in (5, 20, 80, 200):  # the scores of positives decide which h is best
        positive = np.where(np.arange(200) < turn, 50.0, -50.0)
        kept = np.concatenate([[0.0], np.cumsum(positive)])[:, None]
        expected = np.unravel_index(np.argmax(heights + kept), heights.shape)
        assert worst_f_labelling(positive, negative, square)[:2] == expected


def test_error_is_the_hinge():
    """sum_i c_i max(0, 1 - y_i f_i), weights and all; so C means what it means for the hinge."""
    y, f, rng = draw_list(ErrorRate())
    c = rng.uniform(0.0, 2.0, 40)
    hinge = Hinge().terms(y, c)
    value, a = ErrorRate().terms(y, c).cut(f)
    assert value == pytest.approx(hinge.value(f).sum(), rel=1e-13)
    np.testing.assert_array_equal(a, hinge.response(f)[1])


@pytest.mark.parametrize("loss", [ErrorRate(), F1(), FBeta(0.5), FBeta(2.0)])
def test_risk_is_no_less_than_the_metric(loss):
    """R(f) >= n Delta of the labels sign(f)."""
    for seed in range(30):
        y, f, _ = draw_list(loss, seed=seed)
        assert loss.value(f, y)[0] >= 40 * measure_deltas(loss, np.where(f > 0, 1.0, -1.0)[None], y)[0] - 1e-12


@pytest.mark.parametrize("k", [1, 9, 12, 39, None])
def test_shift_of_a_list_cut_at_k(k):
    """R(f + t) = R(f) + (k - n_plus) t: without effect where k = n_plus, and without end elsewhere."""
    y, f, _ = draw_list(F1())
    n_plus = np.count_nonzero(y > 0)
    for Loss in (PrecisionAtK, RecallAtK):
        terms = Loss(k).terms(y, np.ones(40))
        slope = (n_plus if k is None else k) - n_plus
        assert terms.shift_invariant is (slope == 0)
        assert terms.value(f + 100.0)[0] == pytest.approx(terms.value(f)[0] + 100.0 * slope, rel=1e-12)


# ---- pairs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_levels", [2, 3, 50])
@pytest.mark.parametrize("n_groups", [1, 3, 20])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_pairs(n_levels, n_groups, weighted):
    """C R(f) and its duals, pair by pair: levels and scores with ties, queries in any order, some without pairs."""
    rng = np.random.default_rng(n_levels + n_groups)
    n, C = 50, 0.3
    y, groups = rng.integers(0, n_levels, n) / 4.0 - 1.0, rng.integers(0, n_groups, n) * 7 - 3
    s = rng.uniform(0.1, 3.0, n) if weighted else np.ones(n)
    terms = PairwiseLoss(groups).terms(y, C * s)
    for f in draw_scores(n, rng):
        total, a = sum_over_pairs(f, y, s, groups)
        assert terms.value(f) == pytest.approx([C * total], rel=1e-12)
        np.testing.assert_allclose(terms.response(f)[0], C * a, atol=1e-12)


def test_one_query_of_two_levels_is_roc_auc():
    """And no less than n (1 - AUC)."""
    y, f, rng = draw_list(RocAuc())
    c = rng.uniform(0.2, 2.0, 40)
    ranking = PairwiseLoss(np.full(40, 3)).terms(5.0 * y, c)
    value, a = RocAuc().terms(y, c).cut(f)
    assert value == pytest.approx(ranking.cut(f)[0], rel=1e-14)
    np.testing.assert_allclose(a, ranking.cut(f)[1], rtol=1e-13)
    assert RocAuc().value(f, y)[0] >= 40 * (1.0 - roc_auc_score(y, f))


@pytest.mark.parametrize("loss", [RocAuc, ErrorRate, PairwiseLoss])
def test_weight_equals_repetition(loss):
    """A weight of 3 is the row three times, whatever C is."""
    y, f, rng = draw_list(RocAuc())
    times = rng.integers(1, 4, 40)
    groups = np.arange(40) // 10
    heavy = (loss(groups) if loss is PairwiseLoss else loss()).terms(y, 0.3 * times)
    long = (loss(np.repeat(groups, times)) if loss is PairwiseLoss else loss()).terms(
        np.repeat(y, times), np.full(times.sum(), 0.3)
    )
    value, a = long.cut(np.repeat(f, times))
    assert heavy.cut(f)[0] == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(heavy.cut(f)[1], np.add.reduceat(a, np.cumsum(times) - times), atol=1e-13)


def test_queries_without_pairs_count_nothing():
    """A query of one level adds nothing, and its samples have no duals."""
    y, groups = np.array([1.0, 0.0, 2.0, 2.0, 2.0]), np.array([0, 0, 1, 1, 2])
    value, a = PairwiseLoss(groups).terms(y, np.ones(5)).cut(np.zeros(5))
    assert value == pytest.approx(2.0)
    np.testing.assert_array_equal(a, [2.0, -2.0, 0.0, 0.0, 0.0])


def test_weights_far_from_one():
    """Products of weights neither vanish nor overflow: the loss is proportional to c."""
    y, f, _ = draw_list(RocAuc())
    usual = RocAuc().terms(y, np.ones(40)).cut(f)[0]
    for c in (1e-200, 1e200):
        assert RocAuc().terms(y, np.full(40, c)).cut(f)[0] == pytest.approx(c * usual, rel=1e-12)


def test_count_pairs_against_a_double_loop():
    """Both counts, at several margins, for sorted scores with ties in three groups of which one has one level."""
    rng = np.random.default_rng(2)
    starts, n_levels = np.array([0, 12, 17, 40]), np.array([4, 1, 9])
    f = np.concatenate([np.sort(rng.integers(0, 9, size) / 4.0) for size in np.diff(starts)])
    level = np.concatenate([rng.integers(0, top, size) for top, size in zip(n_levels, np.diff(starts), strict=True)])
    weight = rng.uniform(0.5, 2.0, 40)
    group = np.repeat(np.arange(3), np.diff(starts))
    for margin in (0.0, 0.5, 1.0, 10.0):
        up, down = count_pairs(f, margin, starts, level, n_levels, weight)
        open_pairs = (group[:, None] == group) & (level[:, None] > level) & (f[:, None] - margin < f)
        np.testing.assert_allclose(up, open_pairs @ weight, rtol=1e-13)
        np.testing.assert_allclose(down, weight @ open_pairs, rtol=1e-13)


def test_deal_out():
    """A stable sort by group."""
    rng = np.random.default_rng(0)
    group, order = rng.integers(0, 5, 60), rng.permutation(60)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group))])
    np.testing.assert_array_equal(sort_by_group(order, group, starts), order[np.argsort(group[order], kind="stable")])


class CountedReads(np.ndarray):
    """An array that counts how often its elements are read."""

    reads = 0

    def __getitem__(self, place):
        CountedReads.reads += 1
        return super().__getitem__(place)


def test_sweeps_read_each_score_a_few_times():
    """Two sweeps with two pointers: at most 2 (2 n) comparisons of two scores, though n^2 / 4 pairs are open."""
    n = 300
    f = np.zeros(n).view(CountedReads)
    CountedReads.reads = 0
    up, _ = count_pairs.py_func(f, 1.0, np.array([0, n]), np.arange(n) % 2, np.array([2]), np.ones(n))
    assert up.sum() == n * n / 4
    assert CountedReads.reads <= 8 * n


@pytest.mark.parametrize("n_groups", [1, 6])
def test_concordance(n_groups):
    """The mean share of pairs in their order, ties half; with two levels it is the area under the curve."""
    rng = np.random.default_rng(n_groups)
    y, f, groups = rng.integers(0, 3, 60), rng.integers(0, 8, 60) / 2.0, rng.integers(0, n_groups, 60)
    shares = []
    for name in range(n_groups):
        members = np.flatnonzero(groups == name)
        shares.append([(f[p] > f[q]) + 0.5 * (f[p] == f[q]) for p in members for q in members if y[p] > y[q]])
    expected = np.mean([np.mean(share) for share in shares])
    assert measure_concordance(f, y, groups) == pytest.approx(expected, rel=1e-13)
    assert measure_concordance(f, y > 1) == pytest.approx(roc_auc_score(y > 1, f), rel=1e-13)
    assert np.isnan(measure_concordance(f, np.ones(60)))


# ---- what holds for every loss --------------------------------------------------------------------------------


@every_loss
def test_subgradients(loss):
    """C R(g) >= C R(f) - a.(g - f), near and far, and the value is linear along the duals where nothing changes."""
    y, f, rng = draw_list(loss)
    terms = loss.terms(y, np.full(40, 0.4))
    value, a = terms.cut(f)
    for step in (1e-6, 0.1, 1.0, 10.0):
        for _ in range(20):
            g = f + step * rng.normal(size=40)
            assert terms.value(g)[0] >= value - a @ (g - f) - 1e-12 * (1.0 + abs(value))
    g = f + 1e-9 * rng.normal(size=40)
    assert terms.value(g)[0] == pytest.approx(value - a @ (g - f), rel=1e-13)


@every_loss
def test_convexity(loss):
    """R((f + g) / 2) <= (R(f) + R(g)) / 2, and somewhere it is less."""
    y, f, rng = draw_list(loss)
    terms = loss.terms(y, np.ones(40))
    others = [3.0 * rng.normal(size=40) for _ in range(30)]
    bends = [0.5 * (terms.value(f) + terms.value(g))[0] - terms.value(0.5 * (f + g))[0] for g in others]
    assert min(bends) >= -1e-12
    assert max(bends) > 0.01


@every_loss
def test_an_order_that_is_kept_changes_nothing(loss):
    """Shifted scores, the same again, others, and the first once more: as if each were asked for alone."""
    y, f, rng = draw_list(loss)
    terms = loss.terms(y, np.ones(40))
    ties = [rng.integers(0, 3, 40) / 2.0 for _ in range(5)]
    for g in (f, f + 0.3, f - 1e6, f, *ties, *ties[::-1], np.zeros(40), -f, np.zeros(40), ties[0] + 3.0, f):
        value, a = terms.cut(g)
        alone, dual = loss.terms(y, np.ones(40)).cut(g)
        assert value == pytest.approx(alone, rel=1e-14)
        np.testing.assert_allclose(a, dual, atol=1e-13)


@every_loss
def test_interface(loss):
    """No row; joint; one number; both ends alike; a loss of labels or of levels; nothing is changed in place."""
    y, f, _ = draw_list(loss)
    before = y.copy(), f.copy()
    terms = loss.terms(y, np.ones(40))
    assert loss.row(y, np.ones(40)) is None
    assert terms.joint
    assert terms.value(f).shape == (1,)
    low, high = terms.response(f)
    np.testing.assert_array_equal(low, high)
    assert loss.value(f, y) == pytest.approx(terms.value(f))
    np.testing.assert_array_equal(loss.subgradient(f, y)[0], -low)
    assert terms.shift_invariant == (abs(low.sum()) < 1e-12 and abs(terms.value(f + 9.0) - terms.value(f)) < 1e-9)
    np.testing.assert_array_equal(before, (y, f))


@every_loss
def test_violation(loss):
    """Zero where the duals answer to the scores, seen where they answer to other ones, never above the true gap."""
    y, f, _ = draw_list(loss)
    terms = loss.terms(y, np.full(40, 0.5))
    value, a = terms.cut(f)
    assert terms.violation(a, f) == pytest.approx(0.0, abs=1e-13)
    far = -3.0 * f
    gap = terms.cut(far)[0] + a @ far - (value + a @ f)  # conj(a) = -(value + a.f), since a was taken at f
    assert 0.05 < terms.violation(a, far) * np.abs(a).sum() <= gap * (1.0 + 1e-12)
    assert terms.violation(np.zeros(40), np.full(40, 0.5) * y) >= 0.0


def test_table():
    """Every metric is in the table under its name, with what it takes."""
    assert list(METRICS) == ["f1", "fbeta", "roc_auc", "precision_at_k", "recall_at_k", "prbep", "error"]
    assert {name for name, metric in METRICS.items() if metric.sees_intercept} == {"f1", "fbeta", "error"}
    assert {name for name, metric in METRICS.items() if metric.takes_weights} == {"roc_auc", "error"}


@pytest.mark.parametrize("loss", [F1(), FBeta(), PrecisionAtK(), RecallAtK(), BreakEven()])
def test_counts_take_no_weights(loss):
    """A metric of counts with weights is refused; equal ones multiply C."""
    y, f, _ = draw_list(loss)
    with pytest.raises(ValueError, match="counts samples and takes no weights, but c lies between 1 and 2"):
        loss.terms(y, np.linspace(1.0, 2.0, 40))
    once, twice = (loss.terms(y, np.full(40, c)).value(f)[0] for c in (1.0, 2.0))
    assert twice == pytest.approx(2.0 * once, rel=1e-13)


@pytest.mark.parametrize("k", [0, -1, 41, 0.0, 1.5, -0.2, float("nan")])
def test_numbers_of_samples_that_are_none(k):
    """k is a number of samples or a share of them."""
    y, _, _ = draw_list(F1())
    with pytest.raises(ValueError, match=rf"k must be between 1 and the number of samples, 40, .* got {k}"):
        PrecisionAtK(k).terms(y, np.ones(40))


def test_nothing_to_find():
    """No positive sample, and no pairs."""
    for loss in (F1(), FBeta(2.0), RecallAtK(1)):
        with pytest.raises(ValueError, match=f"{loss.name!r} needs a sample of the positive class, .* among 3"):
            loss.terms(-np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match=r"y has no two different values in one query, .* among 3 samples"):
        PairwiseLoss(np.arange(3)).terms(np.arange(3.0), np.ones(3))
    with pytest.raises(ValueError, match="among 1 sample"):
        PairwiseLoss().terms(np.ones(1), np.ones(1))
