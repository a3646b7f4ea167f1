"""Data that come in blocks: files larger than memory, memory-mapped arrays, partitions on other machines."""

from typing import TYPE_CHECKING

from ..contracts.blocks import Block, Blocks
from ..runtime.lazy_names import load_when_asked

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
__getattr__, __dir__ = load_when_asked(globals(), LAZY_MODULES)
