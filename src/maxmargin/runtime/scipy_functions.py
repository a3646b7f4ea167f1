"""What this library calls of SciPy besides sparse matrices, each imported by its first call: a small fit calls none."""

from __future__ import annotations

from numpy.linalg import LinAlgError

from .deferred import defer

__all__ = [
    "LinAlgError", "LinearOperator", "cho_factor", "cho_solve", "daxpy", "dpotrf", "dpotrs", "eigsh", "linprog",
    "log_expit", "log_softmax", "logsumexp", "minres", "nnls", "qr",
]  # fmt: skip

cho_factor, cho_solve = defer("scipy.linalg", "cho_factor"), defer("scipy.linalg", "cho_solve")
qr = defer("scipy.linalg", "qr")
daxpy = defer("scipy.linalg.blas", "daxpy")
dpotrf, dpotrs = defer("scipy.linalg.lapack", "dpotrf"), defer("scipy.linalg.lapack", "dpotrs")
linprog, nnls = defer("scipy.optimize", "linprog"), defer("scipy.optimize", "nnls")
log_expit, log_softmax = defer("scipy.special", "log_expit"), defer("scipy.special", "log_softmax")
logsumexp = defer("scipy.special", "logsumexp")
LinearOperator = defer("scipy.sparse.linalg", "LinearOperator")
eigsh, minres = defer("scipy.sparse.linalg", "eigsh"), defer("scipy.sparse.linalg", "minres")
