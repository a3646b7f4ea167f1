"""Models saved and loaded again, and the digest of a model file."""

from __future__ import annotations

import io
from pathlib import Path

from maxmargin import load, save
from maxmargin.files.archive import DIGEST_DIGITS, DIGEST_MARK, compute_digest


def keep(model, folder: Path, **options):
    """The model as it comes back from a file."""
    save(model, folder / "model.mm", **options)
    return load(folder / "model.mm")


def seal(content: bytes) -> bytes:
    """An archive with the digest that suits it."""
    body = content + DIGEST_MARK[:0]
    return body[:-DIGEST_DIGITS] + compute_digest(io.BytesIO(body), len(body) - DIGEST_DIGITS)
