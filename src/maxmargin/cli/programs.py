"""Programs under names of their own, for scripts that were written for LIBSVM's and LIBLINEAR's.

svm-train   -> maxmargin-svm-train             train    -> maxmargin-liblinear-train
svm-predict -> maxmargin-svm-predict           predict  -> maxmargin-liblinear-predict
svm-scale   -> maxmargin-svm-scale
"""

from __future__ import annotations

import sys

from . import main


def run_program(name: str, *command: str) -> int:
    """A command with the arguments of this process, under the name of the program."""
    sys.argv[1:1] = command
    return main(program=name)


def svm_train() -> int:
    """svm-train [options] training_set_file [model_file]."""
    return run_program("maxmargin-svm-train", "train", "--libsvm")


def svm_predict() -> int:
    """svm-predict [options] test_file model_file output_file."""
    return run_program("maxmargin-svm-predict", "predict", "--libsvm")


def svm_scale() -> int:
    """svm-scale [options] data_filename."""
    return run_program("maxmargin-svm-scale", "scale")


def liblinear_train() -> int:
    """train [options] training_set_file [model_file]."""
    return run_program("maxmargin-liblinear-train", "train", "--liblinear")


def liblinear_predict() -> int:
    """predict [options] test_file model_file output_file."""
    return run_program("maxmargin-liblinear-predict", "predict", "--liblinear")
