"""The judge: P, D and their gap, for problems in memory, in blocks and over structures.

Each form of problem has a judge of its own, registered by the type of the problem when this package is imported.
"""

from . import in_blocks, in_memory, structured  # noqa: F401
