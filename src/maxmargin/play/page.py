"""The page as one file: style, script and what it starts with stand in it, and it asks for nothing from elsewhere."""

from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..estimators.certified import CertifiedMachine
from ..runtime.atomic_file import write_atomically
from .choices import describe_choices
from .fits import list_messages
from .requests import DEFAULT_SECONDS, MAX_POINTS, MAX_SECONDS, FitRequest, read_solvers

ASSETS = Path(__file__).parent / "assets"
ENTRY = "main.js"
IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w.]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export ", re.MULTILINE)


def order_modules(name: str, done: list[str] | None = None) -> list[str]:
    """The modules that a module imports, and it last, each once."""
    done = [] if done is None else done
    if name not in done:
        for needed in IMPORT.findall((ASSETS / name).read_text(encoding="utf-8")):
            order_modules(needed, done)
        done.append(name)
    return done


def join_modules() -> str:
    """All modules as one script: without imports and exports, since they see each other's names."""
    texts = [(ASSETS / name).read_text(encoding="utf-8") for name in order_modules(ENTRY)]
    return "\n".join(EXPORT.sub("", IMPORT.sub("", text)) for text in texts)


def make_page(content: dict[str, Any], nonce: str = "") -> str:
    """The page that starts with `content`: {"live": choices} before a server, {"recording": messages} without one.

    Parameters
    ----------
    content : dict
        What JSON can hold.
    nonce : str
        The word by which a server allows the script and the style of the page, and no others.
    """
    embedded = json.dumps(content, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    parts = {
        "style": (ASSETS / "style.css").read_text(encoding="utf-8"),
        "script": join_modules(),
        "content": embedded,
        "nonce": nonce,
    }
    page = (ASSETS / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page)


def make_live_page(nonce: str) -> str:
    """The page of a server."""
    limits = {"points": MAX_POINTS, "seconds": MAX_SECONDS, "default_seconds": DEFAULT_SECONDS}
    return make_page({"live": {**describe_choices(), "limits": limits}}, nonce)


def write_player(
    path: str | PathLike[str],
    estimator: CertifiedMachine,
    X: Any,
    y: Any = None,
    *,
    solvers: tuple[str, ...] = ("auto",),
    max_seconds: float = DEFAULT_SECONDS,
) -> None:
    """Write a page that plays P(w_k, b_k) and D(a_k), k = 0, 1, ..., of a fit: boundary, margin, duals, gap and cuts.

    The file holds all that it shows, and any browser opens it, without a server.

    Parameters
    ----------
    path : path-like
        Of the HTML file.
    estimator : estimator
        A kernel machine or a linear machine with its parameters; it is not fitted.
    X : array-like of shape (n_samples, 2), or (n_samples, 1) for regression
        At most 2,000 rows.
    y : array-like of shape (n_samples,)
        Two or three classes, or numbers; none for one class.
    solvers : tuple of one or two str
        By name, side by side: those of the registry, or a variant of the page, such as "smo, maximal violating pair".
    max_seconds : float, default=10
        Of each solver.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import make_moons
    >>> from maxmargin import SVC
    >>> from maxmargin.play import write_player
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_player(Path(folder) / "moons.html", SVC(C=10.0), X, y, solvers=("smo",))
    ...     "recording" in (Path(folder) / "moons.html").read_text(encoding="utf-8")
    True
    """
    request = make_request(estimator, X, y, solvers, max_seconds)
    messages = list(list_messages(request))
    refused = [message["sentence"] for message in messages if message["kind"] == "refused"]
    if refused:
        raise ValueError(refused[0])
    columns = [request.X[:, :1], request.y] if estimator.task == "regression" else [request.X, request.y]
    points = np.column_stack(columns).tolist()
    page = make_page({"recording": {"points": points, "task": estimator.task, "messages": messages}})
    with write_atomically(path) as file:
        file.write(page.encode())


def make_request(
    estimator: CertifiedMachine, X: Any, y: Any, solvers: tuple[str, ...], max_seconds: float
) -> FitRequest:
    """The request of data given as arrays; classes become 0, 1 and 2 in their order."""
    X = np.array(X, float)
    features = 1 if estimator.task == "regression" else 2
    if X.ndim != 2 or X.shape[1] != features or not 1 <= len(X) <= MAX_POINTS:
        raise ValueError(
            f"X must have {features} column{'s' if features > 1 else ''} and at most {MAX_POINTS} rows to be drawn, "
            f"got the shape {X.shape}."
        )
    if estimator.task == "classification":
        y = np.unique(np.asarray(y), return_inverse=True)[1]
    y = np.zeros(len(X), int) if y is None else np.asarray(y)
    return FitRequest(X, y, estimator, read_solvers(list(solvers)), float(max_seconds))
