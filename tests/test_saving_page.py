"""docs/saving.md: what it says of types holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import skops.io
from fitted_models import EXAMPLES, fit
from test_skops import COMPOSED, fit_composed

PAGE = (Path(__file__).parent.parent / "docs" / "saving.md").read_text()


@pytest.mark.filterwarnings("ignore:The best candidate has")
@pytest.mark.parametrize("name", [*sorted(EXAMPLES), *COMPOSED])
def test_the_table_has_every_type_that_skops_asks_for(name):
    """By the beginning of its name."""
    table = PAGE[PAGE.index("| type | when |") : PAGE.index("This works for every estimator")]
    starts = re.findall(r"`((?:maxmargin|scipy|numpy|sklearn)[\w.]*)`", table)
    model = fit(name) if name in EXAMPLES else fit_composed(name)
    types = skops.io.get_untrusted_types(data=skops.io.dumps(model))
    known = [each for each in types if each.startswith(tuple(starts)) or each.startswith("scipy.sparse._csr.csr_")]
    assert known == types
