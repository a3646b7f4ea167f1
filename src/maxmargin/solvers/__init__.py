"""The solvers, by name: one file a family."""

from .smo import SMO

SOLVERS = {"smo": SMO}
