"""The formats of model files: our own, those of LIBSVM and LIBLINEAR, and ONNX."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contracts.files import ModelFormat
from ..runtime.streams import open_file

if TYPE_CHECKING:
    import numpy as np

    from ..contracts.estimators import Estimator


class MaxmarginArchive(ModelFormat):
    """What `save` writes: an archive of arrays and JSON."""

    name, title, suffixes = "maxmargin", "maxmargin", (".maxmargin",)
    first_bytes, is_complete = b"PK\x03\x04", True

    def read(self, path: str | os.PathLike, n_features: int | None = None) -> Any:
        """The fitted estimator, as it was saved."""
        from .models import read_saved

        return read_saved(path, n_features)

    def write(
        self, model: Any, path: str | os.PathLike, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """All of a fit, and the hash of its data if they are given."""
        from .models import save

        save(model, path, X=X, y=y, sample_weight=sample_weight)
        return {}


class LabelledText(ModelFormat):
    """What LIBSVM and LIBLINEAR share: text that holds labels as whole numbers, in an order of its own."""

    suffixes = (".model",)

    def check_writable(self, estimator: type[Estimator], labels: np.ndarray | None, first_index: int | None) -> None:
        """Labels must be whole numbers."""
        from .model_text import write_labels

        if labels is not None:
            write_labels(labels, self.title)

    def read_label_order(self, path: str | os.PathLike) -> list[float] | None:
        """The words of the line `label`."""
        with open_file(Path(path)) as file:
            line = next((line for line in file if line.startswith(b"label")), b"")
        return [float(word) for word in line.split()[1:]]


class LibsvmModel(LabelledText):
    """The text that svm-train writes."""

    name, title, first_bytes, families = "libsvm", "LIBSVM", b"svm_type", ("kernel",)

    def has_place_for(self, estimator: type[Estimator]) -> bool:
        """The machines of svm-train."""
        from .libsvm_model import SVM_TYPES

        return estimator in SVM_TYPES.values()

    def read(self, path: str | os.PathLike, n_features: int | None = None) -> Any:
        """A kernel machine."""
        from .libsvm_model_reader import read_libsvm_model

        return read_libsvm_model(path, n_features=n_features)

    def write(
        self, model: Any, path: str | os.PathLike, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """Support vectors and coefficients."""
        from .libsvm_model import write_libsvm_model

        write_libsvm_model(model, path)
        return {}


class LiblinearModel(LabelledText):
    """The text that LIBLINEAR's train writes."""

    name, title, first_bytes, families = "liblinear", "LIBLINEAR", b"solver_type", ("linear",)

    def has_place_for(self, estimator: type[Estimator]) -> bool:
        """The machines of LIBLINEAR's train."""
        from .liblinear_model import MACHINES

        return estimator in MACHINES

    def check_writable(self, estimator: type[Estimator], labels: np.ndarray | None, first_index: int | None) -> None:
        """Features must begin at index 1, too."""
        from .liblinear_model import ZERO_INDEX_MESSAGE

        super().check_writable(estimator, labels, first_index)
        if first_index == 0:
            raise ValueError(ZERO_INDEX_MESSAGE)

    def read(self, path: str | os.PathLike, n_features: int | None = None) -> Any:
        """A linear machine."""
        from .liblinear_model import read_liblinear_model

        return read_liblinear_model(path, n_features=n_features)

    def write(
        self, model: Any, path: str | os.PathLike, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """w and b."""
        from .liblinear_model import write_liblinear_model

        write_liblinear_model(model, path)
        return {}


class OnnxModel(ModelFormat):
    """Operators that any runtime of ONNX runs; written, not read."""

    name, title, suffixes = "onnx", "ONNX", (".onnx",)

    def check_writable(self, estimator: type[Estimator], labels: np.ndarray | None, first_index: int | None) -> None:
        """onnx and onnxruntime must be installed."""
        from .onnx_graph import import_onnx

        import_onnx()

    def write(
        self, model: Any, path: str | os.PathLike, X: Any = None, y: Any = None, sample_weight: Any = None
    ) -> dict[str, float]:
        """The graph, and the largest difference of decision values when onnxruntime runs it."""
        from .onnx_export import export_onnx

        return {"largest difference": float(export_onnx(model, path))}
