"""Files of data as the commands want them: in memory, dense where that is quicker, or in blocks."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..runtime.streams import find_suffix
from .exit_codes import UsageError
from .formats import LIBLINEAR, LIBSVM, detect_model_format
from .options import LINEAR_ESTIMATORS

# Sparse rows of which so many entries are not zero are quicker as dense ones: measured with SVC, 1.7 to 6 times on sets
# without zeros, no difference at 0.1.
DENSE_NONZERO_SHARE = 0.25
MEMORY_SHARE = 0.25  # of the memory of the machine: dense data may have so much, and larger files are read in blocks


def find_memory() -> int:
    """Bytes of memory of this machine; a guess of 8 GB where nobody knows."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return 8 << 30


def read_zero_based(arguments: argparse.Namespace, model=None) -> bool | str:
    """ "auto", True or False: as the command line says, or as the text was on which the model was trained."""
    if arguments.zero_based == "auto" and hasattr(model, "first_index_"):
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
    as_it_is : bool
        Sparse data stay sparse.
    n_features : int, optional
        If the command line does not say it.
    features : list of str, optional
        The columns of a table that are features, by name.
    """
    from ..files import read_data

    if arguments.data == "-":
        arguments.data = "/dev/stdin"
    if Path(arguments.data).is_file() and detect_model_format(arguments.data) is not None:
        raise ValueError(f"{arguments.data} is a model file, and data are expected there.")
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


def reads_in_blocks(arguments: argparse.Namespace, estimator: str) -> bool:
    """Whether the file is to be read block by block: if asked for, or if it is large and the machine is linear."""
    if getattr(arguments, "blocks", False):
        if estimator not in LINEAR_ESTIMATORS:
            raise UsageError(f"--blocks is for {', '.join(LINEAR_ESTIMATORS)}, and not for {estimator}.")
        return True
    can_stream = (
        estimator in LINEAR_ESTIMATORS and detect_data_format(arguments.data) != "csv" and arguments.weight is None
    )
    can_stream = can_stream and not getattr(arguments, "folds", None) and not getattr(arguments, "find_C", False)
    path = Path(arguments.data)
    return can_stream and path.is_file() and path.stat().st_size > MEMORY_SHARE * find_memory()


def detect_data_format(path: str) -> str:
    """csv, parquet or libsvm, by the suffix beneath that of a compression."""
    kinds = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet", "folder": "parquet"}
    return kinds.get(find_suffix(Path(path)), "libsvm")


def open_in_blocks(arguments: argparse.Namespace, model=None):
    """The file as `Blocks`, with the features of a model that was fitted before."""
    from ..blocks import LibsvmBlocks

    kind = detect_data_format(arguments.data)
    if kind == "csv":
        raise ValueError(f"--blocks takes LIBSVM text and Parquet, got {arguments.data!r}; convert it first.")
    if not Path(arguments.data).exists():
        raise FileNotFoundError(f"{arguments.data} does not exist.")
    if kind == "parquet":
        return open_table(arguments, pop_feature_names(model))
    if arguments.weight is not None:
        raise ValueError("--blocks takes weights from a column of a Parquet file only, not from a file of their own.")
    return LibsvmBlocks(arguments.data, arguments.n_features, read_zero_based(arguments, model))


def open_table(arguments: argparse.Namespace, features: list[str] | None):
    """The blocks of a Parquet file, with the columns that `read` would choose."""
    from ..blocks import ParquetBlocks
    from ..blocks.files import list_feature_columns, list_parquet, read_footer
    from ..files.columns import ColumnRequest, choose_columns

    path = Path(arguments.data)
    names = list_feature_columns(read_footer(list_parquet(path)[0]).schema_arrow)
    columns = choose_columns(
        path, names, ColumnRequest(arguments.n_features, features, arguments.target, arguments.weight)
    )
    target, weight = (None if place is None else names[place] for place in (columns.target, columns.weight))
    return ParquetBlocks(path, target, weight, [names[place] for place in columns.features])


def read_with_model(model, arguments: argparse.Namespace, *, trained: bool = False) -> tuple:
    """The data of a command and the model of its file, with the same number of features.

    `trained` says that the model was trained on these data.
    """
    from ..files import load

    precomputed, table = getattr(model, "kernel", None) == "precomputed", detect_data_format(arguments.data) != "libsvm"
    features, d = pop_feature_names(model) if table else None, model.n_features_in_
    foreign = detect_model_format(arguments.model) in (
        LIBSVM,
        LIBLINEAR,
    )  # such a file knows the features of its vectors only
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
