"""Files that travel: data as text and tables, models of ours and of others."""

from .data import Data, read_data
from .liblinear_model import read_liblinear_model, write_liblinear_model
from .libsvm_model import read_libsvm_model, write_libsvm_model
from .libsvm_text import LibsvmData, read_libsvm, write_libsvm
from .models import load, save
from .onnx_export import export_onnx
from .range_file import read_ranges, write_ranges
from .ranges import Ranges, find_ranges
from .tables import write_csv, write_parquet

__all__ = [
    "Data",
    "LibsvmData",
    "Ranges",
    "export_onnx",
    "find_ranges",
    "load",
    "read_data",
    "read_liblinear_model",
    "read_libsvm",
    "read_libsvm_model",
    "read_ranges",
    "save",
    "write_csv",
    "write_liblinear_model",
    "write_libsvm",
    "write_libsvm_model",
    "write_parquet",
    "write_ranges",
]
