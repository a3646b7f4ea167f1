"""The memory of searches, each in a process of its own: cache_size + 150 MB above the input."""

from __future__ import annotations

import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="The peak is read from /proc/self/status."),
]


@pytest.mark.cover("all")
@pytest.mark.parametrize(
    "case", [(4000, 2, 4, 3, 250), (4000, 2, 4, 3, 50), (3000, 26, 10, 3, 200)], ids=["matrix", "none", "classes"]
)
def test_peak_memory(case):
    """With a cache that just holds the matrix, with one that does not, and with arrays of many pairs of classes."""
    from benchmarks.kernel.search_memory import Case, measure

    found = measure(Case(*case))
    assert not isinstance(found, str), found
    assert found["above the input"] <= Case(*case).allowed
