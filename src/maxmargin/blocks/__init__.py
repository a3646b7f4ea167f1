"""Data that come in blocks: files larger than memory, memory-mapped arrays, partitions on other machines."""

from .files import LibsvmBlocks, NpyBlocks, ParquetBlocks, open_blocks
from .mapped_blocks import MappedBlocks
from .source import ArrayBlocks, Block, Blocks

__all__ = [
    "ArrayBlocks", "Block", "Blocks", "LibsvmBlocks", "MappedBlocks", "NpyBlocks", "ParquetBlocks", "open_blocks",
]  # fmt: skip
