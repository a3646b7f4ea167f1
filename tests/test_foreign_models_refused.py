"""What the model files of LIBSVM and LIBLINEAR cannot hold is refused."""

from __future__ import annotations

import pytest
from fitted_models import TWO, X, fit
from sklearn.exceptions import NotFittedError

from maxmargin import SVC, LinearSVC, MetricSVC
from maxmargin.files import write_liblinear_model, write_libsvm_model

UNWRITABLE = {
    "LIBSVM has no kernel 'laplacian', so its model files cannot hold this SVC": ("svc_laplacian", write_libsvm_model),
    "LIBSVM has no SVC with loss='squared_hinge', so its model files cannot store it": (
        "svc_pairs", write_libsvm_model,
    ),
    "LIBSVM has no SVR with loss='huber', so its model files cannot store it": ("svr_huber", write_libsvm_model),
    "LIBSVM's model files hold machines for pairs of classes, and not multi_class='ovr'": (
        "svc_rest", write_libsvm_model,
    ),
    "LIBSVM's model files have labels that are whole numbers of 32 bits, and not ape, bee, cat": (
        "svc", write_libsvm_model,
    ),
    "LIBLINEAR's model files have labels that are whole numbers of 32 bits, and not ape, bee, cat": (
        "linear_svc", write_liblinear_model,
    ),
    "LIBLINEAR has no RiskClassifier with loss='exponential', so its model files cannot store it": (
        "risk_exponential", write_liblinear_model,
    ),
    "LIBLINEAR has no RiskRegressor with loss='poisson', so its model files cannot store it": (
        "risk_poisson", write_liblinear_model,
    ),
    "LIBLINEAR has no label_costs and label_scales": ("risk_costs", write_liblinear_model),
    "LIBLINEAR has no RiskClassifier with multi_class='softmax'": ("risk_softmax", write_liblinear_model),
}  # fmt: skip


@pytest.mark.parametrize("message", UNWRITABLE)
def test_what_the_formats_cannot_hold_is_refused(message, tmp_path):
    """One sentence, and no file."""
    name, write = UNWRITABLE[message]
    with pytest.raises(ValueError, match=message):
        write(fit(name), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_only_their_own_kind_is_written(tmp_path):
    """Kernel machines there, linear machines here, and all of them fitted."""
    with pytest.raises(TypeError, match=r"model must be a fitted SVC, .* of maxmargin, got LinearSVC"):
        write_libsvm_model(fit("linear_svc"), tmp_path / "model")
    with pytest.raises(TypeError, match=r"model must be a fitted LinearSVC, .* of maxmargin, got SVC"):
        write_liblinear_model(fit("svc"), tmp_path / "model")
    with pytest.raises(TypeError, match="got MetricSVC"):
        write_liblinear_model(MetricSVC().fit(X, TWO), tmp_path / "model")
    with pytest.raises(NotFittedError):
        write_libsvm_model(SVC(), tmp_path / "model")
    with pytest.raises(NotFittedError):
        write_liblinear_model(LinearSVC(), tmp_path / "model")


def test_labels_beyond_an_int_are_refused(tmp_path):
    """The programs would read another label."""
    with pytest.raises(ValueError, match="whole numbers of 32 bits, and not 0, 3000000000"):
        write_libsvm_model(SVC().fit(X, TWO * 3_000_000_000), tmp_path / "model")
