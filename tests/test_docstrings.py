"""Every public name has a docstring of one form: formula, parameters, attributes, see also, references, example."""

from __future__ import annotations

import inspect
import re

import pytest

from maxmargin.contracts import Estimator
from website.public_names import list_names
from website.reference_pages import list_members

NAMES = {each.full: each for each in list_names()}
# Contracts, pictures and formats of files have sentences and parameters, and their examples in docs.
FULL_MODULES = {
    "maxmargin", "maxmargin.model.kernels", "maxmargin.model.losses", "maxmargin.model_selection", "maxmargin.solvers",
    "maxmargin.structures",
}  # fmt: skip
FULL = {name: each for name, each in NAMES.items() if each.module in FULL_MODULES}
# What these do is no method of a paper.
WITHOUT_REFERENCES = {
    "Diagnosis", "Minimum", "Result", "Status", "diagnose", "explain", "export_onnx", "load", "open_blocks",
    "patch_sklearn", "register_onnx_converters", "save", "unpatch_sklearn",
}  # fmt: skip
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)


def split_sections(thing: object) -> dict[str, str]:
    """The text of a docstring before its first section, as "", and that of each section."""
    first, *rest = SECTION.split(inspect.getdoc(thing) or "")
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}


def list_parameters(thing: object) -> set[str]:
    """The names of the parameters that a caller gives."""
    try:
        return set(inspect.signature(thing).parameters)
    except ValueError:
        return set()


def list_described(section: str) -> set[str]:
    """The names before the colons of a section, as `a, b : float`, and on lines of their own, as `a, b`."""
    entries = re.findall(r"^((?:\*{0,2}\w+,\s*)*\*{0,2}\w+)(?: : .*)?$", section, re.M)
    return {name.strip("* ") for entry in entries for name in entry.split(",")}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_and_member_is_documented(name):
    """One sentence at least, which ends as one, for it, its methods and its properties."""
    thing = NAMES[name].thing
    assert split_sections(thing)[""].strip().endswith((".", ":")), name
    if isinstance(thing, type):
        own = [member for member, _ in list_members(thing)]
        public = [
            member
            for base in thing.__mro__
            if base.__module__.startswith("maxmargin")
            for member, value in vars(base).items()
            if not member.startswith("_") and inspect.isfunction(inspect.unwrap(value))
        ]
        undocumented = [each for each in public if not inspect.getdoc(getattr(thing, each))]
        assert undocumented == []
        assert all(inspect.getdoc(inspect.getattr_static(thing, each)) for each in own)


@pytest.mark.parametrize("name", FULL)
def test_every_parameter_is_described(name):
    """Each of the signature, and none that is not there; results, which the library makes, list attributes instead."""
    thing = FULL[name].thing
    sections = split_sections(thing)
    described = list_described(sections.get("Parameters", ""))
    parameters = list_parameters(thing)
    if "Parameters" not in sections and isinstance(thing, type):
        assert "Attributes" in sections or not parameters
    else:
        assert described == parameters


@pytest.mark.parametrize("name", FULL)
def test_every_name_has_its_sections(name):
    """An example, its neighbours, its papers; fitted attributes of a class, and what a function returns."""
    thing, sections = FULL[name].thing, split_sections(FULL[name].thing)
    wanted = {"Examples", "See Also"} | ({"References"} if FULL[name].name not in WITHOUT_REFERENCES else set())
    if isinstance(thing, type) and issubclass(thing, Estimator):
        wanted |= {"Parameters", "Attributes"}
    elif not isinstance(thing, type) and inspect.signature(thing).return_annotation not in ("None", None):
        wanted |= {"Returns"}
    assert wanted <= set(sections)
    assert ">>> " in sections["Examples"]


@pytest.mark.parametrize("name", FULL)
def test_neighbours_are_there(name):
    """What See Also names is public; the site finds a name without its module only in the module of the docstring."""
    known = {each.full for each in list_names()}
    neighbours = re.findall(r"^([\w.]+) :", split_sections(FULL[name].thing)["See Also"], re.M)
    assert neighbours
    full = {each if "." in each else f"{FULL[name].module}.{each}" for each in neighbours}
    assert full <= known - {name}
