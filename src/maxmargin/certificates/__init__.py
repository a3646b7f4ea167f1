"""The judge: P, D and their gap, for problems in memory, in blocks and over structures."""

from . import in_blocks, structured  # noqa: F401  (each registers the judge of its form)
