"""The house: imports point from higher layers to lower ones only, and heavy guests stay in their rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import maxmargin

ROOT = Path(maxmargin.__file__).parent
LAYERS = (
    ("runtime",),
    ("compiled",),
    ("contracts",),
    ("model",),
    ("blocks", "structures"),
    ("certificates",),
    ("solvers",),
    ("plots",),
    ("insight",),
    ("estimators",),
    ("tuning",),
    ("guarantees",),
    ("files",),
    ("play",),
    ("model_selection",),
    ("patching",),
    ("public",),
    ("cli",),
    ("__main__",),
)
SOLVER_LAYERS = (  # within solvers/; None stands for the families, which do not know one another
    ("names", "result", "stalling", "trajectory"), ("advancing", "run_copies"), ("quadratic_program",), (None,),
    ("automatic", "registry"), ("choice", "neighbours"), ("best_certified",), ("sequence",),
    ("loop", "minimisation_arguments"), ("minimisation", "paths"),
)  # fmt: skip
RANK = {room: rank for rank, rooms in enumerate(LAYERS) for room in rooms}
COMPILED_GUESTS = ("model", "structures", "blocks", "certificates", "solvers", "tuning", "files")
ROOMS = {
    "matplotlib": ("plots",), "numba": ("compiled",), "dask": ("blocks.dask",), "distributed": ("blocks.dask",),
    "pyarrow": ("blocks", "files"), "cvxopt": ("solvers",), "qpsolvers": ("solvers",),
    "onnx": ("files",), "onnxruntime": ("files",), "skl2onnx": ("files",), "IPython": ("insight",),
    "tornado": ("play",),
}  # fmt: skip


class Import(NamedTuple):
    """One imported module, as an absolute name, and whether it is imported when the file is."""

    name: str
    at_once: bool


def module_name(path: Path) -> str:
    """solvers/smo.py -> maxmargin.solvers.smo."""
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(ROOT.rglob("*.py"))}


def room_of(module: str) -> str:
    """The first part of a name below the package: maxmargin.solvers.smo -> solvers."""
    return [*module.split("."), ""][1]


def rank_of(module: str) -> int:
    """The layer of a module; the package itself, whose names are those of `public`, is above all of them."""
    return RANK.get(room_of(module), len(LAYERS))


def resolve(module: str, node: ast.ImportFrom) -> str:
    """The absolute name of what an import statement names."""
    if node.level == 0:
        return node.module
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    for _ in range(node.level - 1):
        package = package.rpartition(".")[0]
    return f"{package}.{node.module}" if node.module else package


def names_of(module: str, node: ast.AST) -> Iterator[str]:
    """The modules an import statement reaches: `from . import x` reaches x if x is a module."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        base = resolve(module, node)
        below = [f"{base}.{alias.name}" for alias in node.names]
        submodules = [name for name in below if name in MODULES]
        yield from submodules
        if len(submodules) < len(below):
            yield base


def is_typing_only(node: ast.AST) -> bool:
    """if TYPE_CHECKING: imports for the reader, never executed."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def walk(module: str, node: ast.AST, at_once: bool) -> Iterator[Import]:
    """All imports below a node of the syntax tree."""
    for child in ast.iter_child_nodes(node):
        if is_typing_only(child):
            continue
        yield from (Import(name, at_once) for name in names_of(module, child))
        lazy = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from walk(module, child, at_once and not lazy)


@cache
def imports_of(module: str) -> tuple[Import, ...]:
    """Everything a module imports, at once or inside its functions."""
    return tuple(walk(module, ast.parse(MODULES[module].read_text()), True))


def own_imports(module: str) -> list[Import]:
    """What a module imports from this package."""
    return [found for found in imports_of(module) if found.name.split(".")[0] == "maxmargin"]


def test_every_layer_is_there():
    """The rooms named here are all there are: no rule holds for want of a subject, and no room is without a rank."""
    assert set(RANK) == {room_of(module) for module in MODULES} - {""}
    assert any(own_imports(module) for module in MODULES)


def test_imports_point_downward():
    """No module imports one of a higher layer, not even inside a function."""
    upward = [
        (module, found.name)
        for module in MODULES
        for found in own_imports(module)
        if rank_of(found.name) > rank_of(module) and module != "maxmargin"
    ]
    assert upward == []


def test_below_the_top_no_module_imports_the_package_itself():
    """`import maxmargin` from within would be an import of everything."""
    below = [module for module in MODULES if rank_of(module) < len(LAYERS)]
    assert [module for module in below for found in own_imports(module) if found.name == "maxmargin"] == []


def test_compiled_code_is_imported_lazily():
    """Only samples, kernels, judge and solvers call compiled functions, imported when they are first needed."""
    found = [
        (module, found)
        for module in MODULES
        for found in own_imports(module)
        if room_of(found.name) == "compiled" != room_of(module)
    ]
    assert [module for module, _ in found if room_of(module) not in COMPILED_GUESTS] == []
    assert [module for module, each in found if each.at_once] == []


def test_guests_stay_in_their_rooms():
    """matplotlib is imported by plots alone, Numba within compiled alone, Dask within blocks.dask alone."""
    guests = {(module, found.name.split(".")[0]) for module in MODULES for found in imports_of(module)}
    assert [(module, guest) for module, guest in guests if guest in ROOMS and not is_within(module, ROOMS[guest])] == []


def is_within(module: str, rooms: tuple[str, ...]) -> bool:
    """Whether a module is one of some rooms, or in one of them: maxmargin.blocks.dask.graphs is in blocks.dask."""
    return any(f"{module}.".startswith(f"maxmargin.{room}.") for room in rooms)


def imported_names(module: str) -> Iterator[str]:
    """Everything a module imports, with the names it takes: from a.b import c -> a.b.c."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield from (f"{resolve(module, node)}.{alias.name}" for alias in node.names)


def is_version_bound(name: str) -> bool:
    """Whether a name of scikit-learn is private, came with some version, or tells the version."""
    parts = name.split(".")
    return parts[0] == "sklearn" and (parts == ["sklearn"] or "callback" in parts or any(p[0] == "_" for p in parts))


def test_two_files_know_versions_of_scikit_learn():
    """What is private in scikit-learn, or differs between its versions: for estimators, and for searches."""
    others = [module for module in MODULES if not module.startswith("maxmargin.runtime.scikit_learn")]
    assert [(each, name) for each in others for name in imported_names(each) if is_version_bound(name)] == []
    words = ("_skl_callbacks", "_callback_ctx", "_callback_context")
    assert [(each, word) for each in others for word in words if word in MODULES[each].read_text()] == []


def test_private_names_are_found():
    """The rule has a subject, and sees through every form of import."""
    assert sum(map(is_version_bound, imported_names("maxmargin.runtime.scikit_learn"))) >= 8
    for name in ("sklearn", "sklearn.base._fit_context", "sklearn.svm._base.BaseSVC", "sklearn.callback.ProgressBar"):
        assert is_version_bound(name)
    assert not is_version_bound("sklearn.utils.validation.check_is_fitted")


def test_solvers_do_not_import_each_other():
    """Each family of solvers is a file or a folder that knows no other; all else has a rank."""
    ranks = {name: rank for rank, names in enumerate(SOLVER_LAYERS) for name in names}
    families = ranks[None]
    for module in MODULES:
        if room_of(module) == "solvers" and module != "maxmargin.solvers":
            own = module.split(".")[2]
            for found in own_imports(module):
                if room_of(found.name) == "solvers":
                    other = [*found.name.split("."), ""][2]
                    lower = ranks.get(other, families) < ranks.get(own, families)
                    assert lower or other == own, (module, found.name)


def test_no_circles():
    """No module reaches itself through what it imports at once."""
    open_modules: set[str] = set()
    closed: set[str] = set()

    def visit(module: str) -> None:
        assert module not in open_modules, f"{module} imports itself by way of {sorted(open_modules)}"
        if module in closed:
            return
        open_modules.add(module)
        for found in own_imports(module):
            if found.at_once and found.name in MODULES and found.name != "maxmargin":
                visit(found.name)
        open_modules.remove(module)
        closed.add(module)

    for module in MODULES:
        visit(module)


def test_import_is_light():
    """All public names together load neither the plotting library nor any other guest."""
    command = "import sys; from maxmargin import *; assert SVC; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", command], check=True, timeout=60, capture_output=True, text=True)
    assert not {"matplotlib", "cvxopt", "qpsolvers", "dask", "distributed", "onnx"} & set(found.stdout.split())


def test_names_are_loaded_one_by_one():
    """One kernel machine brings neither linear models nor files, and no compiler before its first fit."""
    command = "import sys; from maxmargin import {}; print(*sys.modules)"

    def list_modules(name: str) -> set[str]:
        run = [sys.executable, "-c", command.format(name)]
        return set(subprocess.run(run, check=True, timeout=60, capture_output=True, text=True).stdout.split())

    assert not {"sklearn.linear_model", "sklearn.svm", "maxmargin.files.models", "numba"} & list_modules("SVC")
    assert not {"sklearn", "numba"} & list_modules("Status")


def test_the_package_alone_loads_nothing():
    """`import maxmargin` waits with everything until a name is asked for."""
    command = "import sys, maxmargin; sys.exit('sklearn' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False, timeout=60).returncode == 0


@pytest.mark.slow
def test_data_files_need_no_estimators():
    """`maxmargin scale` does not wait for scikit-learn."""
    command = "import sys; from maxmargin.files import *; sys.exit('sklearn' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False, timeout=60).returncode == 0
    command = "import sys; from maxmargin.files import read_data, find_ranges; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False, timeout=60).returncode == 0


def test_names_are_found_when_asked_for():
    """Public names, modules, and the list of both; none of them is two things."""
    command = (
        "import maxmargin; assert {'SVC', 'solve', 'estimators', *maxmargin.__all__} <= set(dir(maxmargin)); "
        "assert maxmargin.estimators.SVC is maxmargin.SVC and not hasattr(maxmargin, 'nothing')"
    )
    subprocess.run([sys.executable, "-c", command], check=True, timeout=60)
    assert not set(maxmargin.__all__) & {room_of(module) for module in MODULES}


def test_the_command_line_is_the_top():
    """Only the program itself imports it."""
    users = {module for module in MODULES for found in own_imports(module) if room_of(found.name) == "cli"}
    assert {room_of(module) for module in users} <= {"cli", "__main__"}


def test_no_rooms_without_a_name():
    """No utils, helpers, common or misc."""
    nameless = {"utils", "helpers", "common", "misc"}
    assert not nameless & {part for module in MODULES for part in module.split(".")}
