"""Data that come in blocks: files larger than memory, memory-mapped arrays, partitions on other machines."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..contracts.blocks import Block, Blocks

if TYPE_CHECKING:
    from .arrays import ArrayBlocks, NpyBlocks
    from .libsvm_files import LibsvmBlocks
    from .mapped_blocks import MappedBlocks
    from .parquet_files import ParquetBlocks

# Sources of data are loaded when they are asked for: data in memory have no need of them.
LAZY_MODULES = {
    "ArrayBlocks": "arrays", "LibsvmBlocks": "libsvm_files", "MappedBlocks": "mapped_blocks", "NpyBlocks": "arrays",
    "ParquetBlocks": "parquet_files",
}  # fmt: skip
__all__ = ["ArrayBlocks", "Block", "Blocks", "LibsvmBlocks", "MappedBlocks", "NpyBlocks", "ParquetBlocks"]


def __getattr__(name: str) -> Any:
    """A name of this package, from its module."""
    if name not in LAZY_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(f".{LAZY_MODULES[name]}", __name__), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
