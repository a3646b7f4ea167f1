"""Scripts that were written for LIBSVM's and LIBLINEAR's programs, run with ours: the same lines, the same output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from maxmargin.cli import main
from maxmargin.files import load, write_libsvm

SCRIPT = Path(__file__).parents[2] / "examples" / "heart.sh"
PROGRAMS = Path(sys.executable).parent
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def needs(*programs: str):
    """Skip where a program is absent."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(
        bool(missing), reason=f"needs {', '.join(missing)}: apt install libsvm-tools liblinear-tools"
    )


needs_libsvm = needs("svm-train", "svm-predict", "svm-scale")
needs_liblinear = needs("liblinear-train", "liblinear-predict")
needs_ours = pytest.mark.skipif(
    not (PROGRAMS / "maxmargin-svm-train").exists(), reason="needs the programs that pip install puts into place"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder with data: two classes, three classes, numbers; each to train on and to test on."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, size=(400, 6))
    scores = 2.0 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3] + 0.2 * rng.normal(size=400)
    targets = {"two": np.where(scores > 0, 1.0, -1.0), "three": np.digitize(scores, [-0.7, 0.7]) + 1.0, "real": scores}
    for name, y in targets.items():
        write_libsvm(name, X[:250], y[:250])
        write_libsvm(f"{name}.t", X[250:], y[250:])
    return tmp_path


def call(*argv: str) -> str:
    """What a program prints."""
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout


def ours(capsys, *argv: str) -> str:
    """What a command of ours prints, in this process; it ends well."""
    capsys.readouterr()
    assert main(list(argv)) == 0
    return capsys.readouterr().out


def compare(theirs: str, printed: str) -> None:
    """The same words; accuracies that differ by one row of 150 at most, errors by one in a hundred."""
    assert NUMBER.sub("#", theirs) == NUMBER.sub("#", printed)
    for their, our in zip(NUMBER.findall(theirs), NUMBER.findall(printed), strict=True):
        off_by = 1.0 if "Accuracy" in theirs else 0.01 * abs(float(their))
        assert float(our) == pytest.approx(float(their), abs=off_by)


LIBSVM_LINES = [
    "two:", "two:-c 10 -g 0.5", "two:-t 0 -c 5", "two:-t 1 -d 2 -r 1 -g 1", "two:-t 3 -g 0.1", "two:-w1 3 -w-1 0.5",
    "two:-s 1 -n 0.3", "two:-s 2 -n 0.1", "two:-h 0 -m 10 -e 0.1", "three:", "three:-s 1 -n 0.2 -t 0",
    "three:-c 100 -w2 2", "real:-s 3 -p 0.05", "real:-s 4 -n 0.4 -c 10", "real:-s 3 -t 0 -e 1e-5",
]  # fmt: skip
LIBLINEAR_LINES = [
    "two:", "two:-s 0", "two:-s 2 -B 1", "two:-s 3 -c 10", "two:-s 5", "two:-s 7 -B 1", "two:-w1 5", "three:-s 1",
    "three:-s 3 -B 1", "three:-s 4", "three:-s 0", "three:-w2 3", "real:-s 11", "real:-s 12 -B 1 -e 0.001",
    "real:-s 13 -p 0.3 -e 0.001",
]  # fmt: skip


@pytest.mark.slow
@needs_libsvm
@pytest.mark.parametrize("line", LIBSVM_LINES)
def test_lines_of_svm_train(line, capsys):
    """Train and predict with either program: the same words and accuracies, and a gap like theirs."""
    data, _, letters = line.partition(":")
    call("svm-train", "-q", *letters.split(), data, "their.model")
    theirs = call("svm-predict", f"{data}.t", "their.model", "their.out")
    assert ours(capsys, "train", "--libsvm", "-q", *letters.split(), data, "our.model") == ""
    compare(theirs, ours(capsys, "predict", "--libsvm", f"{data}.t", "our.model", "our.out"))
    compare(theirs, call("svm-predict", f"{data}.t", "our.model", "crossed.out"))
    assert Path("crossed.out").read_text().split()[:5] == Path("our.out").read_text().split()[:5] or data == "real"
    compare(theirs, ours(capsys, "predict", f"{data}.t", "their.model", "crossed.out"))
    assert no_worse(capsys, data, letters)


def no_worse(capsys, data: str, letters: str) -> bool:
    """Whether the gap of our model is about that of theirs, or smaller: the rule is on the violation, not on it."""
    given = {"-c": "--C", "-n": "--nu", "-p": "--epsilon"}
    words = letters.split()
    asked = {word: "1" if word == "--C" else "0.5" if word == "--nu" else "0.1" for word in given.values()}
    pairs = list(pairwise(words))
    asked |= {given[letter]: value for letter, value in pairs if letter in given}
    kind = words[words.index("-s") + 1] if "-s" in words else "0"
    used = {"0": ["--C"], "1": ["--nu"], "2": ["--nu"], "3": ["--C", "--epsilon"], "4": ["--C", "--nu"]}[kind]
    options = [each for word in used for each in (word, asked[word])]
    options += [f"--class-weight={letter[2:]}={value}" for letter, value in pairs if letter.startswith("-w")]
    gaps = [
        json.loads(ours(capsys, "certify", model, data, "--json", *options))["certificate"]["relative_gap"]
        for model in ("their.model", "our.model")
    ]
    return gaps[1] <= 2.0 * gaps[0]


@pytest.mark.slow
@needs_liblinear
@pytest.mark.parametrize("line", LIBLINEAR_LINES)
def test_lines_of_liblinear(line, capsys):
    """Train and predict with either program: the same words and accuracies."""
    data, _, letters = line.partition(":")
    call("liblinear-train", "-q", *letters.split(), data, "their.model")
    theirs = call("liblinear-predict", f"{data}.t", "their.model", "their.out")
    assert ours(capsys, "train", "--liblinear", "-q", *letters.split(), data, "our.model") == ""
    compare(theirs, ours(capsys, "predict", "--liblinear", f"{data}.t", "our.model", "our.out"))
    compare(theirs, call("liblinear-predict", f"{data}.t", "our.model", "crossed.out"))
    compare(theirs, ours(capsys, "predict", "--liblinear", f"{data}.t", "their.model", "crossed.out"))


@pytest.mark.slow
@needs_libsvm
def test_probabilities_of_svm_predict(capsys):
    """-b 1: our model in their program and theirs in ours write the same header and the same probabilities."""
    call("svm-train", "-q", "-b", "1", "two", "their.model")
    ours(capsys, "train", "-q", "-b", "1", "two", "our.model")
    for model in ("their.model", "our.model"):
        call("svm-predict", "-b", "1", "two.t", model, "their.out")
        ours(capsys, "predict", "-b", "1", "two.t", model, "our.out")
        (head, *rows), (our_head, *our_rows) = (
            Path(name).read_text().splitlines() for name in ("their.out", "our.out")
        )
        columns = [head.split().index(label) for label in our_head.split()]
        theirs, mine = (np.array([row.split() for row in each], float) for each in (rows, our_rows))
        assert our_head == "labels 1 -1"
        np.testing.assert_allclose(theirs[:, columns], mine, atol=1e-5)


@pytest.mark.slow
@needs_libsvm
def test_lines_of_svm_scale(capsys):
    """Scaled rows agree to the six digits that svm-scale writes, and each reads the other's ranges."""
    for options in ([], ["-l", "0", "-u", "2"], ["-y", "-1", "1"]):
        theirs = call("svm-scale", *options, "-s", "their.range", "real")
        mine = ours(capsys, "scale", *options, "-s", "our.range", "real")
        again = call("svm-scale", "-r", "our.range", "real")
        back = ours(capsys, "scale", "-r", "their.range", "real")
        table = [np.array(NUMBER.findall(text), float) for text in (theirs, mine, again, back)]
        for other in table[1:]:
            np.testing.assert_allclose(other, table[0], atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@needs_libsvm
def test_cross_validation_says_the_same(capsys):
    """-v: the words of svm-train, and a rate of the same size; the folds are random in both."""
    for data, letters in (("two", []), ("real", ["-s", "3"])):
        theirs = call("svm-train", "-v", "5", "-q", *letters, data)
        mine = ours(capsys, "train", "--libsvm", "-v", "5", "-q", *letters, data)
        assert NUMBER.sub("#", theirs) == NUMBER.sub("#", mine)
        rates = [float(NUMBER.findall(text)[0]) for text in (theirs, mine)]
        assert rates[0] == pytest.approx(rates[1], rel=0.2)


@pytest.mark.slow
@needs_libsvm
@needs_ours
def test_a_script_with_other_names_of_programs(tmp_path):
    """examples/heart.sh, and the script that it was: line by line the same accuracies, within one row of a hundred."""
    written = SCRIPT.read_text()
    (tmp_path / "before.sh").write_text(written.replace("maxmargin-svm-", "svm-"))
    environment = {**os.environ, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    outputs = []
    for script, place in ((tmp_path / "before.sh", "before"), (SCRIPT, "after")):
        command = ["sh", str(script), str(tmp_path / place)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600, env=environment)
        outputs.append(done.stdout.splitlines())
    assert len(outputs[0]) == len(outputs[1])
    for theirs, mine in zip(*outputs, strict=True):
        assert NUMBER.sub("#", theirs) == NUMBER.sub("#", mine)
        for their, our in zip(NUMBER.findall(theirs), NUMBER.findall(mine), strict=True):
            assert float(our) == pytest.approx(float(their), abs=1.0 if "error" not in theirs else 0.01)


@pytest.mark.slow
@needs("svm-grid")
@needs_ours
def test_svm_grid_with_our_program(tmp_path):
    """LIBSVM's own search for C and gamma runs our program, which it knows by its path only."""
    command = [
        "svm-grid", "-svmtrain", str(PROGRAMS / "maxmargin-svm-train"), "-gnuplot", "null", "-out", "null",
        "-log2c", "0,2,2", "-log2g", "-2,0,2", "-v", "3", "two",
    ]  # fmt: skip
    last = call(*command).splitlines()[-1].split()
    assert len(last) == 3
    assert float(last[2]) > 80


@pytest.mark.slow
@needs_ours
def test_programs_end_with_their_codes():
    """Each program by its own name: usage, a file that is not there, and what it prints."""
    programs = ["svm-train", "svm-predict", "svm-scale", "liblinear-train", "liblinear-predict"]
    for program in programs:
        name = f"maxmargin-{program}"
        done = subprocess.run([PROGRAMS / name], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        assert done.stderr.startswith(f"usage: {name} [options] ")
    done = subprocess.run(
        [PROGRAMS / "maxmargin-svm-train", "nowhere"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.startswith("maxmargin-svm-train: ")
    subprocess.run([PROGRAMS / "maxmargin-liblinear-train", "-q", "two"], check=True, timeout=60)
    assert Path("two.model").read_text().startswith("solver_type ")


# ---- a disk that is full ---------------------------------------------------------------------------------------------

FULL = """
mount -t tmpfs -o size=32k none disk || exit 77
{python} -m maxmargin train -q --estimator LinearSVC two disk/model || exit 78
cp disk/model before
{python} -m maxmargin train -q --gamma 100 two disk/model
code=$?
cmp before disk/model && ls -A disk
exit $code
"""


@pytest.mark.slow
@needs("unshare")
def test_a_disk_that_is_full(folder):
    """A file system of 32 KB: the old model stays as it was, alone, and one sentence says why."""
    (folder / "disk").mkdir()
    script = FULL.format(python=sys.executable)
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, "TMPDIR": str(folder)},
    )  # fmt: skip
    if done.returncode == 77 or "unshare failed" in done.stderr:
        pytest.skip("this system lets only root mount a file system")
    assert done.returncode == 1
    sentence = "disk/model could not be written: No space left on device; the file that was there is unchanged"
    told, _, kept = done.stderr.partition("; the model is in ")
    assert told == f"maxmargin train: {sentence}"
    assert load(kept.strip().removesuffix(".")).gamma == 100.0
    assert done.stdout == "model\n"
