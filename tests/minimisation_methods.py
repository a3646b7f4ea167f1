"""The methods of `minimize`, for tests of all of them."""

from __future__ import annotations

import pytest

STABLE_METHODS = ("proximal-bundle", "trust-region-bundle", "level-bundle")
METHODS = ("cutting-plane", "line-search", "cutting-plane-line-search", *STABLE_METHODS)
every_method = pytest.mark.parametrize("method", METHODS)
