"""All families of cases, the names of cases, and those with a false claim once."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable

import numpy as np

import maxmargin as mm
from claims.claim import Case
from claims.convex_functions import try_minimize
from claims.judged_points import try_foreign, try_judge, try_risk_bounds
from claims.kernel_machines import try_svc, try_svr
from claims.linear_machines import try_linear_classifier, try_linear_regressor
from claims.nu_machines import try_nu_svc, try_nu_svr, try_one_class
from claims.structured_machines import try_metric, try_ranking, try_structured
from claims.vector_machines import try_joint, try_multivariate, try_path

FORMERLY_FALSE_CASES = (  # cases with a false claim once; if the sampling above changes, start a new list
    "RiskClassifier:901000210", "multivariate:901000243",
    "risk_bounds:7000032", "certify:7000053", "LinearSVC:7000042", "path:7000035", "multivariate:7000064",
    "SVC:7000052", "SVR:7000061", "NuSVC:4000036", "SVC:6000016", "SVR:6000090", "SVR:4000010",
    "judge:1000054", "judge:1000083",
    "LinearSVR:1000078", "LinearSVR:1000138",
    "SVR:1000063", "SVR:1000146",
    "risk_bounds:1000100", "risk_bounds:1000036",
    "RankSVM:1000120", "RankSVM:1000131", "RankSVM:1000053",
    "NuSVR:1000010", "NuSVR:1000048",
    "SVC:1000110", "SVC:1000092",
    "MetricSVC:1000049", "MetricSVC:1000029",
    "OneClassSVM:1000003", "OneClassSVM:1000110", "OneClassSVM:1000075",
    "LinearSVC:1000096", "LinearSVC:1000066",
    "LabelBlocks:1000062", "LabelBlocks:1000125",
    "certify:1000084", "certify:1000057",
    "RiskRegressor:1000001", "RiskRegressor:1000087",
    "path:1000055", "path:1000009",
    "RiskClassifier:1000035", "RiskClassifier:1000060",
    "TargetBlocks:1000090", "TargetBlocks:1000030",
    "NuSVC:1000035", "NuSVC:1000120",
    "multivariate:1000097", "multivariate:1000017",
    "joint:1000144", "joint:1000100",
    "StructuredSVM:1000131", "StructuredSVM:1000047",
)  # fmt: skip

FAMILIES: dict[str, Callable[[np.random.Generator, Case], None]] = {
    "SVC": try_svc,
    "SVR": try_svr,
    "OneClassSVM": try_one_class,
    "NuSVC": try_nu_svc,
    "NuSVR": try_nu_svr,
    "LinearSVC": lambda rng, case: try_linear_classifier(rng, case, mm.LinearSVC),
    "LinearSVR": lambda rng, case: try_linear_regressor(rng, case, mm.LinearSVR),
    "RiskClassifier": lambda rng, case: try_linear_classifier(rng, case, mm.RiskClassifier),
    "RiskRegressor": lambda rng, case: try_linear_regressor(rng, case, mm.RiskRegressor),
    "LabelBlocks": lambda rng, case: try_linear_classifier(rng, case, mm.RiskClassifier, blocks=True),
    "TargetBlocks": lambda rng, case: try_linear_regressor(rng, case, mm.RiskRegressor, blocks=True),
    "joint": try_joint,
    "multivariate": try_multivariate,
    "path": try_path,
    "MetricSVC": try_metric,
    "RankSVM": try_ranking,
    "StructuredSVM": try_structured,
    "certify": try_foreign,
    "judge": try_judge,
    "risk_bounds": try_risk_bounds,
    "minimize": try_minimize,
}


def try_case(name: str) -> Case:
    """The case with this name, such as "SVC:123", fitted, with its claims."""
    family, number = name.split(":")
    case = Case(name)
    rng = np.random.default_rng([zlib.crc32(family.encode()), int(number)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            FAMILIES[family](rng, case)
        except np.linalg.LinAlgError as error:  # NumPy makes it a ValueError, but it is not a refusal
            case.crashed = f"LinAlgError: {error}"
        except ValueError as error:
            case.refused = f"{type(error).__name__}: {error}".splitlines()[0]
        except Exception as error:
            case.crashed = f"{type(error).__name__}: {error}".splitlines()[0]
    return case


def name_cases(cases: int, seed: int, only: list[str] | None = None) -> list[str]:
    """The names of this many cases, taking the families in turn."""
    families = only or list(FAMILIES)
    return [f"{families[k % len(families)]}:{seed * 1000000 + k // len(families)}" for k in range(cases)]
