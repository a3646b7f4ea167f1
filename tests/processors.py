"""The numerical tests as on other processors: make test-processors, with PROCESSORS="nehalem haswell" or TESTS="tests".

A processor decides how many numbers are added side by side, and whether a product is rounded before it is added to a
sum. OpenBLAS, NumPy, LLVM and the C library choose their loops for it when they are loaded. Here they are told what to
choose, so the tests meet the last digits of every kind of machine. What this machine cannot execute is left out, and so
is its own kind, unless it is named: that is what `make test` tests. The table at the end says which.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
QUICK = "not slow"
NUMERICAL = """
    blocks blockwise bundle cache certificate class_solvers cliff_grid cliffs close_arithmetic estimators_*
    first_order bounds_of_* conic_optimum held_weights honest_certificates rounding_of_judges row_sums kernel_cells
    active_samples
    kernel_interior_point kernels lagrangian subgradients linear_compiled linear_estimators_* linear_extremes
    linear_solvers listwise losses master metric_estimators minimize minimize_bad_input newton_parts one_slack paths
    problem quadratic_program risk_* sequences sklearn_suite small_designs small_problems smo_* sparse_designs
    structured_models structured_svm textbook_functions trajectories vector_losses
"""


@dataclass(frozen=True)
class Processor:
    """What each library is told of the processor; `needs` are flags of /proc/cpuinfo without which it cannot run."""

    blas: str  # OPENBLAS_CORETYPE, for the OpenBLAS of NumPy, SciPy and cvxopt
    llvm: str  # NUMBA_CPU_NAME
    numpy: tuple[str, ...]  # NPY_DISABLE_CPU_FEATURES: NumPy must not use these
    libm: tuple[str, ...]  # GLIBC_TUNABLES: nor the C library these
    needs: tuple[str, ...]

    def describe(self, cache: Path) -> dict[str, str]:
        """The variables that these libraries read; compiled loops are kept apart from those for other processors."""
        return {
            "OPENBLAS_CORETYPE": self.blas,
            "NUMBA_CPU_NAME": self.llvm,
            "NUMBA_CPU_FEATURES": "",  # those of the name, not those of this machine
            "NUMBA_CACHE_DIR": str(cache),
            "NPY_DISABLE_CPU_FEATURES": " ".join(sorted(set(self.numpy) & find_numpy_features())),
            "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in self.libm) if self.libm else "",
        }


WIDE = ("X86_V4", "AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR")
FUSED = ("X86_V3", "AVX2", "FMA3", *WIDE)  # and wider
PROCESSORS = {
    "prescott": Processor("Prescott", "x86-64", FUSED, ("AVX2", "FMA", "AVX", "SSE4_1"), ()),
    "nehalem": Processor("Nehalem", "nehalem", FUSED, ("AVX2", "FMA", "AVX"), ("sse4_2",)),
    "sandybridge": Processor("Sandybridge", "sandybridge", FUSED, ("AVX2", "FMA"), ("avx",)),
    "haswell": Processor("Haswell", "haswell", WIDE, (), ("avx2", "fma")),
    "zen": Processor("Zen", "znver3", WIDE, (), ("avx2", "fma", "sse4a", "vaes")),
    "skylakex": Processor("SkylakeX", "skylake-avx512", WIDE[4:], (), ("avx512f", "avx512dq", "avx512bw", "avx512vl")),
}
USUAL = ("nehalem", "sandybridge", "haswell", "skylakex")  # two, four and eight numbers at a time, and fused or not
SAME_LOOPS = {"Prescott": "Katmai", "Zen": "Haswell"}  # the name that OpenBLAS goes by where it has one set for both
LOADED = """
import threadpoolctl, scipy.linalg
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
blas = {each["architecture"] for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"}
print(*sorted(blas))
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""


def find_numerical_tests() -> list[str]:
    """The files of every pattern in `NUMERICAL`."""
    found = {name: sorted(HERE.rglob(f"test_{name}.py")) for name in NUMERICAL.split()}
    if missing := [name for name, paths in found.items() if not paths]:
        raise FileNotFoundError(f"no tests are named {', '.join(missing)}")
    return [str(path) for paths in found.values() for path in paths]


def find_numpy_features() -> set[str]:
    """The features that NumPy has loops for, and that this machine has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return {name for name in __cpu_dispatch__ if __cpu_features__[name]}


def find_missing(processor: Processor) -> list[str]:
    """What this machine would have to be able to do as well."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[1].splitlines()[0].split()
    return [name for name in processor.needs if name not in flags]


def find_loaded(environment: dict[str, str]) -> tuple[str, str]:
    """The loops that OpenBLAS has taken, and the features that NumPy uses."""
    command, variables = [sys.executable, "-c", LOADED], os.environ | environment
    found = subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout
    blas, features = found.splitlines()
    return blas, features


def run_tests(processor: Processor, named: bool, tests: list[str], workers: str) -> tuple[str, str]:
    """What became of the tests on that processor, and a remark."""
    if missing := find_missing(processor):
        return "left out", f"this machine has no {' '.join(missing)}"
    with tempfile.TemporaryDirectory() as cache:
        environment = processor.describe(Path(cache))
        loaded, begin = find_loaded(environment), time.perf_counter()
        if loaded == find_loaded({}) and not named:
            return "left out", "this machine is of that kind"
        if loaded[0] not in (processor.blas, SAME_LOOPS.get(processor.blas)):
            return "failed", f"OpenBLAS took the loops of {loaded[0]}"
        options = ["-m", QUICK, "-n", workers, "--dist", "worksteal", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        done = subprocess.run(command, env=os.environ | environment, cwd=HERE.parent, check=False)
    return "failed" if done.returncode else "passed", f"{time.perf_counter() - begin:.0f} s"


def main() -> int:
    """Run the tests on every processor in turn, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("processors", nargs="*", metavar="processor", help=f"of {' '.join(PROCESSORS)}")
    parser.add_argument("--tests", nargs="+", default=find_numerical_tests())
    parser.add_argument("--workers", default="2", help="processes that pytest runs tests in")
    options = parser.parse_args()
    if unknown := sorted(set(options.processors) - set(PROCESSORS)):
        parser.error(f"processors must be of {', '.join(PROCESSORS)}, got {', '.join(unknown)}.")
    outcomes = {}
    for name in options.processors or USUAL:
        print(f"---- {name}", flush=True)
        outcomes[name] = run_tests(PROCESSORS[name], bool(options.processors), options.tests, options.workers)
    for name, (outcome, remark) in outcomes.items():
        print(f"{name:12} {outcome:9} {remark}")
    return int(any(outcome == "failed" for outcome, _ in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
