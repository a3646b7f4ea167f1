"""Run one benchmark, several, or those of `make bench`: python -m benchmarks [--list] [--brief] [name ...]."""

import argparse
import os
from importlib import import_module
from types import ModuleType

# OpenMP in LIBSVM and thundersvm waits by spinning: as soon as another process wants a core, a small fit takes a
# hundred times as long. A few spins are enough on a quiet machine. Read when a library is loaded, so it comes first.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

from .measuring.report import collect, publish

NAMES = {
    "large_fits": "fit and predict times, gaps and kernel rows beside every peer, sets of 5,000 rows and more",
    "prediction": "predict times beside every peer, 5,000 rows and 5,000 support vectors",
    "memory": "peak memory of a fit above its input, each in a process of its own",
    "growth": "how fit times grow with n, beside every peer; covtype at 100,000 rows",
    "unscaled": "gaps of every library on unscaled data",
    "small_fits": "fits and predictions of up to 5,000 rows beside scikit-learn's, one process, warm, defaults",
    "grid_searches": "GridSearchCV around SVC of both libraries: 16 cells, 3 folds, two jobs",
    "tuning": "GridSearchCV of both libraries, each over its own SVC: cells that share kernel matrices beside fits",
    "fold_starts": "pair steps of the cells of a search, by where each starts: nothing, the C or the fold before it",
    "coverage": "how often intervals and sets hold the truth, how wide they are; jackknife+ beside MAPIE",
    "calibration": "probabilities of SVC beside CalibratedClassifierCV: log loss, calibration error, seconds",
    "search_memory": "peak memory of a search above its input, each in a process of its own",
    "cliffs": "fits over a grid of sets, kernels and parameters beside scikit-learn's: slow, or not converged",
    "cold_start": "import time, the first fit ever, the first fit of a later process, whole commands",
    "linear_fits": "LinearSVC beside LIBLINEAR: seconds to the same primal value; other libraries with their defaults",
    "linear_losses": "other losses of linear machines beside scikit-learn's classes: seconds to the same primal value",
    "linear_growth": "how time and memory of linear fits grow with n, up to 2,000,000 rows of a memory-mapped file",
    "linear_path": "thirty values of C in one path, beside single fits",
    "bundle_fits": "every cutting plane method on the hinge loss: seconds, rounds and oracle calls to a certified gap",
    "bundle_rounds": "how the rounds of cutting planes grow with n and with 1 / epsilon",
    "bundle_path": "thirty values of C from one bundle of cuts, beside single fits",
    "structured_scores": "test errors of chains beside independent labels: handwritten words, chunks of sentences",
    "structured_fits": "cutting planes beside Frank-Wolfe on chains: seconds and oracle passes to certified gaps",
    "scaling_rows": "linear fits on 20,000,000 rows that are never whole in memory: on a cluster, and mapped",
    "scaling_peers": "objective against seconds on blocks of rows, beside dask-ml and SGD by partial_fit",
    "scaling_model": "what a pass over a cluster costs: a model, its constants, and how well it predicts",
    "metric_scores": "test scores of machines trained for F1 and the ROC area, beside LinearSVC with a tuned threshold",
    "budgets": "max_seconds asked for and seconds taken, every estimator and solver, idle and on a busy machine",
    "foresight": "how well diagnose predicts the time of a fit, on sets of many shapes",
    "reading": "LIBSVM text read and written beside scikit-learn, and 3 GB of it in blocks: seconds and memory",
    "letters": "gaps of fits by the letters of svm-train and LIBLINEAR's train, beside those programs",
    "certified_labels": "labels certain to be those of the exact optimum, and the extra time of certify_labels=0.99",
    "agreement": "predictions beside scikit-learn's default fit, for several tol: how the default tol was chosen",
}
FOLDERS = {  # of the scripts
    "kernel": (
        "large_fits",
        "prediction",
        "memory",
        "growth",
        "unscaled",
        "small_fits",
        "grid_searches",
        "tuning",
        "fold_starts",
        "coverage",
        "calibration",
        "search_memory",
        "cliffs",
        "certified_labels",
        "agreement",
    ),
    "linear": ("linear_fits", "linear_losses", "linear_growth", "linear_path"),
    "bundle": ("bundle_fits", "bundle_rounds", "bundle_path"),
    "structured": ("structured_scores", "structured_fits", "metric_scores"),
    "scaling": ("scaling_rows", "scaling_peers", "scaling_model"),
    "files": ("reading", "letters"),
    "waiting": ("cold_start", "budgets", "foresight"),
}
ON_REQUEST = ("agreement", "fold_starts")  # answer questions that were asked once


def parse_arguments() -> argparse.Namespace:
    """The names asked for; large_fits if SETS names sets, else all but those on request."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure maxmargin and its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(NAMES)}")
    parser.add_argument("--list", action="store_true", help="list the names and end")
    parser.add_argument("--brief", action="store_true", help="a few small cases only; writes no results")
    parser.add_argument("--cases", type=int, metavar="N", help="of cliffs: how many cases to draw")
    parser.add_argument("--limit", type=float, metavar="SECONDS", dest="limit_seconds", help="of cliffs: its time")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    if list_options(arguments) and arguments.names != ["cliffs"]:
        parser.error("--cases and --limit are options of cliffs")
    if not arguments.names:
        every = [name for name in NAMES if name not in ON_REQUEST]
        arguments.names = ["large_fits"] if os.environ.get("SETS") else every
    return arguments


def list_options(arguments: argparse.Namespace) -> dict[str, float]:
    """The options that were given for `run`."""
    return {name: value for name in ("cases", "limit_seconds") if (value := getattr(arguments, name)) is not None}


def load_script(name: str) -> ModuleType:
    """The module of a benchmark."""
    (folder,) = (folder for folder, names in FOLDERS.items() if name in names)
    return import_module(f".{folder}.{name}", __package__)


def main() -> None:
    """Run what was asked for, one after the other: side by side they would measure each other."""
    arguments = parse_arguments()
    if arguments.list:
        for name, purpose in NAMES.items():
            print(f"{name:13s} {purpose}")
        return
    keep = not arguments.brief and not os.environ.get("SETS") and not os.environ.get("ROWS")
    kept = 0
    for name in arguments.names:
        script = load_script(name)
        kept += publish(script.run(brief=arguments.brief, **list_options(arguments)), keep=keep)
    if kept:
        collect(NAMES)


if __name__ == "__main__":
    main()
