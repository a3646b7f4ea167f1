"""Files that travel: data as text and tables, models of ours and of others."""

from importlib import import_module
from typing import TYPE_CHECKING

from .data import Data, read_data
from .libsvm_text import LibsvmData, read_libsvm, write_libsvm
from .range_file import read_ranges, write_ranges
from .ranges import Ranges, find_ranges
from .tables import write_csv, write_parquet

if TYPE_CHECKING:
    from .liblinear_model import read_liblinear_model, write_liblinear_model
    from .libsvm_model import read_libsvm_model, write_libsvm_model
    from .models import load, save
    from .onnx_export import export_onnx

# What has to do with models is loaded when it is asked for: it needs scikit-learn, which takes a second to import.
LAZY_MODULES = {
    "export_onnx": "onnx_export",
    "load": "models",
    "read_liblinear_model": "liblinear_model",
    "read_libsvm_model": "libsvm_model",
    "save": "models",
    "write_liblinear_model": "liblinear_model",
    "write_libsvm_model": "libsvm_model",
}
__all__ = [
    "Data", "LibsvmData", "Ranges", "export_onnx", "find_ranges", "load", "read_data", "read_liblinear_model",
    "read_libsvm", "read_libsvm_model", "read_ranges", "save", "write_csv", "write_liblinear_model", "write_libsvm",
    "write_libsvm_model", "write_parquet", "write_ranges",
]  # fmt: skip


def __getattr__(name: str):
    """A function of models."""
    if name not in LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f".{LAZY_MODULES[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
