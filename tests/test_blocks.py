"""Data in blocks: the same optimum as in memory, judged as strictly, however the rows are cut."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_problems import INTERCEPTS, D, N, make_data, pose_in_blocks, pose_in_memory
from sklearn.base import clone
from sklearn.datasets import load_iris

from maxmargin import LinearSVC, LinearSVR, MetricSVC, RankSVM, RiskClassifier, RiskRegressor
from maxmargin.blocks import ArrayBlocks, Blocks
from maxmargin.blocks.problem import BlockPoint, ZeroDuals
from maxmargin.blocks.survey import survey_block
from maxmargin.certificates.certificate import judge
from maxmargin.estimators import block_data
from maxmargin.model.losses import LOSSES
from maxmargin.model.problem import Point
from maxmargin.runtime.checkpoints import CheckpointFile, is_same
from maxmargin.runtime.tree_sum import TreeSum, add_all
from maxmargin.solvers import Bundle
from maxmargin.solvers.loop import solve
from maxmargin.solvers.newton import blocks as newton_blocks
from maxmargin.solvers.result import Status

SCALAR = [name for name in LOSSES if name != "novelty"]


# ---- sums ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 64, 65, 600])
def test_fold_keeps_the_order_of_its_parts(count):
    """Joining tuples shows in which order a sum is made: that of the blocks."""
    tree_sum = TreeSum(add_all)
    for k in range(count):
        tree_sum.add((k,))
    assert tree_sum.total() == tuple(range(count))


def test_fold_adds_eight_at_a_time():
    """The tree depends on the number of parts only, so that every process adds in the same order."""
    seen = []
    tree_sum = TreeSum(lambda parts: seen.append(len(parts)) or sum(parts))
    for k in range(70):
        tree_sum.add(k)
    assert tree_sum.total() == sum(range(70))
    assert max(seen) == 8
    assert seen.count(8) == 9


@pytest.mark.parametrize("rows", [1, 13, 100, 1000])
def test_blocks_hold_every_row_once(rows):
    """However many rows a block has, all of them come, in order."""
    X, y = np.arange(300.0).reshape(100, 3), np.arange(100)
    parts = list(ArrayBlocks(X, y, y + 1, rows=rows).stream())
    assert np.array_equal(np.concatenate([part.X for part in parts]), X)
    assert np.array_equal(np.concatenate([part.y for part in parts]), y)
    assert np.array_equal(np.concatenate([part.weight for part in parts]), y + 1)
    assert [part.number for part in parts] == list(range(len(parts)))


# ---- the judge ------------------------------------------------------------------------------------------------------


class Elsewhere:
    """Duals as rows answer with at another w, times a factor: feasible or not, balanced never."""

    def __init__(self, coef, factor):
        self.coef, self.factor = coef, factor

    def duals(self, problem):
        """factor times the answer."""
        return self.factor * problem.terms.response(problem.features.scores(self.coef))[0]


@pytest.mark.parametrize("intercept", ["regularised", "none"])
@pytest.mark.parametrize("name", SCALAR)
def test_judges_agree(name, intercept):
    """Over blocks and in memory, the same point has the same P and D."""
    loss = LOSSES[name]()
    X, y = make_data(loss)
    rng = np.random.default_rng(1)
    coef, other = 0.3 * rng.normal(size=(2, D + 1))
    whole = pose_in_memory(X, y, loss, intercept)
    found = judge(pose_in_blocks(X, y, loss, intercept), BlockPoint(Elsewhere(other, 1.0), 0.0, coef))
    wanted = judge(whole, Point(Elsewhere(other, 1.0).duals(whole), 0.0, coef))
    assert found.primal == pytest.approx(wanted.primal, rel=1e-12)
    assert found.dual == pytest.approx(wanted.dual, rel=1e-11)
    assert found.kkt == pytest.approx(wanted.kkt, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.3, 1.0, 50.0, np.nan])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", SCALAR)
def test_no_recipe_beats_the_judge(name, intercept, factor):
    """D of whatever duals a solver hands in is below the optimum, and P above it."""
    loss = LOSSES[name]()
    X, y = make_data(loss)
    least = solve(pose_in_memory(X, y, loss, intercept), tol=1e-9).certificate
    rng = np.random.default_rng(2)
    coef, other = 0.2 * rng.normal(size=(2, D + 1))
    with np.errstate(invalid="ignore"):
        found = judge(pose_in_blocks(X, y, loss, intercept), BlockPoint(Elsewhere(other, factor), 0.1, coef))
    assert found.primal >= least.dual
    assert not found.dual > least.primal * (1 + 1e-12)
    assert found.relative_gap > 0


@pytest.mark.parametrize("name", SCALAR)
def test_a_near_optimal_recipe_stays_so_when_it_is_balanced(name):
    """Duals that miss their balance by a little lose a little: not the certificate."""
    loss = LOSSES[name]()
    X, y = make_data(loss)
    problem = pose_in_blocks(X, y, loss, "free")
    result = solve(problem, tol=1e-8)
    moved = result.point._replace(a=Nudged(result.point.a))
    assert judge(problem, moved).relative_gap < 2e-2


class Nudged:
    """The duals of a recipe with a thousandth taken off those of one sign."""

    def __init__(self, recipe):
        self.recipe = recipe

    def duals(self, problem):
        """Those above zero become smaller."""
        a = self.recipe.duals(problem)
        return np.where(a > 0, 0.999 * a, a)


# ---- the same optimum ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", SCALAR)
def test_blocks_reach_the_optimum_of_memory(name, intercept, n_blocks):
    """1, 2 or 7 blocks: the objective is that of the fit in memory to 1e-9."""
    loss = LOSSES[name]()
    X, y = make_data(loss)
    wanted = solve(pose_in_memory(X, y, loss, intercept), tol=1e-10).certificate
    result = solve(pose_in_blocks(X, y, loss, intercept, n_blocks), tol=1e-10)
    assert result.converged
    assert result.certificate.relative_gap <= 1e-10
    assert result.certificate.primal == pytest.approx(wanted.primal, rel=1e-9)


@pytest.mark.parametrize("method", ["bmrm", "ocas", "proximal-bundle", "level-bundle"])
@pytest.mark.parametrize("name", ["hinge", "logistic", "exponential", "quantile", "poisson"])
def test_cuts_reach_the_optimum_too(name, method):
    """A pass that returns value and subgradient only is enough."""
    loss = LOSSES[name]()
    X, y = make_data(loss)
    result = solve(pose_in_blocks(X, y, loss, "free", C=0.05), Bundle(method), tol=1e-4)
    wanted = solve(pose_in_memory(X, y, loss, "free", C=0.05), tol=1e-9).certificate
    assert result.converged
    assert wanted.dual <= result.certificate.primal * (1 + 1e-12)
    assert result.certificate.primal == pytest.approx(wanted.primal, rel=1e-4)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("multi_class", ["softmax", "crammer_singer"])
def test_classes_solved_as_one(multi_class, intercept):
    """Losses of all classes go by cuts, with an intercept for each."""
    X, y = load_iris(return_X_y=True)
    loss = "logistic" if multi_class == "softmax" else "hinge"
    machine = RiskClassifier(loss, multi_class=multi_class, intercept=intercept, C=0.1, tol=1e-5)
    wanted = machine.fit(X, y).certificate_.primal
    machine.fit(ArrayBlocks(X, y, rows=40))
    assert machine.certificate_.relative_gap <= 1e-5
    assert machine.certificate_.primal == pytest.approx(wanted, rel=1e-5)
    assert machine.score(X, y) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "float32", "sparse"])
def test_forms_of_rows(kind):
    """Dense in both precisions and CSR rows give the same machine."""
    X, y = make_data(LOSSES["hinge"]())
    given = {"dense": X, "float32": X.astype(np.float32), "sparse": sp.csr_array(X)}[kind]
    machine = LinearSVC(loss="hinge", tol=1e-8).fit(given, y)
    wanted = machine.certificate_.primal
    machine.fit(ArrayBlocks(given, y, rows=100))
    assert machine.certificate_.primal == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("machine", [LinearSVC(tol=1e-9), RiskClassifier("logistic", tol=1e-9, C=0.3)])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 2: 0.5}])
def test_weights_of_samples_and_classes(machine, class_weight):
    """Weights mean over blocks what they mean in memory, class by class."""
    X, y = load_iris(return_X_y=True)
    weight = np.random.default_rng(3).integers(0, 4, len(y)).astype(float)
    machine.set_params(class_weight=class_weight).fit(X, y, weight)
    wanted = [each.primal for each in machine.certificates_]
    machine.fit(ArrayBlocks(X, y, weight, rows=37))
    assert [each.primal for each in machine.certificates_] == pytest.approx(wanted, rel=1e-8)


def test_a_sample_first_changes_the_way_not_the_end(monkeypatch):
    """Where rows are many, a sample of them is solved first: the optimum is that of all rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 0.6 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    loss = LOSSES["hinge"]()
    monkeypatch.setattr(newton_blocks, "SAMPLE_MIN_ROWS", 1_000_000)
    plain = solve(pose_in_blocks(X, y, loss, "free", 4), tol=1e-9)
    monkeypatch.setattr(newton_blocks, "SAMPLE_MIN_ROWS", 1000)
    sampled = solve(pose_in_blocks(X, y, loss, "free", 4), tol=1e-9)
    assert sampled.certificate.primal == pytest.approx(plain.certificate.primal, rel=1e-9)
    assert sampled.n_iter < plain.n_iter


def test_a_large_memory_map_is_read_in_blocks(monkeypatch, tmp_path):
    """np.load(mmap_mode="r") is enough: the fit goes block by block, and predicts so."""
    X, y = make_data(LOSSES["hinge"]())
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    machine = LinearSVC(tol=1e-9)
    wanted = machine.fit(mapped, y).coef_
    assert machine.result_.solver.name == "newton"
    assert not isinstance(machine.result_.point, BlockPoint)
    monkeypatch.setattr(block_data, "BLOCKWISE_MEMMAP_BYTES", 1000)
    machine.fit(mapped, y)
    assert isinstance(machine.result_.point, BlockPoint)
    assert machine.coef_ == pytest.approx(wanted, rel=1e-6)
    assert np.array_equal(machine.predict(mapped), machine.predict(X))


def test_predictions_come_block_by_block():
    """predict, decision_function and probabilities of blocks: to the bit those of their rows, and those of all rows.

    The latter but for rounding: how BLAS adds up depends on the number of rows, on some processors.
    """
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    machine = RiskClassifier("logistic", C=1.0).fit(ArrayBlocks(X, names, rows=17))
    regressor = RiskRegressor("poisson", C=0.1).fit(ArrayBlocks(X, y, rows=40))
    blocks = ArrayBlocks(X, rows=11)
    assert machine.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert np.array_equal(machine.predict(blocks), machine.predict(X))
    for predict in (machine.decision_function, machine.predict_proba, machine.predict_log_proba, regressor.predict):
        found = predict(blocks)
        assert np.array_equal(found, np.concatenate([predict(X[k : k + 11]) for k in range(0, len(X), 11)])), predict
        np.testing.assert_allclose(found, predict(X), rtol=1e-12, atol=1e-14)


# ---- checkpoints -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "bundle"])
def test_a_checkpoint_goes_on_where_it_stood(solver, tmp_path):
    """Stopped after some rounds and resumed over other blocks, a run needs only the rounds that were left."""
    loss = LOSSES["hinge"]()
    X, y = make_data(loss)
    tol = 1e-9 if solver == "auto" else 1e-4
    whole = solve(pose_in_blocks(X, y, loss, "free", 3), solver, tol=tol)
    store = CheckpointFile(tmp_path / "fit.npz")
    half = solve(pose_in_blocks(X, y, loss, "free", 3), solver, tol=tol, max_iter=whole.n_iter // 2, checkpoint=store)
    assert half.status is Status.MAX_ITER
    passes = pose_in_blocks(X, y, loss, "free", 5)
    before = passes.blocks.counters["passes"]
    end = solve(passes, solver, tol=tol, checkpoint=CheckpointFile(tmp_path / "fit.npz"))
    assert end.converged
    assert end.certificate.primal == pytest.approx(whole.certificate.primal, rel=tol)
    assert end.n_iter <= whole.n_iter + 3
    assert passes.blocks.counters["passes"] - before < 0.8 * whole.counters["passes"]


def test_estimators_keep_a_checkpoint(tmp_path):
    """checkpoint= on a machine: a second fit starts where the first one ended, also in memory."""
    X, y = make_data(LOSSES["hinge"]())
    path = tmp_path / "fit.npz"
    first = LinearSVC(loss="hinge", tol=1e-8, checkpoint=path).fit(ArrayBlocks(X, y, rows=200))
    again = LinearSVC(loss="hinge", tol=1e-8, checkpoint=str(path)).fit(ArrayBlocks(X, y, rows=300))
    assert np.array_equal(again.coef_, first.coef_)
    assert again.result_.counters["passes"] < 5 < first.result_.counters["passes"]
    memory = tmp_path / "memory.npz"
    LinearSVR(checkpoint=memory).fit(X, y)
    assert LinearSVR(checkpoint=memory).fit(X, y).n_iter_ <= 3


def test_several_problems_have_several_checkpoints(tmp_path):
    """One class against the rest: a file for each."""
    X, y = load_iris(return_X_y=True)
    LinearSVC(checkpoint=tmp_path / "fit.npz").fit(ArrayBlocks(X, y, rows=40))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit-0.npz", "fit-1.npz", "fit-2.npz"]


def test_a_checkpoint_of_another_problem_is_refused(tmp_path):
    """Another C is another problem; a file that is none is said to be so; nothing is overwritten."""
    X, y = make_data(LOSSES["hinge"]())
    path = tmp_path / "fit.npz"
    LinearSVC(loss="hinge", checkpoint=path).fit(ArrayBlocks(X, y))
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=r"belongs to another problem: its weight is 900\.0, and this one has 1800\.0"):
        LinearSVC(loss="hinge", C=2.0, checkpoint=path).fit(ArrayBlocks(X, y))
    with pytest.raises(ValueError, match="belongs to another problem: its loss"):
        LinearSVC(loss="squared_hinge", checkpoint=path).fit(ArrayBlocks(X, y))
    with pytest.raises(ValueError, match="belongs to the solver 'multipliers', not to this one"):
        LinearSVC(loss="hinge", solver="bundle", checkpoint=path).fit(ArrayBlocks(X, y))
    assert path.read_bytes() == kept
    path.write_text("nothing")
    with pytest.raises(ValueError, match="is not a checkpoint that can be read"):
        LinearSVC(loss="hinge", checkpoint=path).fit(ArrayBlocks(X, y))
    with pytest.raises(ValueError, match="checkpoint must be in a folder that exists"):
        LinearSVC(checkpoint=tmp_path / "no" / "fit.npz").fit(ArrayBlocks(X, y))


def change(X, y, how: str):
    """Other data of the same size: columns in another order, one target, or targets that belong to other rows."""
    if how == "another X":
        return X[:, ::-1], y
    if how == "another y":
        return X, np.where(np.arange(len(y)) == 7, -y, y)
    return X, np.roll(y, 1)


@pytest.mark.parametrize("how", ["another X", "another y", "y of other rows"])
@pytest.mark.parametrize("machine", [LinearSVC(), LinearSVR()], ids=["labels", "numbers"])
@pytest.mark.parametrize("form", ["blocks", "memory"])
def test_a_checkpoint_of_other_data_is_refused(form, machine, how, tmp_path):
    """Of the same size, and standardised, so that means and squares are the same; nothing is overwritten."""
    X, y = make_data(LOSSES["hinge" if isinstance(machine, LinearSVC) else "epsilon_insensitive"]())
    X, path = (X - X.mean(axis=0)) / X.std(axis=0), tmp_path / "fit.npz"
    machine = clone(machine).set_params(checkpoint=path)

    def fit(X, y):
        return machine.fit(ArrayBlocks(X, y, rows=200)) if form == "blocks" else machine.fit(X, y)

    fit(X, y)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=r"belongs to another problem: its (sum_of_\w+|targets) is "):
        fit(*change(X, y, how))
    assert path.read_bytes() == kept
    fit(X, y)


@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_the_same_rows_in_another_form_are_the_same_problem(loss):
    """Other blocks, another order, sparse rows, labels of another type: the sums agree as far as a checkpoint asks."""
    loss = LOSSES[loss]()
    X, y = make_data(loss)
    order = np.random.default_rng(1).permutation(len(y))
    wanted = pose_in_blocks(X, y, loss, "free", 3).fingerprint()
    for rows, targets, blocks in (
        (X, y, 7), (X[order], y[order], 3), (sp.csr_array(X), y, 4),
        (X, y.astype(int) if loss.target == "label" else y, 1),
    ):  # fmt: skip
        found = pose_in_blocks(rows, targets, loss, "free", blocks).fingerprint()
        assert found.keys() == wanted.keys()
        assert all(is_same(found[key], wanted[key]) for key in wanted), found


def test_labels_that_are_texts_are_told_apart():
    """Names of classes count, and not only how many rows each has."""
    X, y = load_iris(return_X_y=True)
    surveys = [
        ArrayBlocks(X, names[y], rows=40).run(survey_block, "label")
        for names in (np.array(["a", "b", "c"]), np.array(["a", "b", "c"], object), np.array(["a", "c", "b"]))
    ]
    assert surveys[0].target_correlation == surveys[1].target_correlation
    assert not is_same(surveys[0].target_correlation, surveys[2].target_correlation)


def test_a_warm_start_needs_fewer_passes():
    """warm_start=True: the second fit starts at the first one's w."""
    X, y = make_data(LOSSES["squared_hinge"]())
    machine = LinearSVC(tol=1e-6, warm_start=True).fit(ArrayBlocks(X, y))
    first = machine.n_iter_
    assert machine.fit(ArrayBlocks(X, y)).n_iter_ < first


# ---- bad input -------------------------------------------------------------------------------------------------------


def spoil(X, y, weight, what: str):
    """Data with one fault."""
    X, y, weight = X.copy(), y.copy(), weight.copy()
    if what == "NaN":
        X[500, 2] = np.nan
    elif what == "infinity":
        X[500, 2] = np.inf
    elif what == "huge":
        X[500, 2] = 1e200
    elif what == "labels":
        y[3] = 0.5
    elif what == "one class":
        y[:] = 1.0
    elif what == "weight":
        weight[7] = np.nan
    elif what == "weightless":
        weight[:] = 0.0
    elif what == "class weight":
        weight[y > 0] = 0.0
    return ArrayBlocks(X, y, weight, rows=300)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("NaN", r"X contains NaN \(block 1\)"),
        ("infinity", r"X contains infinity \(block 1\)"),
        ("huge", r"X reaches 1e\+200.*block 1"),
        ("labels", "Unknown label type"),
        ("one class", "contains only one class: 1.0"),
        ("weight", "sample_weight contains NaN"),
        ("weightless", "no rows with a positive weight"),
        ("class weight", "class 1.0 has no sample of positive weight"),
    ],
)
def test_unsound_blocks_are_refused(what, sentence):
    """One sentence says what is wrong, and in which block."""
    X, y = make_data(LOSSES["hinge"]())
    with pytest.raises(ValueError, match=sentence):
        LinearSVC().fit(spoil(X, y, np.ones(N), what))


def test_what_blocks_cannot_do_is_said():
    """Parameters that need data in memory are refused with a sentence."""
    X, y = make_data(LOSSES["hinge"]())
    blocks = ArrayBlocks(X, y)
    for machine in (MetricSVC(), RankSVM()):
        with pytest.raises(ValueError, match="needs data in memory, since its loss does not split over rows"):
            machine.fit(blocks, y)
    with pytest.raises(ValueError, match="penalty='l1' needs data in memory"):
        LinearSVC(penalty="l1", dual=False).fit(blocks)
    with pytest.raises(ValueError, match="loss='multivariate' needs data in memory"):
        RiskRegressor("multivariate").fit(blocks)
    with pytest.raises(ValueError, match="solver 'smo' does not take data in blocks; use one of"):
        LinearSVC(loss="hinge", solver="smo").fit(blocks)
    with pytest.raises(ValueError, match="Newton's method needs a smooth loss"):
        LinearSVC(loss="hinge", solver="newton").fit(blocks)
    with pytest.raises(ValueError, match="y and sample_weight must be None if X is a Blocks object"):
        LinearSVC().fit(blocks, y)
    with pytest.raises(ValueError, match="y is missing"):
        LinearSVC().fit(ArrayBlocks(X))
    with pytest.raises(ValueError, match="must not be negative for this loss"):
        RiskRegressor("poisson").fit(blocks)
    with pytest.raises(ValueError, match="needs a target above zero"):
        RiskRegressor("poisson").fit(ArrayBlocks(X, np.zeros(N)))


def test_negative_weights_are_left_out_and_said():
    """As in memory."""
    X, y = make_data(LOSSES["hinge"]())
    weight = np.ones(N)
    weight[:10] = -1.0
    with pytest.warns(UserWarning, match="sample_weight is negative for 10 samples"):
        machine = LinearSVC(tol=1e-9).fit(ArrayBlocks(X, y, weight))
    wanted = LinearSVC(tol=1e-9).fit(X[10:], y[10:])
    assert machine.coef_ == pytest.approx(wanted.coef_, rel=1e-6)


def test_blocks_of_different_widths_are_refused():
    """Every block has as many features."""

    class Ragged(Blocks):
        n_blocks = 2

        def load(self, number):
            """Two or three features."""
            return next(ArrayBlocks(np.ones((4, 2 + number)), np.array([0, 1, 0, 1])).stream())

    with pytest.raises(ValueError, match="as many features in every block, but blocks have 2 and 3"):
        LinearSVC().fit(Ragged())


def test_origin_is_judged():
    """Before the first step there is a point too, and its certificate is honest."""
    loss = LOSSES["hinge"]()
    X, y = make_data(loss)
    problem = pose_in_blocks(X, y, loss, "free")
    found = judge(problem, problem.origin(None))
    assert isinstance(problem.origin(None).a, ZeroDuals)
    assert found.primal == pytest.approx(0.5 * N)
    assert found.dual == 0.0
