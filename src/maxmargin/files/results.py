"""Results of fits in model files: status, history, certificates, and the points from which a warm fit starts."""

from __future__ import annotations

from collections import Counter
from numbers import Real

import numpy as np

from ..blocks.problem import BlockPoint, ZeroDuals
from ..certificates.certificate import Certificate, worst
from ..contracts.estimators import Estimator
from ..estimators.certified import CertifiedMachine
from ..estimators.kept_results import drop_scores
from ..estimators.structured import StructuredSVM
from ..model.problem import Point
from ..solvers.bundle.blocks import Places
from ..solvers.newton.blocks import Steps
from ..solvers.result import Progress, Result, Status
from ..structures import StructuredPoint
from .checks import is_array, require

# ---- from a machine -------------------------------------------------------------------------------------------------


def extract_results(model: Estimator, compact: bool) -> dict:
    """The results, their samples and what was posed; the certificates alone if `compact` or if no more is known.

    A model that comes from a pickle has results without points, from which no warm fit could start.
    """
    results = list_results(model)
    if compact or not results or any(result.point is None for result in results):
        return {"certificates": [drop_scores(certificate) for certificate in list_certificates(model)]}
    kept = {"results": [extract_result(result) for result in results]}
    if model.family == "structured":
        return kept
    return {**kept, "posed": model._posed, "indices": [index for index, _ in model._points]}


def list_results(model: Estimator) -> list[Result]:
    """Those of all binary problems; none of a machine that another library fitted."""
    if not model.has_results:
        return []
    return [model.result_] if model.family == "structured" else model.results_


def list_certificates(model: Estimator) -> list[Certificate]:
    """Those of all binary problems, or the one that is known."""
    return list(model.certificate_.parts) or [model.certificate_]


def extract_result(result: Result) -> dict:
    """A result field by field, its history as columns."""
    columns = zip(Progress._fields, zip(*result.history, strict=True), strict=True) if result.history else ()
    return {
        "status": result.status.value, "point": result.point, "certificate": result.certificate,
        "solver": result.solver, "n_iter": result.n_iter, "seconds": result.seconds, "message": result.message,
        "history": {name: pack_column(column) for name, column in columns}, "counters": dict(result.counters),
    }  # fmt: skip


def pack_column(column: tuple):
    """Numbers as an array, anything else as it is."""
    numbers = all(isinstance(each, Real) and not isinstance(each, bool) for each in column)
    return np.array(column) if numbers else list(column)


# ---- into a machine -------------------------------------------------------------------------------------------------


def restore_results(model: Estimator, state: dict) -> None:
    """results_, certificates_ and the points of the last fit, or the certificates alone."""
    if "results" not in state:
        restore_certificates(model, state["certificates"])
        return
    results = [make_result(kept) for kept in state["results"]]
    require(bool(results), "results_")
    if model.family == "structured":
        (model.result_,) = results
        model.certificate_ = model.result_.certificate
        check_structured_point(model)
        return
    indices = state["indices"]
    require(isinstance(indices, list) and len(indices) == len(results), "indices")
    for index, result in zip(indices, results, strict=True):
        check_point(model, index, result.point)
    keep_results(model, indices, results, state["posed"])


def keep_results(model: CertifiedMachine, indices: list[np.ndarray], results: list[Result], posed) -> None:
    """As after a fit, but with what was posed then: parameters may have been changed since."""
    hashed = vars(model).get("data_hash_")
    model._keep_results(indices, results)
    model._posed = posed
    if hashed is not None:
        model.data_hash_ = hashed


def restore_certificates(model: Estimator, certificates: list[Certificate]) -> None:
    """What is known of a fit of which the points were left out."""
    require(bool(certificates) and all(isinstance(each, Certificate) for each in certificates), "certificates_")
    if model.family != "structured":
        model.certificates_ = certificates
    model.certificate_ = worst(certificates)


def make_result(kept: dict) -> Result:
    """A result of its fields."""
    history = kept["history"]
    columns = [each.tolist() if isinstance(each, np.ndarray) else each for each in history.values()]
    lines = [Progress(**dict(zip(history, line, strict=True))) for line in zip(*columns, strict=True)]
    require(isinstance(kept["certificate"], Certificate), "certificate_")
    return Result(
        Status(kept["status"]), kept["point"], kept["certificate"], kept["solver"], kept["n_iter"], kept["seconds"],
        kept["message"], lines, Counter(kept["counters"]),
    )  # fmt: skip


def check_point(model: CertifiedMachine, index, point) -> None:
    """A point of which duals and coefficients have the lengths of the samples and of the features."""
    if isinstance(point, BlockPoint):
        check_block_point(model, point)
        return
    require(isinstance(point, Point) and isinstance(index, np.ndarray) and index.dtype.kind == "i", "indices")
    m, d = len(index), model.n_features_in_
    a, b, coef, mixture, w = point
    kernel = model.family == "kernel"
    lengths = (m, 2 * m) if kernel else (m,)  # nu machines without an intercept see every sample twice
    require(any(is_array(a, "f", n) or is_array(a, "f", None, n) for n in lengths), "a point of the fit")
    require(isinstance(b, Real) or is_array(b, "f", None), "the intercept of a point")
    widths = lengths if kernel else (d + 1,)
    several = not kernel and is_array(coef, "f", None, d + 1)
    require(coef is None or several or any(is_array(coef, "f", n) for n in widths), "the coefficients of a point")
    require(w is None or (kernel and is_array(w, "f", d)), "the weights of a point")
    if mixture is not None:
        require(is_array(mixture.weights, "f", None), "the mixture of a point")
        require(is_array(mixture.scores, "f", len(mixture.weights), m), "the mixture of a point")


def check_block_point(model: CertifiedMachine, point: BlockPoint) -> None:
    """Coefficients of all features, here and where the recipe asks."""
    width, recipe = model.n_features_in_ + 1, point.a
    require(is_array(point.coef, "f", width) or is_array(point.coef, "f", None, width), "the coefficients of a point")
    if isinstance(recipe, Steps):
        sound = is_array(recipe.u, "f", None, width) and is_array(recipe.widths, "f", len(recipe.u))
    elif isinstance(recipe, Places):
        sound = is_array(recipe.coefs, "f", None, width) or is_array(recipe.coefs, "f", None, None, width)
        sound = sound and len(recipe.weights) == len(recipe.coefs) == len(recipe.tails)
    else:
        sound = isinstance(recipe, ZeroDuals)
    require(sound, "the recipe of a point")


def check_structured_point(model: StructuredSVM) -> None:
    """w as long as the weights, and labellings of numbers; whether they are of the samples, a warm fit asks again."""
    point = model.result_.point
    require(isinstance(point, StructuredPoint) and is_array(point.w, "f", len(model.coef_)), "a point of the fit")
    for joint_labelling in point.sheets:
        require(
            is_array(joint_labelling.labelling, "i", None) and is_array(joint_labelling.weight, "f", None),
            "a labelling of the fit",
        )
