"""Run one benchmark, several, or all: python -m benchmarks [--list] [--brief] [name ...]."""

import argparse
from importlib import import_module

from .report import publish

NAMES = {
    "small_fits": "fit times of SVC and SVR beside scikit-learn's, 100 to 20,000 rows, one process, warm",
    "cold_start": "import time, the first fit ever, the first fit of a later process",
    "agreement": "predictions beside scikit-learn's default fit, for several tol: how the default tol was chosen",
}


def parse_arguments() -> argparse.Namespace:
    """The names asked for, all if none."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure maxmargin and its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"any of: {', '.join(NAMES)}; all if none is given")
    parser.add_argument("--list", action="store_true", help="list the names and end")
    parser.add_argument("--brief", action="store_true", help="a few small cases only; writes no results")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    return arguments


def main() -> None:
    """Run what was asked for, one after the other: side by side they would measure each other."""
    arguments = parse_arguments()
    if arguments.list:
        for name, purpose in NAMES.items():
            print(f"{name:12s} {purpose}")
        return
    for name in arguments.names or NAMES:
        script = import_module(f".{name}", __package__)
        publish(script.run(brief=arguments.brief), brief=arguments.brief)


if __name__ == "__main__":
    main()
