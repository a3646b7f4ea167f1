"""A fitted model of every kind, with something to ask it: for the tests of files."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_classification

from maxmargin import (
    SMO,
    SVC,
    SVR,
    Bundle,
    ChainModel,
    LinearSVC,
    LinearSVR,
    MetricSVC,
    MulticlassModel,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RankSVM,
    RiskClassifier,
    RiskRegressor,
    StructuredSVM,
)
from maxmargin.estimators.registry import ESTIMATORS
from maxmargin.model.kernels import RBF

X, CLASS = make_classification(60, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
X[np.abs(X) < 0.3] = 0.0
TWO, NAMES, NUMBERS = CLASS > 0, np.array(["ape", "bee", "cat"])[CLASS], np.array([1.0, -2.0, 4.0])[CLASS]
TARGET = 2.0 * X[:, 0] + np.sin(X[:, 1])
K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
NEW = np.random.default_rng(1).normal(size=(25, 5))
NEW_K = np.exp(-0.1 * ((NEW[:, None] - X[None]) ** 2).sum(axis=2))
CHAINS, WORDS = np.split(X, [1, 20, 45]), np.split(NAMES, [1, 20, 45])
COSTS = [[0, 1, 2], [1, 0, 1], [1, 1, 0]]


class Example(NamedTuple):
    """How a model is made, on which data, and new samples for it."""

    make: Callable
    X: object
    y: object = None
    new: object = NEW


EXAMPLES: dict[str, Example] = {
    "svc": Example(lambda: SVC(C=3.0, class_weight={"ape": 2.0, "bee": np.float32(0.5)}), X, NAMES),
    "svc_two": Example(lambda: SVC(C=np.float64(2.0), degree=np.int64(2), solver=SMO(selection="mvp")), X, TWO),
    "svc_probability": Example(lambda: SVC(probability=True, random_state=np.random.RandomState(3)), X, NUMBERS),
    "svc_probability_two": Example(lambda: SVC(probability=True, random_state=0), X, TWO),
    "svc_rest": Example(lambda: SVC(multi_class="ovr", probability=True, random_state=0), X, CLASS),
    "svc_pairs": Example(lambda: SVC(decision_function_shape="ovo", loss="squared_hinge"), X, CLASS),
    "svc_linear": Example(lambda: SVC(kernel="linear", break_ties=True), X, CLASS),
    "svc_polynomial": Example(lambda: SVC(kernel="poly", coef0=1.0), X, CLASS),
    "svc_sigmoid": Example(lambda: SVC(kernel="sigmoid", gamma=0.05, coef0=0.1), X, TWO),
    "svc_laplacian": Example(lambda: SVC(kernel="laplacian", gamma="auto"), X, CLASS),
    "svc_kernel_object": Example(lambda: SVC(kernel=RBF(gamma=0.3)), X, CLASS),
    "svc_precomputed": Example(lambda: SVC(kernel="precomputed"), K, CLASS, NEW_K),
    "svc_sparse": Example(lambda: SVC(), sp.csr_matrix(X), CLASS, sp.csr_matrix(NEW)),
    "svc_sparse_array": Example(lambda: SVC(kernel="linear"), sp.csr_array(X), TWO, sp.csr_array(NEW)),
    "svc_float32": Example(lambda: SVC(), X.astype(np.float32), CLASS, NEW.astype(np.float32)),
    "svc_far": Example(lambda: SVC(), X + 1e4, CLASS, NEW + 1e4),
    "nusvc": Example(lambda: NuSVC(nu=0.2), X, CLASS),
    "nusvc_no_intercept": Example(lambda: NuSVC(nu=0.2, intercept="none"), X, TWO),
    "svr": Example(lambda: SVR(C=2.0), X, TARGET),
    "svr_huber": Example(lambda: SVR(loss="huber", kernel="laplacian", intercept="regularised"), X, TARGET),
    "nusvr": Example(lambda: NuSVR(), X, TARGET),
    "nusvr_no_intercept": Example(lambda: NuSVR(intercept="none"), sp.csr_array(X), TARGET, sp.csr_array(NEW)),
    "one_class": Example(lambda: OneClassSVM(nu=0.3), X),
    "linear_svc": Example(lambda: LinearSVC(), X, NAMES),
    "linear_svc_two": Example(lambda: LinearSVC(loss="hinge", intercept="none"), X, TWO),
    "linear_svc_l1": Example(lambda: LinearSVC(penalty="l1", dual=False), X, TWO),
    "linear_svc_joint": Example(lambda: LinearSVC(multi_class="crammer_singer"), X, CLASS),
    "linear_svr": Example(lambda: LinearSVR(epsilon=0.1, intercept="regularised"), X, TARGET),
    "risk_logistic": Example(lambda: RiskClassifier("logistic"), X, CLASS),
    "risk_exponential": Example(lambda: RiskClassifier("exponential"), X, TWO),
    "risk_softmax": Example(lambda: RiskClassifier("logistic", multi_class="softmax"), X, NAMES),
    "risk_costs": Example(lambda: RiskClassifier(multi_class="crammer_singer", label_costs=COSTS), X, CLASS),
    "risk_poisson": Example(lambda: RiskRegressor("poisson"), X, CLASS),
    "risk_multivariate": Example(
        lambda: RiskRegressor("multivariate", M=np.diag([1.0, 2.0])), X, np.column_stack([TARGET, CLASS])
    ),
    "metric": Example(lambda: MetricSVC("fbeta", beta=2.0, solver=Bundle("bmrm")), X, TWO),
    "metric_order": Example(lambda: MetricSVC("precision_at_k", k=10), X, TWO),
    "rank": Example(lambda: RankSVM(), X, CLASS),
    "structured_classes": Example(lambda: StructuredSVM(MulticlassModel()), X, NAMES),
    "structured_chains": Example(
        lambda: StructuredSVM(ChainModel(label_costs=COSTS)), CHAINS, WORDS, [NEW[:1], NEW[1:]]
    ),
}
TARGETS_BY_TASK = {"classification": CLASS, "regression": TARGET, "ranking": CLASS, "novelty": None}
with_example = {type(example.make()) for example in EXAMPLES.values()}
EXAMPLES |= {
    name: Example(kind, X, TARGETS_BY_TASK[kind.task]) for name, kind in ESTIMATORS.items() if kind not in with_example
}


@cache
def fit(name: str):
    """The fitted model of an example; it is shared, so no test may change it."""
    example = EXAMPLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of probability=True
        warnings.simplefilter("ignore", UserWarning)  # where a nu is too large, or a fit stalls
        model = example.make()
        return model.fit(example.X) if example.y is None else model.fit(example.X, example.y)


def answers(model, new) -> dict[str, list]:
    """Everything that a model says of new samples."""
    methods = ("predict", "decision_function", "predict_proba", "score_samples")
    return {name: list(getattr(model, name)(new)) for name in methods if hasattr(model, name)}
