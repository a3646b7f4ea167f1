"""Chains, classes and models of one's own: oracles against all labellings, features against their definition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from structured_problems import (
    GreedyChain,
    Matching,
    PlainChain,
    build_feature,
    chain_of,
    hamming,
    list_labellings,
    make_chains,
    make_matchings,
    pose,
    solve_chains,
)

from maxmargin.certificates.certificate import judge
from maxmargin.structures import ChainModel, MulticlassModel, StructuredPoint, WeightedLabelling
from maxmargin.structures.labellings import make_key, read_labelling, write_labelling

SHAPES = [(1, 2, 1), (4, 3, 3), (5, 2, 4), (3, 4, 5)]  # features, labels, longest
every_shape = pytest.mark.parametrize(("d", "k", "longest"), SHAPES)
either_form = pytest.mark.parametrize("sparse", [False, True])


def as_given(X, sparse: bool) -> list:
    """Dense or CSR."""
    return [sp.csr_array(x) for x in X] if sparse else X


@every_shape
@either_form
def test_oracle_finds_the_best_of_all_labellings(d, k, longest, sparse):
    """Viterbi's algorithm against a list of all labellings, with and without Delta."""
    X, y = make_chains(8, d, k, longest)
    model = chain_of(as_given(X, sparse), y)
    rng = np.random.default_rng(1)
    for scale in (0.3, 3.0):
        w = scale * rng.normal(size=d * k + k * k + 2 * k)
        for x, right in zip(X, y, strict=True):
            labellings = list_labellings(x, k)
            plain = np.array([w @ build_feature(x, z, d, k) for z in labellings])
            augmented = plain + [np.sum(z != right) for z in labellings]
            given = sp.csr_array(x) if sparse else x
            assert np.array_equal(model.argmax(given, w), labellings[np.argmax(plain)])
            found = model.argmax(given, w, right)
            value = w @ build_feature(x, found, d, k) + np.sum(found != right)
            assert value == pytest.approx(augmented.max(), abs=1e-10)


@either_form
def test_joint_feature_is_its_definition(sparse):
    """psi as indices and values, for one sequence; and <w, psi> is the score."""
    X, y = make_chains(6, 4, 3, 4)
    model = chain_of(as_given(X, sparse), y)
    for x, labels in zip(as_given(X, sparse), y, strict=True):
        indices, values = model.joint_feature(x, labels)
        dense = np.zeros(4 * 3 + 9 + 6)
        np.add.at(dense, indices, values)
        assert np.array_equal(dense, build_feature(x, labels, 4, 3))
    w = np.arange(27.0)
    unary, transitions, start, end = model.split(w)
    score = unary[y[3]] @ X[3].T
    path = np.trace(score) + transitions[y[3][:-1], y[3][1:]].sum() + start[y[3][0]] + end[y[3][-1]]
    assert w @ build_feature(X[3], y[3], 4, 3) == pytest.approx(path)


@either_form
def test_all_sequences_at_once_are_each_by_itself(sparse):
    """Values, losses, heights and sums of features of the packed form against one sequence after the other."""
    X, y = make_chains(150, 4, 3, 5)
    costs = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])
    problem = pose(ChainModel(costs), as_given(X, sparse), y)
    examples, rng = problem.examples, np.random.default_rng(0)
    w, weight = rng.normal(size=problem.size), rng.random(150)
    joint_labelling, values, bounds = examples.blank(), np.empty(150), np.empty(150)
    examples.maximise(w, 0, 150, joint_labelling, values, bounds)
    labellings = np.split(joint_labelling, np.cumsum([len(labels) for labels in y])[:-1])
    differences = np.array([build_feature(x, right, 4, 3) - build_feature(x, z, 4, 3)
                            for x, right, z in zip(X, y, labellings, strict=True)])  # fmt: skip
    losses = np.array([costs[right, z].sum() for right, z in zip(y, labellings, strict=True)])
    best = [max(costs[right, z].sum() - w @ (build_feature(x, right, 4, 3) - build_feature(x, z, 4, 3))
                for z in list_labellings(x, 3)) for x, right in zip(X[:40], y[:40], strict=True)]  # fmt: skip
    assert np.allclose(values[:40], best, atol=1e-10)
    assert np.array_equal(values, bounds)
    found_losses, heights = examples.measure(joint_labelling, w)
    assert np.allclose(found_losses, losses)
    assert np.allclose(heights, losses - differences @ w, atol=1e-10)
    assert np.allclose(heights, values, atol=1e-10)
    assert np.allclose(examples.combine(joint_labelling, weight), weight @ differences, atol=1e-10)


def test_strips_do_not_change_the_answer():
    """The oracle in pieces of any size finds the same."""
    X, y = make_chains(200, 3, 3, 4)
    problem = pose(ChainModel(), X, y)
    w = np.random.default_rng(0).normal(size=problem.size)
    whole, pieces = np.empty(200), np.empty(200)
    one, other = problem.examples.blank(), problem.examples.blank()
    problem.examples.maximise(w, 0, 200, one, whole, np.empty(200))
    for first in range(0, 200, 37):
        problem.examples.maximise(w, first, min(first + 37, 200), other, pieces, np.empty(200))
    assert np.array_equal(one, other)
    assert np.array_equal(whole, pieces)


def test_classes_are_sequences_of_one_label():
    """psi(x, z) = e_z (x) x, and the oracle is the largest score plus cost."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.array(["c", "a", "b"])[rng.integers(0, 3, 30)]
    model = MulticlassModel()
    problem = pose(model, X, y)
    assert problem.size == 12
    w = rng.normal(size=12)
    W = model.split(w)
    index = np.searchsorted(model.labels_, y)
    scores = X @ W.T + (np.arange(3) != index[:, None])
    joint_labelling, values, bounds = problem.examples.blank(), np.empty(30), np.empty(30)
    problem.examples.maximise(w, 0, 30, joint_labelling, values, bounds)
    assert np.array_equal(joint_labelling, scores.argmax(axis=1))
    assert np.allclose(values, scores.max(axis=1) - scores[np.arange(30), index])
    assert model.argmax(X[0], w) == model.labels_[np.argmax(W @ X[0])]
    assert model.loss("a", "b") == 1.0
    indices, features = model.joint_feature(X[0], "b")
    assert np.allclose(w[indices] @ features, W[1] @ X[0])


def test_a_model_of_ones_own_is_seen_as_the_packed_one():
    """The loop over samples and the packed form give the same numbers for the same model."""
    X, y = make_chains(12, 3, 3, 3)
    packed, listed = pose(ChainModel(), X, y), pose(PlainChain(3), X, y)
    w = np.random.default_rng(2).normal(size=packed.size)
    weight = np.linspace(0.0, 1.0, 12)
    answers = []
    for problem in (packed, listed):
        joint_labelling, values, bounds = problem.examples.blank(), np.empty(12), np.empty(12)
        problem.examples.maximise(w, 0, 12, joint_labelling, values, bounds)
        losses, heights = problem.examples.measure(joint_labelling, w)
        answers.append((values, bounds, losses, heights, problem.examples.combine(joint_labelling, weight)))
    for one, other in zip(*answers, strict=True):
        assert np.allclose(one, other, atol=1e-10)


@pytest.mark.parametrize("model", [ChainModel(), PlainChain(3)])
def test_the_judge_bounds_the_optimum_from_both_sides(model):
    """D <= P* <= P for random w and random weights of random labellings, even infeasible ones."""
    X, y = make_chains(6, 2, 3, 3)
    problem = pose(model, X, y, 0.7)
    optimum = solve_chains(X, y, problem.c, 3, hamming(3))
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 1.0):
        sheets = []
        for _ in range(4):
            labelling = [rng.integers(0, 3, len(labels)) for labels in y]
            labelling = np.concatenate(labelling) if problem.examples.packed else labelling
            sheets.append(WeightedLabelling(labelling, rng.normal(size=6)))  # negative weights, and sums that are not c
        certificate = judge(problem, StructuredPoint(scale * rng.normal(size=problem.size), tuple(sheets)))
        assert certificate.dual <= optimum + 1e-8 <= certificate.primal + 2e-8
        assert certificate.kkt >= 0


def test_the_judge_adds_up_the_definition():
    """P and D by their formulas, from features and losses of every labelling."""
    X, y = make_chains(5, 2, 3, 3)
    problem = pose(ChainModel(), X, y, 0.5)
    rng = np.random.default_rng(3)
    w = rng.normal(size=problem.size)
    labellings = [[rng.integers(0, 3, len(labels)) for labels in y] for _ in range(2)]
    weights = [np.full(5, 0.2), np.full(5, 0.3)]
    point = StructuredPoint(
        w, tuple(WeightedLabelling(np.concatenate(z), a) for z, a in zip(labellings, weights, strict=True))
    )
    certificate = judge(problem, point)
    primal, linear, total = 0.5 * w @ w, 0.0, np.zeros(problem.size)
    for i, (x, right) in enumerate(zip(X, y, strict=True)):
        truth = build_feature(x, right, 2, 3)
        primal += 0.5 * max(np.sum(z != right) + w @ (build_feature(x, z, 2, 3) - truth) for z in list_labellings(x, 3))
        for z, a in zip(labellings, weights, strict=True):
            linear += a[i] * np.sum(z[i] != right)
            total += a[i] * (truth - build_feature(x, z[i], 2, 3))
    assert certificate.primal == pytest.approx(primal, rel=1e-12)
    shares = np.linspace(0.0, 1.0, 100_001)  # of the weights, the rest being on the labels themselves
    best = float((shares * linear - 0.5 * shares**2 * (total @ total)).max())
    assert best > linear - 0.5 * total @ total
    assert certificate.dual == pytest.approx(best, rel=1e-9)


def test_an_approximate_oracle_is_judged_by_its_bounds():
    """P of a greedy search is no less than the true P, and infinite without a bound."""
    X, y = make_chains(8, 2, 3, 4)
    exact, greedy = pose(PlainChain(3), X, y), pose(GreedyChain(3), X, y)
    rng = np.random.default_rng(0)
    for _ in range(5):
        w = rng.normal(size=exact.size)
        assert (
            judge(greedy, greedy.origin(None)._replace(w=w)).primal
            >= judge(exact, exact.origin(None)._replace(w=w)).primal
        )
    greedy.examples.model.bounded = False
    certificate = judge(greedy, greedy.origin(None))
    assert certificate.primal == np.inf
    assert certificate.relative_gap == np.inf


def test_matchings_need_no_size():
    """prepare is optional where joint_feature returns arrays."""
    X, y = make_matchings()
    problem = pose(Matching(), X, y)
    assert problem.size == 3
    certificate = judge(problem, problem.origin(None))
    assert certificate.dual == 0.0
    assert certificate.primal == pytest.approx(20 * 4)  # w = 0: all rows can be wrong


@pytest.mark.parametrize(
    "z", [3, "noun", (1, 2), [1, 2], np.arange(3), np.arange(6.0).reshape(2, 3), ("a", (1.5, None)), np.int64(4)]
)
def test_labellings_can_be_written_and_read(z):
    """A checkpoint holds text, and no pickles."""
    again = read_labelling(write_labelling(z))
    assert make_key(again) == make_key(z.item() if isinstance(z, np.generic) else z)


def test_labellings_that_cannot_be_written_are_refused():
    with pytest.raises(ValueError, match="A checkpoint can keep labellings that are arrays"):
        write_labelling(object())
