"""Data that come in blocks: files larger than memory, memory-mapped arrays, partitions on other machines."""

from .source import ArrayBlocks, Block, Blocks

__all__ = ["ArrayBlocks", "Block", "Blocks"]
