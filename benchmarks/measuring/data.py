"""Data for the benchmarks: scikit-learn's own, generated, and files of a folder of LIBSVM text data if there is one.

The folder is named by the environment variable DATA. It holds one folder for each set, as in FILES.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

CLASSIFICATION_FILES = (
    "a9a/a9a", "australian/australian", "cod-rna/cod-rna_scaled", "dna/dna.scale", "fourclass/fourclass",
    "german.numer/german.numer", "higgs_subset/higgs_7k.train", "ijcnn1/ijcnn1_reconstructed",
    "letter/letter.scale", "madelon/madelon_scaled", "magic04/magic04", "mushrooms/mushrooms", "pcmac/pcmac",
    "pendigits/pendigits", "phishing/phishing", "satimage/satimage.scale", "segment/segment.scale",
    "shuttle/shuttle.train", "spambase/spambase", "splice/splice_scaled", "svmguide1/svmguide1",
    "svmguide3/svmguide3", "usps/usps", "vehicle/vehicle.scale", "w8a/w8a",
)  # fmt: skip
REGRESSION_FILES = (
    "2dplanes/2dplanes", "abalone/abalone_scale", "bodyfat/bodyfat", "cadata/cadata", "cpusmall/cpusmall",
    "housing/housing_scale", "kin40k/kin40k", "puma8NH/puma8NH", "space_ga/space_ga",
)  # fmt: skip


class Sample(NamedTuple):
    """A named set: features, targets, and whether the features were standardised."""

    name: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray
    scaled: bool


def find_folder() -> Path | None:
    """The folder of data files: DATA, or a folder shared/data beside the repository; None if there is none."""
    given = os.environ.get("DATA")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared" / "data"
    if given and not folder.is_dir():
        raise SystemExit(f"DATA={given} is not a folder.")
    return folder if folder.is_dir() else None


def standardise(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1."""
    return StandardScaler().fit_transform(X)


def read_file(name: str) -> tuple[np.ndarray | sp.csr_array, np.ndarray] | None:
    """One set of the folder, dense unless it is mostly zeros and wide; None where it is not there."""
    folder = find_folder()
    path = None if folder is None else folder / f"{name}.bz2"
    if path is None or not path.is_file():
        return None
    X, y = datasets.load_svmlight_file(str(path))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # scikit-learn refuses 64 bits
    dense = X.shape[1] <= 100 or X.nnz > 0.25 * X.shape[0] * X.shape[1]
    return (X.toarray() if dense else sp.csr_array(X)), y


def read_images(name: str, rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The first rows of images in the IDX format, pixels in [0, 1], and their digits; None where they are not there."""
    folder = find_folder()
    parts = [] if folder is None else [folder / f"{name}-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1")]
    if not parts or not all(path.is_file() for path in parts):
        return None
    pixels, digits = (np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8) for path in parts)
    height, width = pixels[8:16].view(">i4")
    X = pixels[16 : 16 + rows * height * width].reshape(-1, height * width) / 255.0
    return X, digits[8 : 8 + rows].astype(int)


def read_set(name: str, file: str, image_rows: int) -> tuple[np.ndarray | sp.csr_array, np.ndarray] | None:
    """Features and targets of a set, of mnist whether the digit is odd; None where it is not there."""
    if name != "mnist":
        return read_file(file)
    found = read_images(file, image_rows)
    return found and (found[0], found[1] % 2)


def both_ways(name: str, X: np.ndarray, y: np.ndarray) -> Iterator[Sample]:
    """A dense set as it is and standardised."""
    yield Sample(name, X, y, False)
    yield Sample(name, standardise(X), y, True)


def list_classification(*, files: bool = True) -> Iterator[Sample]:
    """Sets with labels."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        yield from both_ways(name, X, y)
    yield Sample("moons, noise 0.3", *datasets.make_moons(2000, noise=0.3, random_state=0), False)
    yield Sample("clouds, 20 features", *make_clouds(5000), False)
    yield Sample("5 classes", *make_classes(5000), False)
    for name in CLASSIFICATION_FILES if files else ():
        found = read_file(name)
        if found is not None:
            yield Sample(name.partition("/")[0], *found, False)


def list_regression(*, files: bool = True) -> Iterator[Sample]:
    """Sets with real targets; those of files with features and targets standardised."""
    X, y = datasets.load_diabetes(return_X_y=True)
    yield from both_ways("diabetes", X, y)
    yield Sample("friedman1", *datasets.make_friedman1(2000, n_features=10, noise=1.0, random_state=0), False)
    for name in REGRESSION_FILES if files else ():
        found = read_file(name)
        if found is not None:
            X, y = found
            yield Sample(name.partition("/")[0], standardise(X), standardise(y[:, None]).ravel(), True)


def make_clouds(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of Gaussian clouds, 20 features of which 10 matter, 5 % of the labels random."""
    return datasets.make_classification(n, 20, n_informative=10, flip_y=0.05, random_state=0)


def make_classes(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The same with five classes."""
    return datasets.make_classification(n, 20, n_informative=10, n_classes=5, flip_y=0.05, random_state=0)


def make_friedman(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Friedman's first regression problem, 10 features of which 5 matter, standardised."""
    X, y = datasets.make_friedman1(n, n_features=10, noise=1.0, random_state=0)
    return standardise(X), y
