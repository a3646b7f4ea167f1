"""Files that travel: data as text and tables, models of ours and of others."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..contracts.files import Data
    from .data import read_data
    from .formats import open_blocks
    from .liblinear_model import read_liblinear_model, write_liblinear_model
    from .libsvm_model import write_libsvm_model
    from .libsvm_model_reader import read_libsvm_model
    from .libsvm_text import LibsvmData, read_libsvm, write_libsvm
    from .models import load, save
    from .onnx_export import export_onnx
    from .range_file import read_ranges, write_ranges
    from .ranges import Ranges, find_ranges
    from .tables import write_csv, write_parquet

# Names are loaded when they are asked for: the registry of formats needs no library, data need NumPy and SciPy, and
# models need scikit-learn, which takes a second to import.
LAZY_MODULES = {
    "Data": "data", "LibsvmData": "libsvm_text", "Ranges": "ranges", "export_onnx": "onnx_export",
    "find_ranges": "ranges", "load": "models", "open_blocks": "formats", "read_data": "data",
    "read_liblinear_model": "liblinear_model", "read_libsvm": "libsvm_text", "read_libsvm_model": "libsvm_model_reader",
    "read_ranges": "range_file", "save": "models", "write_csv": "tables", "write_liblinear_model": "liblinear_model",
    "write_libsvm": "libsvm_text", "write_libsvm_model": "libsvm_model", "write_parquet": "tables",
    "write_ranges": "range_file",
}  # fmt: skip
__all__ = [
    "Data", "LibsvmData", "Ranges", "export_onnx", "find_ranges", "load", "open_blocks", "read_data",
    "read_liblinear_model", "read_libsvm", "read_libsvm_model", "read_ranges", "save", "write_csv",
    "write_liblinear_model", "write_libsvm", "write_libsvm_model", "write_parquet", "write_ranges",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name of this package, from its module."""
    if name not in LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f".{LAZY_MODULES[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
