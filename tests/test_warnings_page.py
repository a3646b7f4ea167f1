"""docs/guide/warnings.md: every status, and every warning that the source has a sentence for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from pages import ROOT

from maxmargin.solvers.result import SENTENCES, Status

PAGE = " ".join((ROOT / "docs/guide/warnings.md").read_text(encoding="utf-8").split())
WARNING_FUNCTIONS = {"warnings.warn", "warn_user"}
MIN_CLAUSE_LENGTH = 12  # letters that are enough to recognise a sentence
# Built elsewhere, from sentences that the page has: those of a status, of a remedy, of structured models.
BUILT_SENTENCES = {
    "estimators/certified.py": "The certified relative gap",
    "runtime/stand_ins.py": "was deprecated in version 1.9 of scikit-learn",
    "runtime/user_warnings.py": "ConvergenceWarning",
}


def list_warnings() -> Iterator[tuple[str, int, ast.expr]]:
    """File, line and message of every call that warns."""
    package = ROOT / "src" / "maxmargin"
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in WARNING_FUNCTIONS:
                yield path.relative_to(package).as_posix(), node.lineno, node.args[0]


def list_clauses(message: ast.expr) -> list[str]:
    """What a message says for sure, between what it fills in, cut at full stops and semicolons."""
    texts = [node.value for node in ast.walk(message) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    parts = [" ".join(part.split()).strip(" .:;,") for text in texts for part in re.split(r"[;.] ", text)]
    return [part for part in parts if len(part) >= MIN_CLAUSE_LENGTH]


@pytest.mark.parametrize(
    ("file", "message"), [pytest.param(file, message, id=f"{file}:{line}") for file, line, message in list_warnings()]
)
def test_every_warning_is_on_the_page(file, message):
    """By a clause of its sentence."""
    clauses = list_clauses(message) or [BUILT_SENTENCES[file]]
    assert any(clause in PAGE for clause in clauses), clauses


@pytest.mark.parametrize("status", Status)
def test_every_status_is_on_the_page(status):
    """With the sentence of its message."""
    assert f"| `{status.value}` | {SENTENCES[status]} |" in PAGE


def test_remedies_are_on_the_page():
    """Each sentence of `find_remedy` that is there whatever the data."""
    source = (ROOT / "src/maxmargin/insight/diagnosis.py").read_text(encoding="utf-8")
    body = source[source.index("def suggest_remedy") :]
    returned = re.findall(r'return f?"([^"]+)"', body)
    assert len(returned) >= 4
    for sentence in returned:
        end = re.split(r"\{[^}]*\}", sentence)[-1]
        assert end in PAGE, sentence
