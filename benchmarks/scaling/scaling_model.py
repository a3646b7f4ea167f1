"""A model of what a pass costs: its constants measured here, passes predicted and measured, and a large cluster."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import numpy as np

from maxmargin.blocks.dask import DaskBlocks
from maxmargin.blocks.problem import BlockFormulation, Targets
from maxmargin.model.losses import LOSSES
from maxmargin.runtime.blas import single_threaded_blas
from maxmargin.solvers.newton.blocks import Steps, sum_block

from ..measuring.idle_cores import wait_for_idle_cores
from ..measuring.report import Report, Table
from .scaling_cluster import begin_report, has_dask, open_cluster, record_passes
from .scaling_costs import PassModel, Plan, count_bytes, fit_latency, fit_rows
from .scaling_data import MadeBlocks, Rows
from .scaling_fit import TOL, make_machine

FEATURE_COUNTS = (10, 20, 50, 100)  # features where rows are timed
STEPS = {"hinge": (1, 4), "logistic": (1,)}  # replayed, by loss; smooth losses replay none but the last
BLOCK_ENTRIES = 2_000_000  # in a block where rows are timed
TINY_BLOCK_ROWS = 10  # rows of a block where only tasks cost
BLOCKS = (8, 64, 512)
WORKER_COUNTS = (1, 2)
RUNS = 3
TRANSFER_BYTES = 1 << 26  # bytes sent from one worker to another
PLANS = (
    Plan(2_000_000, 20, 20, 2, 1), Plan(2_000_000, 20, 20, 1, 1), Plan(2_000_000, 20, 20, 2, 1, persisted=True),
    Plan(2_000_000, 20, 200, 2, 2), Plan(4_000_000, 20, 40, 2, 6), Plan(1_000_000, 30, 10, 1, 2),
    Plan(500_000, 100, 20, 2, 2), Plan(1_000_000, 10, 100, 2, 3), Plan(200_000, 20, 400, 2, 1),
    Plan(1_000_000, 70, 40, 2, 2), Plan(2_000_000, 20, 20, 2, 1, loss="logistic"),
    Plan(1_000_000, 50, 25, 2, 1, loss="logistic"),
)  # fmt: skip
LARGE_ROWS, MACHINES, CORES = 10_000_000_000, 100, 16
MAX_BLOCK_BYTES = 2.0**28  # bytes of a block in float64 on that cluster
NETWORK_BYTES_PER_SECOND = 1.25e9  # bytes a second of one link of 10 Gbit/s: assumed, not measured
SIZES = {20: 2_000_000, 100: 500_000}  # rows where passes are counted, by d
PURPOSE = (
    "T = n/W (load + compute) + latency + transfer; `PassModel` has the formula. Constants: seconds per row are "
    "measured on two workers at the same time, in blocks of 2 million numbers that are made from their number; those "
    "of tasks are from passes over blocks of ten rows; the bandwidth is that of an array between two workers of this "
    "machine. The scheduler is a part of the driver and shares two cores with the workers. Passes that are predicted "
    "are none of those that the constants were measured on. The passes of a fit on the large cluster are those that "
    "fits on 2,000,000 x 20 and 500,000 x 100 rows took here, to tol = 1e-3; its links are assumed."
)
ROW_COLUMNS = {
    "loss": "{}",
    "d": "{:d}",
    "K": "{:d}",
    "load": "{:.0f}",
    "compute": "{:.0f}",
    "model": "{:.0f}",
    "error": "{:+.0%}",
}
TASK_COLUMNS = {
    "blocks": "{:d}", "tasks": "{:d}", "workers": "{:d}", "data": "{}", "seconds": "{:.3f}", "model": "{:.3f}",
    "error": "{:+.0%}",
}  # fmt: skip
CHECKS = {
    "loss": "{}", "n": "{:,}", "d": "{:d}", "blocks": "{:d}", "workers": "{:d}", "K": "{:d}", "data": "{}",
    "work, s": "{:.2f}", "latency, s": "{:.2f}", "predicted, s": "{:.2f}", "measured, s": "{:.2f}", "error": "{:+.0%}",
    "bytes predicted": "{:,.0f}", "bytes measured": "{:,.0f}",
}  # fmt: skip
LARGE = {
    "d": "{:d}", "loss": "{}", "blocks": "{:,}", "tasks": "{:,}", "rows of a block": "{:,}",
    "work, s": "{:.1f}", "latency, s": "{:.1f}",
    "transfer, s": "{:.2f}", "s / pass": "{:.1f}", "MB / pass": "{:,.0f}", "passes": "{:d}", "fit, s": "{:,.0f}",
    "most of it": "{}",
}  # fmt: skip


def make_question(d: int, steps: int, loss: str = "hinge") -> tuple[BlockFormulation, Steps]:
    """What a pass asks after so many widths."""
    pose = BlockFormulation(Targets(1.0, np.array([-1.0, 1.0]), 1), LOSSES[loss](), True)
    u = 0.01 * np.random.default_rng(0).standard_normal((steps, d + 1))
    return pose, Steps(u, 0.5 ** np.arange(1.0, steps + 1.0), True, 1.0)


def time_rows(d: int, steps: int, loss: str, number: int) -> tuple[float, float]:
    """Seconds a row to make a block and to answer, on the worker that runs this: the least of a few."""
    rows = Rows(BLOCK_ENTRIES // d, d, BLOCK_ENTRIES // d)
    question, best = make_question(d, steps, loss), []
    blocks = MadeBlocks(rows)
    with single_threaded_blas():
        for _ in range(RUNS + 1):
            began = time.perf_counter()
            block = blocks.load(0)
            made = time.perf_counter()
            sum_block(block, *question)
            best.append((made - began, time.perf_counter() - made))
    return tuple(min(each) / rows.n for each in zip(*best[1:], strict=True))


def measure_rows(client, workers: int) -> list[dict]:
    """Seconds a row at every width and number of steps, all workers busy."""
    table = []
    for loss, d, steps in [(name, d, steps) for name in STEPS for d in FEATURE_COUNTS for steps in STEPS[name]]:
        wait_for_idle_cores()
        asked = [[each] * workers for each in (d, steps, loss)]
        found = client.gather(client.map(time_rows, *asked, range(workers), pure=False))
        load, compute = np.mean(found, axis=0)
        table.append({"loss": loss, "d": d, "K": steps, "load": float(load), "compute": float(compute)})
        print(f"scaling_model: {table[-1]}", flush=True)
    return table


def time_pass(plan: Plan) -> tuple[float, float]:
    """Seconds of a pass, the least of a few, and its bytes."""
    rows = Rows(plan.n, plan.d, -(-plan.n // plan.blocks))
    X, y = rows.lay_out()
    if plan.persisted:
        from distributed import wait

        X, y = X.persist(), y.persist()
        wait([X, y])
    blocks, question = record_passes(DaskBlocks(X, y)), make_question(plan.d, plan.steps, plan.loss)
    for _ in range(RUNS + 1):
        wait_for_idle_cores()
        blocks.run(sum_block, *question)
    passes = blocks.passes[1:]
    return min(each.seconds for each in passes), float(np.mean([each.bytes_out + each.bytes_in for each in passes]))


def measure_tasks(workers: int, blocks: tuple[int, ...]) -> list[dict]:
    """Seconds of passes over blocks of a few rows, made by the workers and held by them."""
    plans = [Plan(TINY_BLOCK_ROWS * count, 10, count, workers, 1, held) for held in (False, True) for count in blocks]
    table = []
    for plan in plans:
        table.append({"plan": plan, "seconds": time_pass(plan)[0]})
        print(f"scaling_model: {table[-1]}", flush=True)
    return table


def measure_bandwidth(client) -> float:
    """Bytes a second of an array that one worker fetches from another."""
    first, second = list(client.nthreads())[:2]
    best = np.inf
    for number in range(RUNS):
        cargo = client.submit(np.full, TRANSFER_BYTES // 8, float(number), workers=[first], pure=False)
        client.submit(len, cargo, workers=[first], pure=False).result()
        began = time.perf_counter()
        client.submit(len, cargo, workers=[second], pure=False).result()
        best = min(best, time.perf_counter() - began)
    return TRANSFER_BYTES / best


def check_plan(models: dict[str, PassModel], plan: Plan) -> dict:
    """A row: predicted and measured."""
    cost = models[plan.loss].predict(plan)
    seconds, moved = time_pass(plan)
    row = {
        "loss": plan.loss, "n": plan.n, "d": plan.d, "blocks": plan.blocks, "workers": plan.workers, "K": plan.steps,
        "data": name_data(plan), "work, s": cost.work, "latency, s": cost.latency,
        "predicted, s": cost.seconds, "measured, s": seconds, "error": cost.seconds / seconds - 1.0,
        "bytes predicted": count_bytes(plan), "bytes measured": moved,
    }  # fmt: skip
    print(f"scaling_model: {row}", flush=True)
    return row


def count_passes(loss: str, n: int, d: int) -> tuple[int, int, float]:
    """The passes of a fit, the steps that its last one replays, and its seconds outside passes."""
    blocks = record_passes(MadeBlocks(Rows(n, d, max(1, BLOCK_ENTRIES // d))))
    began = time.perf_counter()
    machine = make_machine(loss, TOL).fit(blocks)
    outside = time.perf_counter() - began - sum(each.seconds for each in blocks.passes)
    return len(blocks.passes), len(machine.result_.point.a.u), outside


def predict_large_fit(model: PassModel, d: int, loss: str, n: int, share: float) -> dict:
    """A row: a fit on a hundred machines, with the passes that a fit on fewer rows took."""
    workers = MACHINES * CORES
    passes, steps, outside = count_passes(loss, int(share * SIZES[d]), d)
    blocks = model.choose_blocks(n, d, workers, steps, MAX_BLOCK_BYTES)
    plan = Plan(n, d, blocks, workers, steps)
    cost = model.predict(plan)
    return {
        "d": d, "loss": loss, "blocks": blocks, "tasks": plan.asked, "rows of a block": n // blocks,
        "work, s": cost.work, "latency, s": cost.latency, "transfer, s": cost.transfer, "s / pass": cost.seconds,
        "MB / pass": cost.bytes / 2**20, "passes": passes, "fit, s": passes * cost.seconds + outside,
        "most of it": cost.largest,
    }  # fmt: skip


def calibrate(blocks: tuple[int, ...]) -> tuple[dict[str, PassModel], list[dict], list[dict]]:
    """The constants for each loss, and what they were found from."""
    tasks: list[dict] = []
    for workers in WORKER_COUNTS:
        with open_cluster(workers) as client:
            tasks += measure_tasks(workers, blocks)
            if workers == max(WORKER_COUNTS):
                rows, bandwidth = measure_rows(client, workers), measure_bandwidth(client)
    latency = fit_latency(tasks)
    models = {
        loss: PassModel(*fit_rows([row for row in rows if row["loss"] == loss]), *latency, bandwidth) for loss in STEPS
    }
    return models, rows, tasks


def check_model(models: dict[str, PassModel], plans: list[Plan]) -> list[dict]:
    """Every plan on a cluster of its workers."""
    table = []
    for workers in sorted({plan.workers for plan in plans}):
        with open_cluster(workers):
            table += [check_plan(models, plan) for plan in plans if plan.workers == workers]
    return table


def compare_rows(models: dict[str, PassModel], rows: list[dict]) -> list[dict]:
    """Seconds a row in nanoseconds, beside those of the model."""
    table = []
    for row in rows:
        predicted = models[row["loss"]].cost_rows(row["d"], row["K"])
        error = predicted / (row["load"] + row["compute"]) - 1.0
        scaled = {"load": 1e9 * row["load"], "compute": 1e9 * row["compute"], "model": 1e9 * predicted}
        table.append({**row, **scaled, "error": error})
    return table


def list_constants(models: dict[str, PassModel]) -> list[dict]:
    """Those of the first loss, and of the others what differs."""
    first, *others = models
    table = [{"loss": first, **row} for row in models[first].list_constants()]
    return table + [
        {"loss": loss, **row}
        for loss in others
        for row in models[loss].list_constants()
        if row["constant"] == "compute"
    ]


def compare_tasks(model: PassModel, tasks: list[dict]) -> list[dict]:
    """Passes over tiny blocks, beside those of the model."""
    table = []
    for row in tasks:
        plan, predicted = row["plan"], model.predict(row["plan"]).seconds
        table.append({
            "blocks": plan.blocks, "tasks": plan.asked, "workers": plan.workers, "data": name_data(plan),
            "seconds": row["seconds"], "model": predicted, "error": predicted / row["seconds"] - 1.0,
        })  # fmt: skip
    return table


def name_data(plan: Plan) -> str:
    """Where the rows come from."""
    return "held" if plan.persisted else "made"


def summarise(model: PassModel, checks: list[dict], ahead: list[dict]) -> list[str]:
    """The tables in words."""
    errors = [abs(row["error"]) for row in checks]
    findings = [
        f"The model is off by {np.median(errors):.0%} in the middle and {max(errors):.0%} at most, over {len(errors)} "
        "passes that it was not fitted to.",
        f"A task costs {1e3 * model.scheduler:.2f} ms in the scheduler, one after the other, and "
        f"{1e3 * model.worker:.2f} ms on a worker; a block {1e3 * model.block:.2f} ms.",
    ]
    for row in ahead:
        findings.append(
            f"{LARGE_ROWS:,} rows x {row['d']} on {MACHINES} machines of {CORES} cores, {row['loss']}: "
            f"{row['s / pass']:.1f} s and {row['MB / pass']:.0f} MB a pass in {row['blocks']:,} blocks, "
            f"{row['passes']} passes, {row['fit, s']:.0f} s; {row['most of it']} takes most of it."
        )
    return findings


def shrink(plans: tuple[Plan, ...], share: float) -> list[Plan]:
    """The same passes on fewer rows."""
    return [plan._replace(n=max(plan.blocks, int(share * plan.n))) for plan in plans]


def run(*, brief: bool) -> Report:
    """Constants, checks, and a cluster that is not here."""
    report = begin_report("scaling_model", PURPOSE)
    if not has_dask():
        report.findings.append("Skipped: Dask is not installed (pip install 'maxmargin[cluster]').")
        return report
    share = float(os.environ.get("ROWS", 2e5 if brief else 2e6)) / 2e6
    models, rows, tasks = calibrate(BLOCKS[:2] if brief else BLOCKS)
    checks = check_model(models, shrink(PLANS[:3] if brief else PLANS, share))
    large = {loss: replace(model, bandwidth=NETWORK_BYTES_PER_SECOND) for loss, model in models.items()}
    ahead = [predict_large_fit(large[loss], d, loss, LARGE_ROWS, share) for d in SIZES for loss in large]
    report.tables = [
        Table("Constants", {"loss": "{}", "constant": "{}", "unit": "{}", "value": "{}"}, list_constants(models)),
        Table("Nanoseconds per row on each of two busy workers", ROW_COLUMNS, compare_rows(models, rows)),
        Table(f"Passes over blocks of {TINY_BLOCK_ROWS} rows", TASK_COLUMNS, compare_tasks(models["hinge"], tasks)),
        Table("Passes, predicted and measured", CHECKS, checks),
        Table(f"{LARGE_ROWS:,} rows on {MACHINES} machines of {CORES} cores, links of 10 Gbit/s", LARGE, ahead),
    ]
    report.findings = summarise(models["hinge"], checks, ahead)
    return report
