"""maxmargin SCRIPT.py [arguments]: a Python program, with our classes in place of scikit-learn's svm classes."""

from __future__ import annotations

import os
import sys

from .exit_codes import Exit


def is_program(argv: list[str]) -> bool:
    """Whether the arguments name a Python program: a file that ends in .py, or a module after -m."""
    return bool(argv) and (argv[0].endswith(".py") or (argv[0] == "-m" and len(argv) > 1))


def run_program(argv: list[str]) -> int:
    """Run a program as Python would, after `patch_sklearn`; its errors and exit codes are its own."""
    import runpy

    from ..patching import patch_sklearn

    module = argv[1] if argv[0] == "-m" else None
    if module is None and not os.path.isfile(argv[0]):
        print(f"maxmargin: {argv[0]}: there is no such file.", file=sys.stderr)
        return Exit.USAGE
    if module is not None:
        sys.path[0] = os.getcwd()
        if not is_there(module):
            print(f"maxmargin: there is no module {module}.", file=sys.stderr)
            return Exit.USAGE
    patch_sklearn()
    if module is not None:
        sys.argv = argv[1:]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = argv, os.path.dirname(os.path.abspath(argv[0]))
        runpy.run_path(argv[0], run_name="__main__")
    return Exit.SUCCESS


def is_there(module: str) -> bool:
    """Whether Python finds a module of that name."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):  # of a package that is not there, or a name such as "..a"
        return False
