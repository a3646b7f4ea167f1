"""Why a user would not mind that a test of another project fails with our classes in place of scikit-learn's."""

from __future__ import annotations

from typing import NamedTuple

from sklearn_swap import EXPECTED, UNDETERMINED


class Reason(NamedTuple):
    """`pattern`: the name of a test, with wildcards and dashes for brackets; `always`: whether it is sure to fail."""

    pattern: str
    text: str
    always: bool = True


# library -> test name with wildcards -> reason; those of scikit-learn's svm tests are in sklearn_swap.py
REASONS: dict[str, dict[str, str]] = {
    "skops": dict.fromkeys(
        (
            "test_can_persist_fitted-LinearSV*",
            "test_can_persist_fitted-NuSV*",
            "test_can_persist_fitted-OneClassSVM()",
            "test_can_persist_fitted-SV*",
        ),
        "The test compares the private state of the object with that of its copy, which leaves out duals and scores "
        "of the fit; predictions, public attributes and the certificate are the same (tests/test_skops.py).",
    ),
    "skl2onnx": dict.fromkeys(
        (
            "test_convert_nusvc_binary_p*",
            "test_convert_nusvc_multi_p*",
            "test_convert_nusvr",
            "test_convert_svc_binary_linear_p*",
            "test_convert_svc_multi_linear_pfalse",
            "test_convert_svc_multi_linear_ptrue",
            "test_convert_svr_linear",
        ),
        "The test reads the attributes of an SVMClassifier or SVMRegressor node of float32. Our converter writes plain "
        "operators of float64 in its place, whose outputs are those of the model.",
    ),
}


def list_reasons(library: str) -> list[Reason]:
    """All reasons for the tests of a library."""
    found = [Reason(pattern, text) for pattern, text in REASONS.get(library, {}).items()]
    if library == "scikit-learn":
        found += [Reason(pattern, text) for pattern, text in EXPECTED.items()]
        found += [Reason(pattern, text, always=False) for pattern, text in UNDETERMINED.items()]
    return found
