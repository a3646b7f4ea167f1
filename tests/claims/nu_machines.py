"""Cases of OneClassSVM, NuSVC and NuSVR."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from exact_numbers import HALF, ONE, ZERO, exact, total
from exact_objectives import Objective

import maxmargin as mm
from claims.claim import Case, Claim
from claims.kernel_machines import (
    KERNEL_SOLVERS,
    add_dual_machine,
    add_linear_machine,
    claim_kernel,
    draw_kernel,
    find_shift,
    prepare_kernel,
    translate_rows,
)
from claims.sampled_data import draw_common, draw_labels, draw_samples, draw_targets, draw_weights, weigh


def try_one_class(rng: np.random.Generator, case: Case) -> None:
    """OneClassSVM: max(0, -f), balance nu sum(c)."""
    drawn = case.drawn
    X = draw_samples(rng, drawn)
    n, weight = X.shape[0], draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, False)
    common = draw_common(rng, drawn, KERNEL_SOLVERS)
    common.pop("C")
    nu = float(rng.choice([0.05, 0.3, 0.5, 1.0]))
    drawn.update(nu=nu)
    model = mm.OneClassSVM(nu=nu, **kernel, **common).fit(fitted, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(1.0, weight, n)
    if K is None:
        return
    balance = np.array([Decimal(nu) * total(c)], object)
    objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, balance)
    claim = claim_kernel(model.result_, common["tol"], objective, np.flatnonzero(c > 0), rows=translate_rows(model, X))
    add_dual_machine(claim, objective, K, model, "free")
    case.claims.append(add_linear_machine(claim, objective, X, model))


def try_nu_svc(rng: np.random.Generator, case: Case) -> None:
    """NuSVC: with a free intercept two layers of hinges at margin 0, otherwise one class of signed samples."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn)
    n, y, weight = X.shape[0], draw_labels(rng, X), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, ("smo",))
    common.pop("C")
    nu = float(rng.choice([0.1, 0.3, 0.5, 0.8]))
    drawn.update(nu=nu, intercept=intercept)
    model = mm.NuSVC(nu=nu, intercept=intercept, **kernel, **common).fit(fitted, y, sample_weight=weight)
    K, c = matrix(model, find_shift(model)), weigh(1.0, weight, n)
    if K is None:
        return
    signs, index = exact(np.where(y == 0, 1.0, -1.0)), np.flatnonzero(c > 0)
    if intercept == "free":
        lighter = min(total(c[y == 0]), total(c[y == 1]))
        half = min(HALF * Decimal(nu) * total(c), lighter)
        layer = np.where(y == 0, 0, 1)
        objective = Objective(K, signs, c, "hinge", ZERO, np.array([half, -half], object), layer=layer)
        claim = claim_kernel(model.result_, common["tol"], objective, index)
    else:
        balance = np.array([Decimal(nu) * total(c)], object)
        objective = Objective(K, np.full(n, ONE), c, "novelty", ONE, balance, sign=signs)
        claim = claim_signed(model.result_, common["tol"], objective, index, signs[index])
    case.claims.append(claim)


def claim_signed(result, tol: float, objective: Objective, index: np.ndarray, signs: np.ndarray) -> Claim:
    """The claim of duals over signed samples; a sample may have two duals."""
    weights = signs.astype(float) * np.ravel(result.point.a)
    coef = exact(np.bincount(index, weights, len(objective.K)))  # rounded as in the machine that is read from them
    value = objective.value_of_kernel(coef, exact(np.atleast_1d(result.point.b)))
    return Claim.of(result, tol, {"point": value}, objective.least)


def try_nu_svr(rng: np.random.Generator, case: Case) -> None:
    """NuSVR: with a free intercept a layer for each wall of the tube, otherwise samples with both signs."""
    drawn, intercept = case.drawn, str(rng.choice(["free", "free", "regularised", "none"]))
    X = draw_samples(rng, drawn, 7)
    n, y, weight = X.shape[0], draw_targets(rng, X.shape[0], drawn), draw_weights(rng, X.shape[0], drawn)
    kernel, fitted, matrix = prepare_kernel(draw_kernel(rng, drawn), X, intercept == "regularised")
    common = draw_common(rng, drawn, ("smo",))
    nu = float(rng.choice([0.1, 0.3, 0.5, 1.0]))
    drawn.update(nu=nu, intercept=intercept)
    model = mm.NuSVR(nu=nu, intercept=intercept, **kernel, **common).fit(fitted, y, sample_weight=weight)
    K, c, targets = matrix(model, find_shift(model)), weigh(common["C"], weight, n), exact(y)
    if K is None:
        return
    twice, whole = np.tile(np.arange(n), 2), Decimal(nu) * total(c)
    both, index = np.repeat([ONE, -ONE], n), np.flatnonzero(c > 0)
    if intercept == "free":
        balance = np.array([HALF * whole, -HALF * whole], object)
        quantiles = np.repeat([ONE, ZERO], n)
        layer = np.repeat([0, 1], n)
        objective = Objective(K, targets[twice], c[twice], "quantile", quantiles, balance, index=twice, layer=layer)
        claim = claim_kernel(model.result_, common["tol"], objective, index)
    else:
        balance = np.array([whole], object)
        objective = Objective(
            K, both * targets[twice], c[twice], "quantile", ONE, balance, index=twice, sign=both
        )  # fmt: skip
        claim = claim_signed(
            model.result_, common["tol"], objective, np.tile(index, 2), np.repeat([ONE, -ONE], len(index))
        )
    case.claims.append(claim)
