"""Data that come in blocks: files larger than memory, memory-mapped arrays, partitions on other machines."""

from ..contracts.blocks import Block, Blocks
from .arrays import ArrayBlocks, NpyBlocks
from .libsvm_files import LibsvmBlocks
from .mapped_blocks import MappedBlocks
from .parquet_files import ParquetBlocks

__all__ = ["ArrayBlocks", "Block", "Blocks", "LibsvmBlocks", "MappedBlocks", "NpyBlocks", "ParquetBlocks"]
