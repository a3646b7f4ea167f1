"""Files that travel: data as text and tables, models of ours and of others."""

from typing import TYPE_CHECKING

from ..runtime.lazy_names import load_when_asked

if TYPE_CHECKING:
    from ..contracts.files import Data
    from .data import read_data
    from .formats import open_blocks
    from .liblinear_model import read_liblinear_model, write_liblinear_model
    from .libsvm_model import write_libsvm_model
    from .libsvm_model_reader import read_libsvm_model
    from .libsvm_text import LibsvmData, read_libsvm, write_libsvm
    from .models import load, save
    from .onnx_converters import register_onnx_converters
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
    "read_ranges": "range_file", "register_onnx_converters": "onnx_converters", "save": "models", "write_csv": "tables",
    "write_liblinear_model": "liblinear_model",
    "write_libsvm": "libsvm_text", "write_libsvm_model": "libsvm_model", "write_parquet": "tables",
    "write_ranges": "range_file",
}  # fmt: skip
__all__ = [
    "Data", "LibsvmData", "Ranges", "export_onnx", "find_ranges", "load", "open_blocks", "read_data",
    "read_liblinear_model", "read_libsvm", "read_libsvm_model", "read_ranges", "register_onnx_converters",
    "save", "write_csv", "write_liblinear_model", "write_libsvm", "write_libsvm_model", "write_parquet", "write_ranges",
]  # fmt: skip
__getattr__, __dir__ = load_when_asked(globals(), LAZY_MODULES)
