"""A process that does without scikit-learn: a command that needs no more of it than what an estimator is.

scikit-learn takes two seconds to import, with pandas and scipy.stats; `maxmargin train` on a small file needs a tenth
of that. A command that owns its process says so before any estimator is imported, and estimators then stand on
`stand_ins.py`. In every other process they stand on scikit-learn's own classes.
"""

from __future__ import annotations

import gc
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader

# Modules that SciPy and Numba import at their start and that no command uses: they are executed when first used. None
# of them may be one that threads use, which can meet in a module that is half there.
SELDOM_USED = frozenset(
    {"importlib.metadata", "numba.experimental", "numpy.ctypeslib", "numpy.f2py", "numpy.testing", "yaml"}
)
OBJECTS_BETWEEN_COLLECTIONS = 200_000  # by default 700; all imports of a command make half as many


class LightStart:
    """What was said of this process."""

    owned = False  # by a command of ours, from its start to its end
    chosen = False


class SeldomUsedModules:
    """Finds modules that are executed when the first of their names is asked for."""

    @staticmethod
    def find_spec(name: str, path=None, target=None) -> ModuleSpec | None:
        """The module as any other, with a loader that waits."""
        spec = PathFinder.find_spec(name, path, target) if name in SELDOM_USED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def own_process() -> None:
    """Say that this process is a command of ours, so that no other program imports anything in it."""
    if not LightStart.owned and "numpy" not in sys.modules:
        LightStart.owned = True
        gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)  # imports make objects that stay
        sys.meta_path.insert(0, SeldomUsedModules)


def load_seldom_used() -> None:
    """Say that threads will import what they need: modules that wait are executed now, and none waits from here on."""
    if SeldomUsedModules in sys.meta_path:
        sys.meta_path.remove(SeldomUsedModules)
        for name in SELDOM_USED & set(sys.modules):
            vars(sys.modules[name])


def end_process() -> None:
    """Say that a process of our own has nothing left to do: its end need not look for garbage among all modules."""
    if LightStart.owned:
        gc.freeze()


def leave_out_scikit_learn() -> None:
    """Do without scikit-learn in a process of our own, unless it is there; to be said before estimators are imported.

    What the command turns out to need all the same (a message about wrong data, say) is imported when it does.
    """
    loaded = {"sklearn", "maxmargin.runtime.scikit_learn"} & set(sys.modules)
    LightStart.chosen = LightStart.owned and not loaded


def is_light() -> bool:
    """Whether estimators of this process stand on stand-ins."""
    return LightStart.chosen
