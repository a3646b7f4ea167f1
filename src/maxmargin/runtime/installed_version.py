"""The version of a package that is installed and not imported."""

from __future__ import annotations

import os
from importlib.machinery import PathFinder


def read_version(package: str, distribution: str) -> str:
    """The version of a distribution, by the name of the folder beside its package that describes it.

    `importlib.metadata` knows of distributions without such a folder as well, and takes longer to import than all of
    our own files that a fit needs of this folder.

    Parameters
    ----------
    package : str
        What is imported, for instance "sklearn".
    distribution : str
        What is installed, for instance "scikit-learn".
    """
    spec = PathFinder.find_spec(package)
    if spec is not None and spec.origin is not None:
        beginning, end = distribution.replace("-", "_") + "-", ".dist-info"
        beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
        found = [name for name in beside if name.startswith(beginning) and name.endswith(end)]
        if len(found) == 1:
            return found[0][len(beginning) : -len(end)]
    from importlib.metadata import version

    return version(distribution)
