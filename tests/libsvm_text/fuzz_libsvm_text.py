"""Bytes that libFuzzer finds: python tests/libsvm_text/fuzz_libsvm_text.py -runs=1000000 FOLDER keeps them there.

The parser of LIBSVM text gives a sentence where its slow reference refuses, and the same bits where it does not.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import atheris
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
with atheris.instrument_imports(include=["libsvm_text_reference", "maxmargin.blocks.libsvm_text"]):
    import libsvm_text_reference

    from maxmargin.blocks import libsvm_text

libsvm_text.CHUNK_BYTES, libsvm_text.STRIP_BYTES = 64, 16  # many chunks in a few bytes
RULE = libsvm_text.make_rule(None, True, np.float64)._replace(queries=True)
NAME = Path("bytes")


def read(text: bytes) -> libsvm_text.CsrBuilder:
    """The rows of a text by the compiled parser."""
    chunks = libsvm_text.split_text(io.BytesIO(text), NAME)
    return libsvm_text.gather(libsvm_text.parse_chunks(chunks, RULE, NAME), RULE, len(text), queries=True)


def compare(text: bytes) -> None:
    """Both readers refuse, or both find the same."""
    try:
        expected = libsvm_text_reference.parse(text)
    except ValueError:
        expected = None
    try:
        rows = read(text)
    except ValueError as error:
        if expected is not None or not str(error).startswith("bytes, line "):
            raise
        return
    assert expected is not None, "the reference refuses it"
    same = [row.label for row in expected], [value for row in expected for _, value in row.pairs]
    for growing, values in zip((rows.labels, rows.values), same, strict=True):
        assert growing.finish().tobytes() == np.array(values, np.float64).tobytes()
    assert rows.indices.finish().tolist() == [index for row in expected for index, _ in row.pairs]
    assert rows.ends.finish().tolist() == [0, *np.cumsum([len(row.pairs) for row in expected], dtype=int)]
    assert rows.queries.finish().tolist() == [-1 if row.query is None else row.query for row in expected]


SEEDS = [
    b"-1.5e3 qid:3 1:0.25 7:1e-3 # c\n",
    b"+1 0:123456789012345678901234567890.5e-40 2147483648:1\r\n\n-1 2:.5\t3:5.\n",
    b"1e400 1:nan 2:1e-400 2:1",
    b"9007199254740993 qid:12345678901234567890 4611686018427387903:2.2250738585072011e-308\n",
]

if __name__ == "__main__":
    for number, seed in enumerate(SEEDS):
        compare(seed)
        Path(sys.argv[-1], str(number)).write_bytes(seed)
    atheris.Setup(sys.argv, compare)
    atheris.Fuzz()
