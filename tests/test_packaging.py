"""What is shipped: the metadata, and wheel and sdist built, installed into an empty environment, and used there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist")
REQUIRED = {"numpy", "scipy", "scikit-learn", "numba"}
# What these four bring with them: nothing else may come with a plain installation.
BROUGHT = {"cloudpickle", "joblib", "threadpoolctl", "llvmlite", "narwhals", "pip", "setuptools", "maxmargin"}
SMOKE = """
import os, pickle, sys, tempfile
import numpy as np
from maxmargin import SVC, LinearSVR, __version__, load, patch_sklearn, save
X = np.random.default_rng(0).normal(size=(60, 3))
model = SVC().fit(X, X[:, 0] > 0)
path = os.path.join(tempfile.mkdtemp(), "model.mm")
save(model, path)
for again in (load(path), pickle.loads(pickle.dumps(model))):
    assert (again.predict(X) == model.predict(X)).all()
    assert again.certificate_ == model.certificate_
assert LinearSVR().fit(X, X[:, 0]).certificate_.relative_gap <= 1e-4
assert "SVC" in patch_sklearn(verbose=False)
print(__version__, os.path.dirname(sys.modules["maxmargin"].__file__))
"""


def name_of(requirement: str) -> str:
    """numpy>=2.0 -> numpy."""
    return re.match(r"[\w-]+", requirement)[0]


def test_an_installation_needs_four_libraries():
    """Everything else is an extra."""
    assert {name_of(each) for each in PROJECT["dependencies"]} == REQUIRED


@pytest.mark.parametrize(
    ("extra", "most"), [("plots", 1), ("qp", 2), ("onnx", 3), ("skops", 1), ("tables", 1), ("cluster", 3), ("play", 1)]
)
def test_extras_are_small(extra, most):
    """A few packages each, none of them one that is needed anyway."""
    names = [name_of(each) for each in PROJECT["optional-dependencies"][extra]]
    assert 1 <= len(names) <= most
    assert not REQUIRED & set(names)


def test_the_metadata_agree():
    """Version, licence and author in pyproject.toml, CITATION.cff, LICENSE and the package; classifiers and Pythons."""
    citation = (ROOT / "CITATION.cff").read_text()
    assert maxmargin.__version__ == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    (author,) = PROJECT["authors"]
    assert f"  - name: {author['name']}\n" in citation
    assert author["name"].lower() in (ROOT / "LICENSE").read_text().lower()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
    pythons = {each.rsplit(" ", 1)[1] for each in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", each)}
    assert pythons == {"3.11", "3.12", "3.13"}
    assert PROJECT["requires-python"] == ">=3.11,<3.14"
    assert "Typing :: Typed" in PROJECT["classifiers"]
    assert len(PROJECT["keywords"]) >= 5


def test_constraints_of_the_tests_name_what_the_extra_asks_for():
    """Every package of the extra `test` has a tested version."""
    known = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "requirements-test.txt").read_text().split()
    }
    asked = {name_of(each).lower() for each in PROJECT["optional-dependencies"]["test"]}
    assert asked <= known


@pytest.mark.slow
def test_wheel_and_sdist_are_whole_and_the_wheel_works(tmp_path):
    """`python -m build`, what is in the two files, and a fresh environment that has nothing but the wheel."""
    source, made = tmp_path / "source", tmp_path / "made"
    shutil.copytree(ROOT, source, ignore=NOT_COPIED)
    run(sys.executable, "-m", "build", "--outdir", made, source)
    (wheel,), (sdist,) = made.glob("*.whl"), made.glob("*.tar.gz")
    check_sdist(sdist, source)
    check_wheel(wheel, source)
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    listed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    installed = {line.split("==")[0].lower() for line in listed.split()}
    assert installed >= REQUIRED
    assert installed <= REQUIRED | BROUGHT
    version, place = run(python, "-c", SMOKE, cwd=tmp_path).split()
    assert version == PROJECT["version"]
    assert Path(place).is_relative_to(tmp_path / "venv")
    command = python.with_name("maxmargin")
    assert run(command, "--version", cwd=tmp_path).strip() == f"maxmargin {version}"
    run(command, "demo", "--write", cwd=tmp_path)
    assert "converged" in run(command, "train", "cancer", cwd=tmp_path)


def run(*command, cwd: Path | None = None) -> str:
    """What a command printed; it must succeed, and must not find the package of this repository."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def list_files(folder: Path) -> set[str]:
    """All files below a folder, by their relative paths."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check_sdist(sdist: Path, source: Path) -> None:
    """All that the repository has: changelog, documents, examples, tests and benchmarks among it, and no caches."""
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    missing = {name for name in list_files(source) if ".egg-info/" not in name} - names
    assert missing == set()
    for name in ("CHANGELOG.md", "CITATION.cff", "SECURITY.md", "LICENSE", "docs/saving.md", "examples/demo.py"):
        assert name in names
    assert not [name for name in names if "__pycache__" in name or name.startswith((".venv", ".ci"))]


def check_wheel(wheel: Path, source: Path) -> None:
    """All of the package and nothing but it, the licence, and the commands."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
    expected = {f"maxmargin/{name}" for name in list_files(source / "src" / "maxmargin")}
    assert expected - names == set()
    assert {name.split("/")[0] for name in names} == {"maxmargin", f"maxmargin-{PROJECT['version']}.dist-info"}
    assert [name for name in names if "__pycache__" in name] == []
    assert "maxmargin/py.typed" in names
    assert "maxmargin/play/assets/page.html" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert "Author: The maxmargin developers" in metadata
    assert "Description-Content-Type: text/markdown" in metadata
    plain = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.M)
    assert {name.lower() for name in plain} == REQUIRED
