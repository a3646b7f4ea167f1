"""CONTRIBUTING.md cannot be out of date: its quotations are those of the code, and its examples run."""

from __future__ import annotations

import re

import pytest
from contract_page import PAGE, QUOTE, fill_in

from maxmargin import contracts

SECTIONS = re.split(r"^### ", PAGE.read_text(), flags=re.M)[1:]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)
EXAMPLES = {section.partition("\n")[0]: "\n".join(BLOCK.findall(section)) for section in SECTIONS}
EXAMPLES = {title: code for title, code in EXAMPLES.items() if code}


def test_the_contracts_are_quoted_as_they_are():
    """python tests/contract_page.py writes them anew."""
    assert PAGE.read_text() == fill_in(PAGE.read_text())


def test_every_contract_is_quoted():
    """What can be plugged in is on the page."""
    values = {"Block", "Data", "DataRequest", "Outcome", "Progress"}  # plain records, not bases
    assert {name for _, name, _ in QUOTE.findall(PAGE.read_text())} == set(contracts.__all__) - values


@pytest.mark.parametrize("title", EXAMPLES)
def test_examples_run(title, tmp_path, monkeypatch):
    """Each section is a program of its own, and asserts what it shows."""
    assert "\nassert " in EXAMPLES[title]
    monkeypatch.chdir(tmp_path)
    exec(compile(EXAMPLES[title], f"CONTRIBUTING.md, {title}", "exec", dont_inherit=True), {"__name__": "contributing"})


def test_all_kinds_have_an_example():
    """A loss, a smooth loss, a kernel, a solver, a file format, an estimator, and more."""
    kinds = ("A loss", "A smooth loss", "A kernel", "A solver", "A file format", "An estimator", "A structured model")
    assert set(kinds) <= set(EXAMPLES)
