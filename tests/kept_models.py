"""Models saved and loaded again, the digest of a model file, and models that later versions must be able to read.

python tests/kept_models.py    # once for each released version: writes tests/data/models-VERSION
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path

import numpy as np
from fitted_models import EXAMPLES, answers, fit

from maxmargin import __version__, load, save
from maxmargin.files.archive import DIGEST_DIGITS, DIGEST_MARK, compute_digest

FOLDER = Path(__file__).parent / "data"
KEPT_EXAMPLES = (
    "svc", "svc_probability_two", "svc_sparse", "svc_precomputed", "svc_far", "nusvc", "svr_huber", "nusvr",
    "one_class", "linear_svc", "linear_svr", "risk_softmax", "risk_poisson", "metric", "rank", "structured_chains",
)  # fmt: skip


def keep(model, folder: Path, **options):
    """The model as it comes back from a file."""
    save(model, folder / "model.mm", **options)
    return load(folder / "model.mm")


def seal(content: bytes) -> bytes:
    """An archive with the digest that suits it."""
    body = content + DIGEST_MARK[:0]
    return body[:-DIGEST_DIGITS] + compute_digest(io.BytesIO(body), len(body) - DIGEST_DIGITS)


def list_answers(name: str, model) -> dict[str, np.ndarray]:
    """What a model says of the new samples of its example, method by method, in one array each; and its certificate."""
    said = answers(model, EXAMPLES[name].new)
    found = {method: np.concatenate([np.ravel(each) for each in said[method]]) for method in said}
    certificate = model.certificate_
    return {**found, "certificate": np.array([certificate.primal, certificate.dual, certificate.kkt])}


def write_kept_models(folder: Path) -> None:
    """Of each example a file of ours, a pickle, and what the model answers."""
    folder.mkdir()
    for name in KEPT_EXAMPLES:
        model = fit(name)
        save(model, folder / f"{name}.mm", compact=True)
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(model, protocol=5))
        np.savez_compressed(folder / f"{name}.npz", **list_answers(name, model))


if __name__ == "__main__":
    write_kept_models(FOLDER / f"models-{__version__}")
