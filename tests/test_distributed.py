"""Passes over Dask collections: the same bits on any number of workers, and what happens when some of them die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import block_tasks
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from block_tasks import DATA, TARGET
from clusters import scale
from selection import leave_long
from time_allowances import SLACK_SECONDS, OwnTimer

from maxmargin.blocks import ArrayBlocks
from maxmargin.runtime.interruptible import Interrupted, interruptible

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

from maxmargin.blocks.dask import ClusterLost, DaskBlocks, is_collection, predict_blocks  # noqa: E402
from maxmargin.blocks.dask.cluster import measure_pickle  # noqa: E402
from maxmargin.blocks.dask.recipes import HELD_RECIPE_BYTES  # noqa: E402

# a worker that is killed, or a cluster that is closed in the middle of a pass, leaves its sockets to the collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

ROWS = 150  # fourteen blocks: a tree of two levels


@pytest.fixture
def two_workers(cluster, client):
    """The client, with two workers at least."""
    if len(client.nthreads()) < 2:
        scale(cluster, client, 2)
    return client


def cut(rows: int = ROWS):
    """The data as dask arrays that are read block by block, where a block is needed."""
    chunks = da.core.normalize_chunks((rows, 6), DATA.shape)
    X = da.map_blocks(block_tasks.read_rows, "X", chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    return X, da.map_blocks(block_tasks.read_rows, "y", chunks=chunks[:1], dtype=float, meta=np.empty(0))


def stream(rows: int = ROWS) -> np.ndarray:
    """The sum without any cluster."""
    return ArrayBlocks(DATA, TARGET, rows=rows).run(block_tasks.add_products)


def list_pids(client) -> list[int]:
    """The processes of the workers."""
    return list(client.run(os.getpid).values())


# ---- the same sum everywhere ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", leave_long([2000, 1000, 250, 31], 250, 31))
def test_every_number_of_blocks(two_workers, rows):
    """1, 2, 8 and 65 blocks: sums of one part, of few, of eight, and of three levels."""
    blocks = DaskBlocks(*cut(rows), client=two_workers)
    assert blocks.n_blocks == -(-2000 // rows)
    assert np.array_equal(blocks.run(block_tasks.add_products), stream(rows))


@pytest.mark.slow
@pytest.mark.parametrize("rows", leave_long([200, 32, 31, 5], 31, 5))
def test_eight_blocks_a_task_add_up_to_the_same_bits(two_workers, rows, monkeypatch):
    """Where blocks are many, a task asks those that are added first: fewer tasks, the same sum."""
    X, y = cut(rows)
    wanted = DaskBlocks(X, y, client=two_workers).run(block_tasks.add_products)
    monkeypatch.setattr("maxmargin.blocks.dask.dask_blocks.MIN_TASKS_PER_THREAD", 0)
    blocks = DaskBlocks(X, y, client=two_workers)
    assert [len(group) for group in blocks._group()][:1] == [8]
    assert np.array_equal(blocks.run(block_tasks.add_products), wanted)
    assert np.array_equal(ArrayBlocks(DATA, TARGET, rows=rows).run(block_tasks.add_products), wanted)


def test_threads_of_this_process_are_workers_too():
    """A cluster without processes, found because it is the active one."""
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        blocks = DaskBlocks(*cut())
        assert blocks.client is client
        assert np.array_equal(blocks.run(block_tasks.add_products), stream())


def test_without_a_client_blocks_are_computed_here():
    """No cluster is started."""
    blocks = DaskBlocks(*cut())
    assert blocks.client is None
    assert blocks.client is None
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())
    assert blocks.counters == {"passes": 1}


@pytest.mark.slow
def test_persisted_data_know_their_client(two_workers):
    """The client that holds X is found though it is not the active one."""
    X = two_workers.persist(cut()[0])
    assert DaskBlocks(X).client is two_workers


def test_blocks_come_to_the_driver_when_they_are_asked_for(two_workers):
    """`load` brings one block."""
    block = DaskBlocks(*cut(), client=two_workers).load(3)
    assert np.array_equal(block.X, DATA[450:600])
    assert np.array_equal(block.y, TARGET[450:600])
    assert block.number == 3


@pytest.mark.slow
def test_a_source_of_files_is_read_by_the_workers(two_workers):
    """Any source that travels can be spread over workers."""
    source = ArrayBlocks(DATA, TARGET, rows=ROWS)
    for client in (two_workers, None):
        assert np.array_equal(DaskBlocks.spread(source, client).run(block_tasks.add_products), stream())


# ---- what arrives in a task -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.bool_, np.float16])
def test_numbers_arrive_as_floats(dtype):
    """float32 stays what it is; everything else is float64; C order always."""
    X = da.from_array(np.asfortranarray(DATA[:10].astype(dtype)), chunks=(4, 2))
    expected = "float32" if dtype == np.float32 else "float64"
    found = DaskBlocks(X).run(block_tasks.describe)
    assert found == [(k, n, "ndarray", expected, True, None) for k, n in enumerate((4, 4, 2))]


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.csc_array])
def test_sparse_blocks(form, two_workers):
    """Sparse blocks of any format arrive as CSR with sorted indices, columns in several chunks joined."""
    X = cut()[0].rechunk((ROWS, 3)).map_blocks(form, meta=form((0, 0)))
    blocks = DaskBlocks(X, cut()[1], client=two_workers)
    assert blocks.run(block_tasks.describe)[0] == (0, ROWS, "csr_array", "float64", True, "f")
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())


def test_indices_that_are_not_sorted_are_sorted_in_a_copy():
    """The persisted block stays as it was."""
    given = sp.csr_matrix((np.ones(2), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    X = da.from_array(np.zeros((1, 2)), chunks=1).map_blocks(lambda _: given, meta=given[:0])
    assert DaskBlocks(X).run(block_tasks.describe)[0][4] is True
    assert list(given.indices) == [1, 0]


def make_frame(partitions: int = 5):
    """A DataFrame with features of three types, labels and weights."""
    frame = pd.DataFrame(DATA[:100], columns=list("abcdef"))
    frame["b"] = frame["b"].round().astype("Int64")
    frame["c"] = frame["c"] > 0
    frame["label"] = np.where(TARGET[:100] > 0, "yes", "no")
    frame["weight"] = np.arange(100)
    return frame, dd.from_pandas(frame, npartitions=partitions)


@pytest.mark.slow
@pytest.mark.parametrize("persisted", leave_long([False, True], False))
def test_frames(two_workers, persisted):
    """Columns are features with names; labels are strings; weights are another column."""
    frame, collection = make_frame()
    collection = two_workers.persist(collection) if persisted else collection
    X = collection[list("abcdef")]
    blocks = DaskBlocks(X, collection["label"], collection["weight"], client=two_workers)
    assert blocks.feature_names == list("abcdef")
    assert (blocks.n, blocks.d, blocks.n_blocks) == (None, 6, 5)
    assert blocks.run(block_tasks.describe) == [(k, 20, "ndarray", "float64", True, "O") for k in range(5)]
    assert blocks.run(block_tasks.list_labels) == list(frame["label"])
    numeric = DaskBlocks(X, collection["a"], collection["weight"], client=two_workers)
    A = frame[list("abcdef")].to_numpy(float)
    expected = ArrayBlocks(A, A[:, 0], np.arange(100.0), rows=20).run(block_tasks.add_products)
    assert np.array_equal(numeric.run(block_tasks.add_products), expected)


def test_missing_values_are_nan():
    """<NA> of pandas arrives as NaN, for the survey of the fit to refuse."""
    frame = dd.from_pandas(pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}), npartitions=1)
    assert np.isnan(DaskBlocks(frame).load(0).X[1, 0])


@pytest.mark.slow
def test_unknown_sizes_and_empty_partitions(two_workers):
    """Rows chosen by a mask: sizes are nan, and some partitions have none."""
    X, y = cut()
    keep = (da.arange(2000, chunks=ROWS) < 400) | (da.arange(2000, chunks=ROWS) > 1700)
    blocks = DaskBlocks(X[keep], y[keep], client=two_workers)
    assert blocks.n is None
    counts = [rows for _, rows, *_ in blocks.run(block_tasks.describe)]
    assert counts[3:11] == [0] * 8
    assert sum(counts) == 400 + 299
    assert np.isfinite(blocks.run(block_tasks.add_products)).all()


@pytest.mark.slow
def test_targets_are_cut_like_the_samples(two_workers):
    """Other chunks, an array in memory, a list: y has the rows of X, block by block."""
    X, _ = cut()
    for y in (da.from_array(TARGET, chunks=333), TARGET, list(TARGET), pd.Series(TARGET)):
        for client in (two_workers, None):
            blocks = DaskBlocks(X, y, np.ones(2000), client=client)
            assert np.array_equal(blocks.run(block_tasks.add_products), stream())


def test_what_x_and_y_share_is_read_once(tmp_path):
    """X and y out of one array: its reader is called once a block."""
    calls = tmp_path / "calls"

    def read(block):
        with open(calls, "a") as file:
            file.write("x")
        return block

    whole = cut()[0].map_blocks(read, meta=np.empty((0, 0)))
    DaskBlocks(whole[:, :5], whole[:, 5]).run(block_tasks.add_products)
    assert len(calls.read_text()) == 14


# ---- sentences ------------------------------------------------------------------------------------------------------

REFUSED = {
    "an array": (lambda: (DATA,), "X must be a dask array or DataFrame, got numpy.ndarray"),
    "a series": (lambda: (make_frame()[1]["a"],), "X must be a dask array or DataFrame, got dask.*Series"),
    "one dimension": (lambda: (cut()[1],), "X must have two dimensions, got a dask array with 1"),
    "complex": (lambda: (cut()[0] * 1j,), "X must hold real numbers, got complex128"),
    "objects": (lambda: (cut()[0].astype(object),), "X must hold real numbers, got object"),
    "a column of strings": (lambda: (make_frame()[1],), "but its column 'label' is of type"),
    "columns unknown": (lambda: (cut()[0][:, da.ones(6, chunks=6) > 0],), "known number of columns, got nan"),
    "y of two dimensions": (lambda: cut()[:1] * 2, "y must have one dimension, got a dask.* with 2"),
    "y a frame": (lambda: (make_frame()[1][["a"]], make_frame()[1][["b"]]), "y must have one dimension"),
    "y a matrix": (lambda: (cut()[0], DATA), r"y must have one dimension, got an array of shape \(2000, 6\)"),
    "y complex": (lambda: (cut()[0], cut()[1] * 1j), "y must hold real numbers or labels, got complex128"),
    "y too short": (lambda: (cut()[0], cut()[1][:-1]), "X has 2000 samples, but y has 1999"),
    "y in memory too short": (lambda: (cut()[0], TARGET[:5]), "X has 2000 samples, but y has 5"),
    "y in memory, rows unknown": (lambda: (make_frame()[1][["a"]], TARGET), "y is an array in memory, and the rows"),
    "other partitions": (
        lambda: (make_frame()[1][["a"]], make_frame(4)[1]["a"]),
        "X has 5 and y has 4, and their sizes are not known",
    ),
    "weights of strings": (
        lambda: (make_frame()[1][["a"]], None, make_frame()[1]["label"]),
        "weight must hold real numbers, got",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_before_anything_is_computed(case):
    """One sentence that names the parameter and the value."""
    make, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        DaskBlocks(*make())


@pytest.mark.slow
def test_partitions_of_different_rows_are_refused_where_they_meet(two_workers):
    """Sizes that are not known before are compared by the worker that reads them."""
    X, y = cut()
    late = da.arange(2000, chunks=ROWS) != 777
    for client in (two_workers, None):
        blocks = DaskBlocks(X[da.arange(2000, chunks=ROWS) >= 0], y[late], client=client)
        with pytest.raises(ValueError, match="partition 5 of X has 150 and that of y has 149"):
            blocks.run(block_tasks.add_products)


@pytest.mark.parametrize("client", ["tcp://nowhere", 3])
def test_a_client_is_a_client(client):
    """Addresses are not clients."""
    with pytest.raises(ValueError, match=r"client must be a distributed.Client, got"):
        DaskBlocks(*cut(), client=client)


def test_collections_are_told_by_their_type():
    """Nothing of Dask is imported to know."""
    assert is_collection(cut()[0])
    assert is_collection(make_frame()[1])
    assert not any(map(is_collection, (DATA, None, [1], "dask", sp.csr_array(DATA))))


def test_import_is_light():
    """`import maxmargin.blocks.dask` loads neither Dask nor its cluster."""
    command = "import sys, maxmargin.blocks.dask; sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], check=False, timeout=60).returncode == 0


# ---- errors, interrupts, deaths -------------------------------------------------------------------------------------


def test_an_error_of_a_task_is_passed_on_once(two_workers):
    """No retries, and no other words."""
    blocks = DaskBlocks(*cut(), client=two_workers)
    with pytest.raises(ZeroDivisionError, match=r"^block 4 cannot be divided$"):
        blocks.run(block_tasks.refuse, 4)
    assert blocks.counters["passes"] == 0
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())


@pytest.mark.slow
def test_an_error_of_the_reader_is_passed_on(two_workers):
    """An OSError of the data is not taken for one of the cluster."""
    for client in (two_workers, None):
        with pytest.raises(OSError, match=r"^disk 7 is gone$"):
            DaskBlocks.spread(block_tasks.Failing(), client).run(block_tasks.add_products)


@pytest.mark.slow
@pytest.mark.parametrize("error", [TimeoutError, KeyError])
def test_errors_that_look_like_the_cluster_s(two_workers, error):
    """What a task raises is the task's, whatever its type."""
    X = cut()[0].map_blocks(lambda _: (_ for _ in ()).throw(error("of the data")), meta=np.empty((0, 0)))
    with pytest.raises(error, match="of the data"):
        DaskBlocks(X, client=two_workers).run(block_tasks.describe)


@pytest.mark.slow
def test_a_pass_listens(two_workers):
    """A pass that is asked to stop ends within half a second, and the next pass begins with an empty cluster."""
    blocks = DaskBlocks(*cut(), client=two_workers)
    watch = OwnTimer()
    with pytest.raises(Interrupted), interruptible(lambda: watch.seconds > 0.5):
        blocks.run(block_tasks.add_slowly, 0.4)
    assert watch.seconds < 1.0 + SLACK_SECONDS
    assert blocks.counters["passes"] == 0
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())


def kill_soon(client, seconds: float) -> threading.Timer:
    """SIGKILL for one worker, in a while."""
    victim = list_pids(client)[0]
    timer = threading.Timer(seconds, os.kill, (victim, signal.SIGKILL))
    timer.start()
    return timer


@pytest.mark.parametrize("persisted", leave_long([False, True], True))
def test_a_killed_worker_changes_nothing(two_workers, persisted):
    """Its blocks are asked again elsewhere, and persisted ones are computed again."""
    X, y = two_workers.persist(list(cut())) if persisted else cut()
    blocks = DaskBlocks(X, y, client=two_workers)
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())
    timer = kill_soon(two_workers, 0.3)
    assert np.array_equal(blocks.run(block_tasks.add_slowly, 0.1), stream())
    assert not timer.is_alive()
    assert blocks.counters["passes"] == 2
    two_workers.wait_for_workers(2, timeout=60)


def test_a_task_that_killed_its_worker_once(two_workers, tmp_path):
    """A death in the middle of a task is no error of the task, and data of the graph that it held come back."""
    blocks = DaskBlocks(da.from_array(DATA, chunks=(400, 6)), TARGET, client=two_workers)
    assert len(blocks.held) == 4
    assert np.array_equal(blocks.run(block_tasks.leave_once, str(tmp_path / "flag")), stream(400))
    two_workers.wait_for_workers(2, timeout=60)


@pytest.mark.slow
def test_no_worker_is_there():
    """A cluster without workers is waited for as long as patience says, and then one sentence ends it."""
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        blocks = DaskBlocks(*cut(), client=client, patience=0.5)
        with pytest.raises(ClusterLost, match=r"^The cluster was lost after 0 passes \(no worker for 0.5 seconds\); "):
            blocks.run(block_tasks.add_products)


@pytest.mark.slow
def test_a_closed_cluster_is_said_in_one_sentence():
    """The cluster is closed while a pass is under way."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        blocks = DaskBlocks(*cut(), client=client)
        blocks.run(block_tasks.add_products)
        threading.Timer(0.5, cluster.close).start()
        with pytest.raises(ClusterLost, match=r"^The cluster was lost after 1 passes .*checkpoint= a fit continues"):
            blocks.run(block_tasks.add_slowly, 0.3)
        with pytest.raises(ClusterLost, match="after 1 passes"):
            blocks.run(block_tasks.add_products)


@pytest.fixture
def mortal_scheduler(tmp_path):
    """A scheduler and a worker as processes of their own; the client gives up on them after a second."""
    address = str(tmp_path / "scheduler.json")
    module = [sys.executable, "-m", "distributed.cli"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": os.path.dirname(__file__)}
    start = [
        [*module[:2], "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", address],
        [*module[:2], "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard", "--no-nanny",
         "--scheduler-file", address, "--local-directory", str(tmp_path)],
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}
    processes = [subprocess.Popen(each, **quiet, env=environment) for each in start]
    try:
        with distributed.Client(scheduler_file=address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
            client._timeout = 1
            yield client, processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow
def test_a_killed_scheduler_is_said_in_one_sentence(mortal_scheduler):
    """SIGKILL for the scheduler: no farewell reaches the client."""
    client, scheduler = mortal_scheduler
    blocks = DaskBlocks(*cut(), client=client)
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())
    threading.Timer(0.5, scheduler.kill).start()
    with pytest.raises(ClusterLost, match=r"^The cluster was lost after 1 passes"):
        blocks.run(block_tasks.add_slowly, 0.2)


# ---- what travels, and what stays -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_bytes_are_counted(two_workers):
    """A question counts once for each worker that answered; answers count when they move."""
    blocks = DaskBlocks(*cut(), client=two_workers)
    w = np.ones(10_000)
    assert blocks.run(block_tasks.measure_arguments, w) == 2000 * 1e4
    out = blocks.counters["bytes_out"]
    assert any(80_000 * workers <= out <= 80_500 * workers for workers in (1, 2, 3))
    assert 0 < blocks.counters["bytes_in"] < 15 * 100
    assert blocks.counters["passes"] == 1
    assert blocks.seconds > 0


@pytest.mark.slow
def test_a_pass_leaves_nothing_behind(two_workers):
    """Neither blocks nor questions nor answers stay on the workers."""
    before = list_keys(two_workers)  # of blocks that a failed test may still hold
    blocks = DaskBlocks(*cut(), client=two_workers)
    for _ in range(3):
        blocks.run(block_tasks.add_products)
    deadline = time.perf_counter() + 60
    while list_keys(two_workers) - before and time.perf_counter() < deadline:
        time.sleep(0.05)
    assert not list_keys(two_workers) - before


def list_keys(client) -> set[str]:
    """What lies on the workers."""
    return {str(key) for key, place in client.who_has().items() if place}


@pytest.mark.slow
def test_a_block_is_read_and_asked_in_one_task(two_workers):
    """While a pass runs, no block lies on a worker beside those that are asked: only questions and answers do."""
    blocks, seen = DaskBlocks(*cut(), client=two_workers), set()
    thread = threading.Thread(target=blocks.run, args=(block_tasks.add_slowly, 0.1))
    thread.start()
    while thread.is_alive():
        seen |= list_keys(two_workers)
        time.sleep(0.02)
    assert any("add_slowly" in key for key in seen)
    assert not any("read_rows" in key for key in seen)


@pytest.mark.slow
@pytest.mark.parametrize("kind", leave_long(["array", "sparse", "frame", "target"], "frame"))
def test_data_within_the_graph_travel_once(two_workers, kind):
    """What `from_array` put into the graph is sent to the workers when the blocks are made, and held there."""
    values = np.tile(DATA, (30, 1))
    X, y = da.from_array(values, chunks=(10_000, 6)), np.ones(len(values))
    if kind == "sparse":
        X = X.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    if kind == "frame":
        X = dd.from_pandas(pd.DataFrame(values, columns=list("abcdef")).assign(y=1.0), npartitions=6)
        X, y = X[list("abcdef")], X["y"]
    if kind == "target":
        X = da.random.default_rng(0).random((60_000, 6), chunks=(10_000, 6))
    blocks = DaskBlocks(X, y, client=two_workers)
    assert sum(measure_pickle(recipe) for recipe in blocks.recipes) < 6 * HELD_RECIPE_BYTES
    assert measure_pickle(blocks.shared) < HELD_RECIPE_BYTES
    home = DaskBlocks(X, y)
    for _ in range(2):
        assert np.array_equal(blocks.run(block_tasks.add_products), home.run(block_tasks.add_products))


@pytest.mark.slow
def test_data_that_are_read_are_not_held(two_workers):
    """Only what the graph holds goes to the workers before a pass."""
    blocks = DaskBlocks(*cut(), client=two_workers)
    assert len(blocks.held) == 3
    assert not blocks.shared


@pytest.mark.slow
@pytest.mark.parametrize("kind", leave_long(["array of a function", "array of the graph"], "array of a function"))
def test_what_all_blocks_share_travels_once(two_workers, kind):
    """A large array that maps every block is held on the workers, not packed with each block."""
    W = np.ones((6, 10_000))
    X = cut()[0]
    if kind == "array of a function":
        X = X.map_blocks(partial(multiply, W), chunks=(X.chunks[0], (10_000,)), dtype=float, meta=np.empty((0, 0)))
    else:
        X = X @ da.from_array(W, chunks=W.shape)
    blocks = DaskBlocks(X, cut()[1], client=two_workers)
    assert sum(len(recipe.tasks) for recipe in blocks.recipes) < 100_000
    assert measure_pickle(blocks.shared) < 100_000
    for source in (blocks, DaskBlocks(X, cut()[1])):
        assert np.allclose(source.run(block_tasks.sum_columns), (DATA @ W).sum(axis=0))


def multiply(W: np.ndarray, X: np.ndarray) -> np.ndarray:
    """X W."""
    return X @ W


@pytest.mark.slow
def test_persisted_data_stay_as_long_as_the_blocks(two_workers):
    """The blocks hold the futures, though the caller let go of the collection."""
    blocks = DaskBlocks(two_workers.persist(cut()[0]), TARGET, client=two_workers)
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())
    assert np.array_equal(blocks.run(block_tasks.add_products), stream())


# ---- prediction -----------------------------------------------------------------------------------------------------


def sum_rows(X) -> np.ndarray:
    """A prediction."""
    assert X.shape[0] > 0
    return np.asarray(X.sum(axis=1)).ravel()


def take_two(X) -> np.ndarray:
    """A prediction of two columns."""
    return X[:, :2]


def test_predictions_are_lazy():
    """Chunks are known where those of X are."""
    X, _ = cut()
    one, two = predict_blocks(X, sum_rows, np.float64), predict_blocks(X.rechunk((99, 2)), take_two, np.float64, 2)
    assert one.chunks == X.chunks[:1]
    assert two.shape == (2000, 2)
    assert np.array_equal(one.compute(), DATA.sum(axis=1))
    assert np.array_equal(two.compute(), DATA[:, :2])


def test_predictions_of_frames_sparse_and_empty_blocks():
    """Rows that are chosen late, and partitions without rows."""
    frame, collection = make_frame()
    values = frame[list("adef")].to_numpy()
    assert np.array_equal(predict_blocks(collection[list("adef")], sum_rows, float).compute(), values.sum(axis=1))
    assert np.array_equal(predict_blocks(collection[list("adef")], take_two, float, 2).compute(), values[:, :2])
    X = cut()[0]
    few = X[da.arange(2000, chunks=ROWS) < 200]
    assert np.array_equal(predict_blocks(few, sum_rows, float).compute(), DATA[:200].sum(axis=1))
    sparse = X.map_blocks(sp.csr_array, meta=sp.csr_array((0, 0)))
    assert np.allclose(predict_blocks(sparse, sum_rows, float).compute(), DATA.sum(axis=1))


# ---- fewer and fewer workers: last, since it takes long to start them -------------------------------


@pytest.mark.slow
def test_the_bits_do_not_depend_on_the_workers(cluster, client):
    """Three, two and one worker, persisted and not, and streaming in this process give one sum."""
    for workers in (3, 2, 1):
        scale(cluster, client, workers)
        X, y = cut()
        for each in ((X, y), client.persist([X, y])):
            blocks = DaskBlocks(*each, client=client)
            assert len(blocks.client.nthreads()) == workers
            assert np.array_equal(blocks.run(block_tasks.add_products), stream())


@pytest.mark.slow
def test_the_only_worker_killed_comes_back(cluster, client):
    """There is no worker for a while, until the nanny has started another worker."""
    scale(cluster, client, 1)
    blocks = DaskBlocks(*client.persist(list(cut())), client=client)
    kill_soon(client, 0.3)
    assert np.array_equal(blocks.run(block_tasks.add_slowly, 0.05), stream())
