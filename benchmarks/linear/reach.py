"""How long a peer takes to come as near to the optimum as we are: python -m benchmarks.linear.reach folder, by `reach`.

The peer climbs a ladder of ever finer fits in a process of its own, which may hang or crash and take nothing down with
it. Its w and b of every rung are judged by P(w, b) in float64. The seconds are those of the fastest fit with P within
the target.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from ..measuring.clock import LONG, time_best, time_once
from ..measuring.footprint import load_case, write_case
from ..peers.linear_routes import ROUTES, STEP, Route
from .linear_cases import LinearCase

REFINEMENTS = 2  # halvings of the last step, so that no library pays for a coarse ladder
START_SECONDS = 120  # for compiling and the first fit of a few rows
WARM_UP_ROWS = 200
PROGRESS_RATIO, MAX_IDLE_RUNGS = 0.95, 6  # so many rungs in a row that do not come nearer end a climb


@dataclass
class Reached:
    """What a peer did on one route: seconds to the target, or how near it came and in how long."""

    route: str
    seconds: float | None = None
    rung: float | None = None
    nearest: float | None = None  # (P - D) / |D| of its best rung
    longest: float = 0.0  # seconds
    capped: bool = False  # whether it was time that ended the climb
    failed: str | None = None


def reach(case: LinearCase, route: str, dual: float, tol: float, cap: float) -> Reached:
    """The climb of one route to P <= D + tol |D|, fits longer than `cap` seconds not being worth it."""
    package = ROUTES[route].package
    if find_spec(package) is None:
        return Reached(route, failed=f"{package} is not installed")
    with TemporaryDirectory() as folder:
        write_case(case, Path(folder))
        order = {"route": route, "target": dual + tol * abs(dual), "cap": cap}
        Path(folder, "order.json").write_text(json.dumps(order))
        lines, killed, failed = run_child(folder)
    return summarise(route, lines, dual, tol, killed, cap, failed)


def run_child(folder: str) -> tuple[list[dict], bool, str | None]:
    """The rungs a child told of, whether the clock ended it, and its last words if it failed."""
    command = [sys.executable, "-m", f"{__package__}.reach", folder]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True)
    killed, failed, said = done.returncode == -signal.SIGALRM, None, done.stdout
    if done.returncode and not killed:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        failed = words[-1] if words else f"ended with {done.returncode}"
    whole = [line for line in said.decode(errors="replace").splitlines() if line.startswith('{"rung"')]
    return [json.loads(line) for line in whole if line.endswith("}")], killed, failed


def summarise(route, lines: list[dict], dual: float, tol: float, killed: bool, cap: float, failed) -> Reached:
    """The fastest rung within the target, or the nearest one."""
    if not lines:
        return Reached(route, capped=killed, failed=failed, longest=cap if killed else 0.0)
    for line in lines:
        line["distance"] = (line["primal"] - dual) / abs(dual)
    there = [line for line in lines if line["distance"] <= tol]
    nearest = min(line["distance"] for line in lines)
    longest = max(line["seconds"] for line in lines)
    if there:
        best = min(there, key=lambda line: line["seconds"])
        return Reached(route, best["seconds"], best["rung"], nearest, longest)
    late = killed or longest * STEP > cap
    return Reached(route, None, None, nearest, cap if killed else longest, late, failed)


# ---- in the child -------------------------------------------------------------------------------------------------


@dataclass
class Climb:
    """A peer on its way: the case to judge by, the same with the data as the peer wants them, and the target."""

    case: LinearCase
    prepared_case: LinearCase
    route: Route
    target: float
    cap: float

    def run(self) -> None:
        """Rung by rung until one is within the target, then a few between it and the one before."""
        low, best, idle_rungs = None, float("inf"), 0
        for rung in self.route.rungs():
            seconds, primal = self.fit(rung)
            if primal <= self.target:
                self.refine(low, rung)
                return
            idle_rungs = 0 if primal - self.target < PROGRESS_RATIO * best else idle_rungs + 1
            if seconds * STEP > self.cap or idle_rungs == MAX_IDLE_RUNGS:
                return
            low, best = rung, min(best, primal - self.target)

    def refine(self, low, high) -> None:
        """Halve the step, on a logarithmic scale, with `high` within the target and `low` not."""
        for _ in range(REFINEMENTS if low is not None else 0):
            middle = type(high)((low * high) ** 0.5)
            if middle in (low, high):
                return
            within = self.fit(middle)[1] <= self.target
            low, high = (low, middle) if within else (middle, high)

    def fit(self, rung) -> tuple[float, float]:
        """Seconds and P of one fit, told to the parent; by the rules of our own fits if it counts and was not long."""
        signal.alarm(math.ceil(self.cap))  # ends this process, in the middle of compiled code too
        seconds, (w, b) = time_once(lambda: self.route.fit(self.prepared_case, rung))
        signal.alarm(0)
        primal = self.case.primal(w, b)
        if primal <= self.target and seconds <= LONG:
            seconds = min(seconds, time_best(lambda: self.route.fit(self.prepared_case, rung))[0])
        print(json.dumps({"rung": rung, "seconds": seconds, "primal": primal}), flush=True)
        return seconds, primal


def main() -> None:
    """Load, fit a few rows so that code is loaded and compiled, and climb."""
    folder = Path(sys.argv[1])
    order, case = json.loads((folder / "order.json").read_text()), load_case(folder)
    route, few = ROUTES[order["route"]], case.take(WARM_UP_ROWS)
    signal.alarm(START_SECONDS)
    time_once(lambda: route.fit(replace(few, X=route.prepare(few)), next(route.rungs())))
    Climb(case, replace(case, X=route.prepare(case)), route, order["target"], order["cap"]).run()


if __name__ == "__main__":
    main()
