"""Cells that share a kernel matrix: the same machines as a fit each, and certificates that the judge agrees with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_regression
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from maxmargin import SVC, SVR, NuSVC, NuSVR
from maxmargin.certificates.certificate import judge
from maxmargin.model.losses.piecewise import Absolute, Huber
from maxmargin.model.problem import Point
from maxmargin.tuning.kernel_cells import SolvedCells
from maxmargin.tuning.kernel_chains import link_chains
from maxmargin.tuning.matrix_cells import FoldRows, MatrixSearch, SampleSet
from maxmargin.tuning.shared_matrix import SharedMatrix, choose_precision

TOL = 1e-8
TWO = make_classification(160, 6, n_informative=4, n_redundant=2, flip_y=0.1, random_state=0)
FOUR = make_classification(200, 6, n_informative=5, n_redundant=1, n_classes=4, flip_y=0.1, random_state=1)
NUMBERS = make_regression(150, 5, noise=5.0, random_state=2)
COSTS = {"C": [0.1, 1.0, 30.0]}

MACHINES = {
    "two classes": (SVC(tol=TOL), COSTS, TWO),
    "four classes": (SVC(tol=TOL), COSTS, FOUR),
    "one against the rest": (SVC(tol=TOL, multi_class="ovr"), COSTS, FOUR),
    "linear": (SVC(tol=TOL, kernel="linear"), COSTS, TWO),
    "linear, far away": (SVC(tol=1e-6, kernel="linear"), COSTS, (TWO[0] + 1e4, TWO[1])),
    "polynomial": (SVC(tol=TOL, kernel="poly", coef0=1.0, degree=2), COSTS, FOUR),
    "laplacian": (SVC(tol=TOL, kernel="laplacian"), COSTS, TWO),
    "squared hinge": (SVC(tol=TOL, loss="squared_hinge"), COSTS, TWO),
    "class weights": (SVC(tol=TOL, class_weight="balanced"), COSTS, (FOUR[0], np.minimum(FOUR[1], 2))),
    "large gamma, far away": (SVC(tol=1e-6, gamma=50.0), COSTS, (TWO[0] + 1e3, TWO[1])),
    "NuSVC": (NuSVC(tol=1e-6), {"nu": [0.2, 0.4]}, FOUR),
    "SVR": (SVR(tol=TOL), {"C": [0.1, 10.0], "epsilon": [0.1, 5.0]}, NUMBERS),
    "SVR, quantile": (SVR(tol=TOL, loss="quantile", quantile=0.8), {"C": [1.0, 10.0]}, NUMBERS),
    "NuSVR": (NuSVR(tol=1e-6), {"nu": [0.3], "C": [1.0, 10.0]}, NUMBERS),
    "sparse": (SVC(tol=TOL), COSTS, (sp.random_array((160, 30), density=0.2, rng=3).tocsr(), TWO[1])),
}


def list_candidates(grid):
    """All combinations."""
    names = list(grid)
    combined = np.stack([each.ravel() for each in np.meshgrid(*grid.values(), indexing="ij")], axis=1)
    return [dict(zip(names, map(float, row), strict=True)) for row in combined]


def search(estimator, candidates, X, y, folds, weight=None, is_over=lambda: False, score=None):
    """All cells of a search, by (candidate, fold)."""
    cells = {}

    def keep(cell):
        train = cell.train()
        cells[cell.candidate, cell.fold] = cell._replace(train=lambda: train)
        return 0.0 if score is None else score(cell)

    rows = [
        FoldRows(k, train, test, None if weight is None else weight[train]) for k, (train, test) in enumerate(folds)
    ]
    machines = {k: clone(estimator).set_params(**each) for k, each in enumerate(candidates)}
    run = MatrixSearch(SampleSet(X, y, rows), machines, keep, lambda candidate, fold: None, is_over)
    run.run()
    return cells, run


def fit_decisions(estimator, candidate, X, y, train, test, weight=None):
    """What the machine of a cell says of the held-out and of the training rows, by a fit of its own."""
    machine = (
        clone(estimator).set_params(**candidate).fit(X[train], y[train], None if weight is None else weight[train])
    )
    return machine._decision_values(X[test]), machine._decision_values(X[train])


@pytest.mark.parametrize("name", MACHINES)
def test_cells_are_machines_of_their_own_fits(name):
    """Decisions of held-out and of training rows, and gaps within tol."""
    estimator, grid, (X, y) = MACHINES[name]
    split = StratifiedKFold if estimator.task == "classification" else KFold
    folds, candidates = list(split(3, shuffle=True, random_state=0).split(np.zeros(len(y)), y)), list_candidates(grid)
    cells, _ = search(estimator, candidates, X, y, folds)
    assert len(cells) == len(folds) * len(candidates)
    for (number, fold), cell in cells.items():
        assert cell.certificate.relative_gap <= estimator.tol
        test, train = fit_decisions(estimator, candidates[number], X, y, *folds[fold])
        size = 1.0 + np.abs(test).max()
        close = 1e-3 if estimator.tol <= TOL else 2e-2
        np.testing.assert_allclose(cell.test, test, atol=close * size)
        np.testing.assert_allclose(cell.train(), train, atol=close * size)


def test_weights_and_rows_of_no_weight():
    """Weights multiply C, and rows of weight zero are not there."""
    X, y = FOUR
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    folds = list(ShuffleSplit(2, test_size=0.3, random_state=0).split(X))
    cells, _ = search(SVC(tol=TOL), [{"C": 1.0}, {"C": 10.0}], X, y, folds, weight)
    for (number, fold), cell in cells.items():
        test, _ = fit_decisions(SVC(tol=TOL), {"C": [1.0, 10.0][number]}, X, y, *folds[fold], weight)
        np.testing.assert_allclose(cell.test, test, atol=1e-3)


def test_training_rows_given_twice_count_twice():
    """As a splitter that samples with replacement has them."""
    X, y = TWO
    train = np.random.default_rng(1).integers(0, 120, 120)
    fold = (train, np.arange(120, 160))
    cells, _ = search(SVC(tol=TOL), [{"C": 3.0}], X, y, [fold])
    test, trained = fit_decisions(SVC(tol=TOL), {"C": 3.0}, X, y, *fold)
    np.testing.assert_allclose(cells[0, 0].test, test, atol=1e-4)
    np.testing.assert_allclose(cells[0, 0].train(), trained, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_certificates_hold(dtype, C):
    """P and D by the judge of one problem in twice the precision lie within the bounds of the cells."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:120] / 16.0, (y[:120] % 2).astype(int)
    machines = {0: SVC(C=C, gamma=0.05), 1: SVC(C=0.1 * C, gamma=0.05)}
    rows = [FoldRows(0, np.arange(90), np.arange(90, 120))]
    run = MatrixSearch(SampleSet(X, y, rows), machines, lambda cell: 0.0, lambda *_: None, lambda: False)
    ((kernel, ((chain, (fold,)),)),) = run.group_by_kernel()
    posed = run.pose(chain, fold)
    shared = SharedMatrix(run.samples.X, 1e9)
    if dtype is np.float32:
        shared.dtype, shared.keeps_base = np.dtype(dtype), False
        shared.matrix = np.empty(shared.matrix.shape, dtype)
    bound, samples = shared.bind(kernel)
    matrix = shared.form(bound, samples)
    assert matrix.dtype == dtype
    machine = clone(machines[0])
    problems = machine._pose_problems(machine._validate(run.samples.X[posed.train], run.samples.y[posed.train], None))
    solved = SolvedCells(matrix, problems.features.__class__(bound, samples), [posed])
    for tol in (1e-2, 1e-7):
        solved.solve(tol, lambda: False)
        for cell, (certificate,) in enumerate(solved.certify()):
            machine = clone(posed.chain.machines[cell])
            problem = machine._pose_problems(
                machine._validate(run.samples.X[posed.train], run.samples.y[posed.train], None)
            ).problem(0)
            exact = judge(problem, Point(solved.a[cell, 0], float(solved.b[cell, 0, 0])), closely=True)
            assert certificate.primal >= exact.primal - exact.rounding
            assert certificate.dual <= exact.dual + exact.rounding
            assert certificate.gap >= exact.gap - exact.rounding
            if dtype is np.float64:
                assert certificate.relative_gap <= max(tol, 1e-7) * 1.5


def test_chains_follow_C():
    """Candidates that differ in C alone, the smallest first; all others begin chains of their own."""
    machines = {
        0: SVC(C=10.0), 1: SVC(C=1.0), 2: SVC(C=1.0, gamma=0.5), 3: SVC(C=0.1), 4: SVC(C=5.0, gamma=0.5),
    }  # fmt: skip
    assert [chain.candidates for chain in link_chains(machines)] == [[3, 1, 0], [2, 4]]


def test_equal_parameters_share_a_chain():
    """Losses and weights of classes are compared by their values: every candidate has copies of its own."""
    numbers = {
        0: SVR(loss=Huber(1.0)),
        1: SVR(C=2.0, loss=Huber(1.0)),
        2: SVR(loss=Huber(2.0)),
        3: SVR(loss=Absolute()),
    }
    assert [chain.candidates for chain in link_chains(numbers)] == [[0, 1], [2], [3]]
    weights = [{0: 1.0, 1: 2.0}, {1: 2.0, 0: 1.0}, {0: 1.0, 1: 3.0}]
    labels = {number: SVC(C=3.0 - number, class_weight=weight) for number, weight in enumerate(weights)}
    assert [chain.candidates for chain in link_chains(labels)] == [[1, 0], [2]]


def test_memory_decides_about_precision():
    """Both matrices in float64, then one of them, then one in float32, then none."""
    n = 1000
    assert choose_precision(n, 16e6) == (np.float64, True)
    assert choose_precision(n, 15e6) == (np.float64, False)
    assert choose_precision(n, 7e6) == (np.float32, False)
    assert choose_precision(n, 3e6) is None


def test_matrices_without_room_for_their_base_are_the_same():
    """Distances are computed again for each gamma then."""
    X, y = TWO
    folds, candidates = list(KFold(2).split(X)), [{"gamma": 0.1}, {"gamma": 1.0}]
    large, _ = search(SVC(tol=TOL), candidates, X, y, folds)
    small, run = search(SVC(tol=TOL, cache_size=0.3), candidates, X, y, folds)
    assert run.kernel_values == 2 * len(y) ** 2
    for key, cell in large.items():
        np.testing.assert_allclose(small[key].test, cell.test, atol=1e-9)


def test_float32_matrices_settle_scores():
    """Gaps of 1e-3, certified beyond the rounding of the matrix."""
    X, y = TWO
    folds = list(KFold(2).split(X))
    cells, _ = search(SVC(cache_size=0.15), [{"C": 1.0}, {"C": 100.0}], X, y, folds)
    assert len(cells) == 4
    assert all(cell.certificate.relative_gap <= 1e-3 for cell in cells.values())


def test_large_cells_are_solved_to_the_end_where_they_are_close_to_the_best(monkeypatch):
    """Others stay at the gap that settles their score."""
    import maxmargin.tuning.matrix_cells as module

    monkeypatch.setattr(module, "LOOSE_MIN_SAMPLES", 10)
    X, y = TWO
    folds, scores = list(KFold(3).split(X)), {0: 0.5, 1: 0.9, 2: 0.899}
    candidates = [{"C": 0.1}, {"C": 1.0}, {"C": 10.0}]
    cells, run = search(SVC(), candidates, X, y, folds, score=lambda cell: scores[cell.candidate])
    gaps = {number: max(cells[number, fold].certificate.relative_gap for fold in range(3)) for number in scores}
    assert gaps[1] <= 1e-5
    assert gaps[2] <= 1e-5
    assert gaps[0] <= 1e-3
    assert len(run.scores) == 9


def test_nothing_begins_when_the_time_is_over():
    """No cell is scored."""
    cells, _ = search(SVC(), [{"C": 1.0}], *TWO, list(KFold(2).split(TWO[0])), is_over=lambda: True)
    assert not cells


def test_folds_that_fit_would_refuse_are_left_out():
    """Training rows of one class."""
    X, y = TWO
    one_class = np.flatnonzero(y == 0)
    folds = [(one_class, np.arange(10)), (np.arange(100), np.arange(100, 160))]
    cells, _ = search(SVC(), [{"C": 1.0}], X, y, folds)
    assert set(cells) == {(0, 1)}


@pytest.mark.parametrize("allowed", [700, 2000, 10**6])
@pytest.mark.parametrize("name", ["four classes", "NuSVC", "SVR"])
def test_parts_of_chains_have_the_cells_of_the_whole(name, allowed, monkeypatch):
    """However little memory there is: each cell once, with the decisions of chains that were not cut."""
    import maxmargin.tuning.chain_parts as module

    estimator, grid, (X, y) = MACHINES[name]
    folds, candidates = list(KFold(3).split(X)), list_candidates(grid)
    whole, _ = search(estimator, candidates, X, y, folds)
    monkeypatch.setattr(module, "PART_BYTES", allowed * module.PLACE_BYTES)
    cells, run = search(estimator, candidates, X, y, folds)
    parts = [part for _, chains in run.group_by_kernel() for part in chains]
    assert len(parts) > len(run.group_by_kernel()) or allowed > 700
    assert set(cells) == set(whole)
    assert run.fits == len(cells)
    for key, cell in cells.items():
        np.testing.assert_allclose(cell.test, whole[key].test, atol=2e-2 * np.abs(whole[key].test).max())
        assert cell.certificate.relative_gap <= estimator.tol


def make_chain(count):
    """A chain of so many values of C."""
    return next(iter(link_chains({number: SVC(C=10.0**number) for number in range(count)})))


def test_small_problems_are_cut_between_folds_and_large_ones_along_cost(monkeypatch):
    """Room for twelve places: two cells of three places on two folds, or four cells on one."""
    import maxmargin.tuning.chain_parts as module

    monkeypatch.setattr(module, "PART_BYTES", 12 * module.PLACE_BYTES)
    for is_large, expected in ((False, [(4, [0]), (4, [1])]), (True, [(2, [0, 1]), (2, [0, 1])])):
        parts = module.cut_chain(make_chain(4), [0, 1], lambda fold, is_large=is_large: module.ChainSize(3, is_large))
        assert [(len(chain.candidates), folds) for chain, folds in parts] == expected
        followed = [(chain.follows, chain.is_followed) for chain, _ in parts]
        assert followed == ([(False, True), (True, False)] if is_large else [(False, False)] * 2)
    assert module.group_by_size("abcd", [5, 6, 20, 1], 12) == [["a", "b"], ["c"], ["d"]]
