"""Models as files: `save` and `load`, which takes the files of LIBSVM and LIBLINEAR too."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..certificates.data_hash import hash_data
from ..estimators.registry import ESTIMATORS
from ..runtime.scikit_learn import check_is_fitted
from ..runtime.streams import find_file
from .archive import Archive, DamagedFileError, write_archive
from .fitted_state import DERIVED_ATTRIBUTES, extract_state, list_state_names, restore_state
from .formats import MODEL_FORMATS, detect_model_format, join_words
from .values import Packer, Unpacker, UnsupportedValueError

if TYPE_CHECKING:
    from ..contracts.estimators import Estimator
    from ..contracts.inputs import VectorLike
FORMAT, VERSION = "maxmargin model", 1


def save(
    model: Estimator,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: VectorLike | None = None,
    compact: bool = False,
) -> None:
    """A fitted model as one file: a zip archive of arrays and JSON, without pickles, that ends in a digest.

    The file holds the class, the parameters, all that prediction, `certify` and a warm start need, the certificates,
    and the version of the library. It is written whole or not at all. The parameter `checkpoint`, callbacks and
    metadata requests are not kept.

    Parameters
    ----------
    model : fitted estimator of this library
    path : path
    X, y, sample_weight : the data of the fit, optional
        Their hash is kept, and `certify` warns if it is called with others. It is not computed at fit, where it could
        cost as much as a pass over the data.
    compact : bool, default=False
        Leave out duals, scores and histories, which have the size of the training data: prediction and `certify` work
        as before, but a warm start then begins from zero.

    See Also
    --------
    load : Reads the file.
    export_onnx : For other runtimes.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC, load, save
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.maxmargin"))
    ...     again = load(os.path.join(folder, "model.maxmargin"))
    >>> again.certificate_ == model.certificate_
    True
    """
    kind = type(model).__name__
    if ESTIMATORS.get(kind) is not type(model):
        raise TypeError(f"model must be a fitted estimator of maxmargin ({', '.join(ESTIMATORS)}), got {kind}.")
    check_is_fitted(model)
    refuse_unknown_attributes(model)
    packer = Packer()
    parameters = {
        name: pack_named(packer, value, name, kind)
        for name, value in model.get_params(deep=False).items()
        if name not in model.local_parameters
    }
    state = {name: pack_named(packer, value, name, kind) for name, value in extract_state(model, compact).items()}
    if X is not None:
        state["data_hash_"] = hash_data(X, y if model.takes_targets else None, sample_weight)
    write_archive(path, {**describe_format(kind), "parameters": parameters, "fitted": state}, packer.arrays)


def describe_format(kind: str) -> dict[str, Any]:
    """What a file says of itself."""
    from ..runtime.version import __version__

    return {"format": FORMAT, "version": VERSION, "library": __version__, "class": kind}


def refuse_unknown_attributes(model: Any) -> None:
    """An attribute that is not part of the estimator would be lost."""
    known = {*model.get_params(deep=False), *list_state_names(model), *DERIVED_ATTRIBUTES}
    for name in vars(model):
        if name not in known and not name.startswith("_"):
            raise ValueError(f"{type(model).__name__} has the attribute {name!r}, which a model file cannot hold.")


def pack_named(packer: Packer, value: Any, name: str, kind: str) -> Any:
    """A parameter or an attribute as JSON."""
    try:
        return packer.pack(value, name)
    except UnsupportedValueError as error:
        raise ValueError(f"{name} of this {kind} cannot be kept in a model file: it is {error}.") from None


def load(path: str | os.PathLike[str], *, n_features: int | None = None) -> Any:
    """The fitted model of a file: one that `save` wrote, or a model file of LIBSVM or LIBLINEAR.

    The first bytes say which. No code in the file is run, wherever it comes from, and a truncated or damaged file
    raises an error.

    Parameters
    ----------
    path : path
    n_features : int, optional
        For LIBSVM's and LIBLINEAR's files; see `read_libsvm_model` and `read_liblinear_model`.

    Returns
    -------
    fitted estimator
        A model from `save` predicts what it predicted before, to the last bit.

    See Also
    --------
    save : Writes the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from maxmargin import SVC, load, save
    >>> model = SVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "model.maxmargin"))
    ...     again = load(os.path.join(folder, "model.maxmargin"))
    >>> again.predict([[0.4], [2.6]]).tolist()
    [0, 1]
    """
    found = detect_model_format(find_file(path))
    if found is None:
        known = join_words([kind.title for kind in MODEL_FORMATS.values() if kind.first_bytes])
        raise ValueError(f"path={str(path)!r} is not a model file: it does not start like those of {known}.")
    return found.read(path, n_features)


def read_saved(path: str | os.PathLike[str], n_features: int | None) -> Any:
    """The fitted estimator of a file of `save`."""
    try:
        with open(path, "rb") as file:
            model = read_model(Archive(file))
    except MemoryError:
        raise
    except Exception as error:  # whatever a file holds, it ends in one sentence
        reason = str(error) if isinstance(error, DamagedFileError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"path={str(path)!r} is not a model file that can be read: {reason}.") from error
    if n_features is not None and n_features != vars(model).get("n_features_in_", n_features):
        raise ValueError(f"n_features must be {model.n_features_in_}, that of the model file, got {n_features!r}.")
    return model


def read_model(archive: Archive) -> Any:
    """The estimator of an archive, every name in it a known one."""
    document = archive.read_document()
    if document.get("format") != FORMAT:
        raise DamagedFileError("it is an archive of something else")
    version, kind = document.get("version"), document.get("class")
    if version != VERSION:
        written = f"maxmargin {str(document.get('library'))[:20]}"
        raise DamagedFileError(
            f"it has version {version!r} of the format, written by {written}, and {VERSION} can be read here"
        )
    if kind not in ESTIMATORS:
        raise DamagedFileError(f"it names the unknown class {str(kind)[:60]!r}")
    make: Any = ESTIMATORS[kind]
    known = set(make._get_param_names()) - set(make.local_parameters)
    unpacker = Unpacker(archive.read_array)
    strange = sorted(set(document["parameters"]) - known)
    if strange:
        raise DamagedFileError(f"{kind} has no parameter {strange[0][:60]!r}")
    model = make(**{name: unpacker.unpack(value) for name, value in document["parameters"].items()})
    restore_state(model, {name: unpacker.unpack(value) for name, value in document["fitted"].items()})
    return model
