"""Model files that were cut or changed are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from fitted_models import TARGET, X
from kept_models import seal

from maxmargin import LinearSVR, load, save

# ---- damage -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """A small file."""
    path = tmp_path_factory.mktemp("small") / "model.mm"
    save(LinearSVR().fit(X[:4, :2], TARGET[:4]), path, compact=True)
    return path


def refusal(path: Path, content: bytes) -> str:
    """The sentence with which a file is refused; empty if it is not."""
    path.write_bytes(content)
    try:
        load(path)
    except ValueError as error:
        return str(error)
    return ""


def test_a_file_that_was_cut_anywhere_is_refused(small, tmp_path):
    """At every byte; so is one to which something was added."""
    content, path = small.read_bytes(), tmp_path / "cut.mm"
    refusals = [refusal(path, content[:length]) for length in range(len(content))]
    assert all("cut.mm' is not a model file that can be read" in each for each in refusals[4:])
    assert all("cut.mm' is not a model file: it does not start like" in each for each in refusals[:4])
    assert "its end is missing, so it was truncated or overwritten" in refusal(path, content + b"\0")


def test_a_file_with_a_flipped_bit_is_refused(small, tmp_path):
    """In every byte, the digest itself and what zip says of the members included."""
    content, path = bytearray(small.read_bytes()), tmp_path / "flipped.mm"
    for place in range(len(content)):
        content[place] ^= 1 << (place % 8)
        assert "flipped.mm' is no" in refusal(path, content), place
        content[place] ^= 1 << (place % 8)
    assert refusal(path, content) == ""


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04", b"\x80\x04K\x01.", b"svm_typo", bytes(10_000)])
def test_what_is_no_model_file_is_refused(content, tmp_path):
    """A sentence, whatever it is."""
    path = tmp_path / "other.mm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.mm"):
        load(path)


# ---- files from strangers: the digest is right, and nothing else ------------------------------------------------


def test_members_that_claim_more_than_there_is_are_refused(small, tmp_path):
    """A size in the directory that the file does not have; nothing is allocated for it."""
    content = bytearray(small.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 20 : place + 28] = (2_000_000_000).to_bytes(4, "little") * 2
    path = tmp_path / "giant.mm"
    path.write_bytes(seal(bytes(content)))
    with pytest.raises(ValueError, match="its members claim more bytes than it has"):
        load(path)
