"""scikit-learn's svm classes replaced by those of this library, in programs that are not to be edited."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from .runtime.import_listener import ImportListener, stop_listening

PATCHED_NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")


def patch_sklearn(names: Iterable[str] | None = None, *, verbose: bool = True) -> list[str]:
    """`from sklearn.svm import SVC` gives `maxmargin.SVC` from here on, and likewise for the other classes.

    Call it before a program imports names from `sklearn.svm`: names imported earlier stay scikit-learn's, and the
    message lists them. Models and pickles of scikit-learn's classes are left as they are, and can still be loaded.
    Subclasses that a program or a library derives from now on are derived from our classes. If the program uses
    skl2onnx, before or later, our converters are registered there (`register_onnx_converters`).

    Parameters
    ----------
    names : iterable of str, optional
        Which of SVC, NuSVC, SVR, NuSVR, OneClassSVM, LinearSVC and LinearSVR; all of them by default.
    verbose : bool, default=True
        Say in one line on stderr what was replaced.

    Returns
    -------
    list of str
        The names in `sklearn.svm` that are now our classes.

    See Also
    --------
    unpatch_sklearn : Restores scikit-learn's classes.

    Examples
    --------
    >>> from maxmargin import patch_sklearn, unpatch_sklearn
    >>> patch_sklearn(["SVC"], verbose=False)
    ['SVC']
    >>> from sklearn.svm import SVC
    >>> SVC.__module__
    'maxmargin.estimators.classification'
    >>> unpatch_sklearn(verbose=False)
    ['SVC']
    """
    chosen = check_names(names)
    svm, ours = import_module("sklearn.svm"), import_module("maxmargin")
    for name in chosen:
        setattr(svm, name, getattr(ours, name))
    ImportListener("skl2onnx", convert_both_kinds).start()
    if verbose:
        tell(f"sklearn.svm has {join(chosen)} of maxmargin {ours.__version__} now{list_left(chosen)}.")
    return chosen


def unpatch_sklearn(*, verbose: bool = True) -> list[str]:
    """`sklearn.svm` as it was before `patch_sklearn`; what was imported or made meanwhile stays ours.

    Parameters
    ----------
    verbose : bool, default=True
        Say in one line on stderr what was brought back.

    Returns
    -------
    list of str
        The names that stand for scikit-learn's classes again.

    See Also
    --------
    patch_sklearn : Puts our classes there.

    Examples
    --------
    >>> from maxmargin import patch_sklearn, unpatch_sklearn
    >>> names = patch_sklearn(["SVC", "SVR"], verbose=False)
    >>> sorted(unpatch_sklearn(verbose=False))
    ['SVC', 'SVR']
    """
    svm = import_module("sklearn.svm")
    originals = {name: find_original(name) for name in PATCHED_NAMES}
    restored = [name for name in PATCHED_NAMES if getattr(svm, name) is not originals[name]]
    for name in restored:
        setattr(svm, name, originals[name])
    stop_listening("skl2onnx")
    if verbose:
        tell(f"sklearn.svm has scikit-learn's {join(restored)} again." if restored else "sklearn.svm was not patched.")
    return restored


def check_names(names: Iterable[str] | None) -> list[str]:
    """The names that were asked for, each once; a single text is none of them."""
    if names is None:
        return list(PATCHED_NAMES)
    chosen = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    for name in chosen:
        if isinstance(names, str) or name not in PATCHED_NAMES:
            raise ValueError(f"names must be a list of some of {', '.join(PATCHED_NAMES)}, got {name!r}.")
    return chosen


def find_original(name: str) -> Any:
    """scikit-learn's own class, also while ours stands in its place."""
    from .runtime.scikit_learn import find_svm_class

    return find_svm_class(name)


def convert_both_kinds() -> None:
    """skl2onnx converts scikit-learn's classes as ever, and ours by our converters, whichever it has found."""
    from .files.onnx_converters import register_onnx_converters, restore_converters

    ours = import_module("maxmargin")
    restore_converters({getattr(ours, name): find_original(name) for name in PATCHED_NAMES})
    register_onnx_converters()


def list_left(names: list[str]) -> str:
    """Where scikit-learn's classes were imported before, outside of scikit-learn; nothing where they were not."""
    originals = {id(find_original(name)) for name in names}
    places = {id(module): (place, module) for place, module in reversed(list(sys.modules.items()))}
    left = [
        f"{place}.{name}"
        for place, module in reversed(list(places.values()))  # a module with two names, such as __main__, by its first
        if isinstance(module, ModuleType) and place.partition(".")[0] not in ("sklearn", "maxmargin")
        for name, value in list(object.__getattribute__(module, "__dict__").items())  # a lazy module stays unloaded
        if id(value) in originals
    ]
    return f", but not {', '.join(left)}, imported before" if left else ""


def join(names: list[str]) -> str:
    """SVC, NuSVC and SVR."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def tell(sentence: str) -> None:
    """One line on stderr: stdout belongs to the program."""
    print(f"maxmargin: {sentence}", file=sys.stderr)
