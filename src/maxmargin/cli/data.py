"""Files of data as the commands want them: in memory, dense where that is quicker, or in blocks."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..contracts.blocks import Blocks
from ..contracts.estimators import Estimator
from ..contracts.files import DataRequest
from ..files.formats import DATA_FORMATS, detect_model_format, find_data_format, is_model_file, join_words
from .exit_codes import UsageError

# Sparse rows of which so many entries are not zero are quicker as dense ones: measured with SVC, 1.7 to 6 times on sets
# without zeros, no difference at 0.1.
DENSE_NONZERO_SHARE = 0.25
MEMORY_SHARE = 0.25  # of the memory of the machine: dense data may have so much, and larger files are read in blocks


def find_memory() -> int:
    """Bytes of memory of this machine; a guess of 8 GB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30


def read_zero_based(arguments: argparse.Namespace, model=None) -> bool | str:
    """ "auto", True or False: as the command line says, or as the text was on which the model was trained."""
    if arguments.zero_based == "auto" and model is not None and "first_index_" in vars(model):
        return model.first_index_ == 0
    return {"auto": "auto", "yes": True, "no": False}[arguments.zero_based]


def read(
    arguments: argparse.Namespace,
    *,
    model=None,
    precomputed: bool = False,
    trained: bool = False,
    keep_sparse: bool = False,
    n_features: int | None = None,
    features: list[str] | None = None,
):
    """The data of a command: `files.Data`, dense where few entries are zero.

    Parameters
    ----------
    arguments : Namespace
        With `data` and the options of `add_data_options`.
    model : fitted machine, optional
        Of LIBSVM text: a feature has the index that it had when the model was trained.
    precomputed : bool
        Whether rows are kernel values in svm-train's form, `label 0:number 1:k(x, x_1) 2:k(x, x_2) ...`.
    trained : bool
        Whether these are the rows of the training: then kernel values are in the order of the rows.
    keep_sparse : bool
        Sparse data stay sparse.
    n_features : int, optional
        If the command line does not say it.
    features : list of str, optional
        The columns of a table that are features, by name.
    """
    from ..files import read_data

    if arguments.data == "-":
        arguments.data = "/dev/stdin"
    if is_model_file(arguments.data):
        raise ValueError(f"{arguments.data} is a model file, but data are expected there.")
    options = {"weight": arguments.weight, "target": arguments.target, "features": features}
    header = {"auto": None, "yes": True, "no": False}[arguments.header]
    options |= {"delimiter": arguments.delimiter, "header": header}
    options = {key: value for key, value in options.items() if value is not None}
    zero_based = True if precomputed else read_zero_based(arguments, model)
    data = read_data(arguments.data, n_features=arguments.n_features or n_features, zero_based=zero_based, **options)
    if not data.X.shape[0]:
        raise ValueError(f"{arguments.data} has no rows.")
    if precomputed and sp.issparse(data.X) and trained and data.X.shape[1] == data.X.shape[0] + 1:
        check_row_numbers(data.X, arguments.data)
    if precomputed and sp.issparse(data.X):
        return data._replace(X=np.ascontiguousarray(data.X[:, 1:].toarray()))
    return data if keep_sparse else data._replace(X=choose_form(data.X))


def check_row_numbers(X: sp.csr_array, path: str) -> None:
    """0:number of kernel values counts the rows: rows in another order would have their values in wrong columns."""
    numbers = X[:, [0]].toarray().ravel()
    wrong = np.flatnonzero(numbers != np.arange(1, len(numbers) + 1))
    if len(wrong):
        row = wrong[0] + 1
        raise ValueError(f"{path}, row {row}: 0:{row} was expected, since kernel values come in the order of the rows.")


def choose_form(X):
    """Dense rows if that is quicker and there is room for them."""
    if not sp.issparse(X) or not X.shape[0] or not X.shape[1]:
        return X
    size = X.shape[0] * X.shape[1]
    return X.toarray() if X.nnz >= DENSE_NONZERO_SHARE * size and 8 * size <= MEMORY_SHARE * find_memory() else X


def reads_in_blocks(arguments: argparse.Namespace, estimator: type[Estimator], *, needs_all: bool = False) -> bool:
    """Whether the file is to be read block by block: if asked for, or if it is large and the machine takes blocks.

    `needs_all` says that the command needs all rows in memory.
    """
    if arguments.blocks:
        if not estimator.takes_blocks:
            from ..estimators.registry import ESTIMATORS

            takers = ", ".join(name for name, kind in ESTIMATORS.items() if kind.takes_blocks)
            raise UsageError(f"--blocks is for {takers}, and not for {estimator.__name__}.")
        return True
    if needs_all or not estimator.takes_blocks or arguments.weight is not None:
        return False
    path = Path(arguments.data)
    is_large = path.is_file() and path.stat().st_size > MEMORY_SHARE * find_memory()
    return is_large and find_data_format(path).can_stream


def open_in_blocks(arguments: argparse.Namespace, model=None) -> Blocks:
    """The file as `Blocks`, with the features of a model that was fitted before."""
    path = Path(arguments.data)
    kind = find_data_format(path)
    if not kind.can_stream:
        takes = join_words([kind.title for kind in DATA_FORMATS.values() if kind.can_read and kind.can_stream], "and")
        raise ValueError(f"--blocks takes {takes}, got {arguments.data!r}; convert it first.")
    if not path.exists():
        raise FileNotFoundError(f"{arguments.data} does not exist.")
    if not kind.is_table and arguments.weight is not None:
        raise ValueError("--blocks takes weights from a column of a Parquet file only, not from a file of their own.")
    features = pop_feature_names(model) if kind.is_table else None
    zero_based = read_zero_based(arguments, model)
    request = DataRequest(arguments.n_features, features, arguments.target, arguments.weight, zero_based=zero_based)
    return kind.stream(path, request)


def read_with_model(model, arguments: argparse.Namespace, *, trained: bool = False) -> tuple:
    """The data of a command and the model of its file, with the same number of features.

    `trained` says that the model was trained on these data.
    """
    from ..files import load

    precomputed, table = model.is_kernel_matrix, find_data_format(arguments.data).is_table
    features, d = pop_feature_names(model) if table else None, model.n_features_in_
    kind = detect_model_format(arguments.model)
    foreign = kind is not None and not kind.is_complete  # such a file knows the features of its vectors only
    expected_features = None if foreign or features or not table else d
    data = read(
        arguments,
        model=model,
        precomputed=precomputed,
        features=features,
        n_features=expected_features,
        trained=trained,
    )
    if foreign and table and data.X.shape[1] == d - 1 and arguments.target is None:
        data = read(arguments, precomputed=precomputed, n_features=d)  # no column is left for a target
    if not foreign and data.X.shape[1] > d:
        told = f"{arguments.model} was trained on {d}"
        raise ValueError(f"{arguments.data} has {data.X.shape[1]} features, and {told}.")
    if foreign and data.X.shape[1] > d:
        model = load(arguments.model, n_features=data.X.shape[1])
    return data._replace(X=pad_columns(data.X, model.n_features_in_)), model


def pop_feature_names(model) -> list[str] | None:
    """The names of the features of a model that was trained on a table; it forgets them, as rows will have none."""
    names = None if model is None else vars(model).pop("feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def pad_columns(X, d: int):
    """X with columns of zeros behind it, up to d."""
    missing = d - X.shape[1]
    if missing <= 0:
        return X
    if sp.issparse(X):
        return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))
    return np.hstack([X, np.zeros((X.shape[0], missing), X.dtype)])
