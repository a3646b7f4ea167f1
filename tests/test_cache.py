"""The cache of kernel rows: within its bytes, the oldest out first, and right after every cut."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin.model.features.gram
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear, Precomputed
from maxmargin.model.row_cache import RowCache
from maxmargin.model.row_store import RowStore

N = 60
ROW = 8 * N / 2**20  # megabytes of one row


@pytest.fixture(autouse=True)
def _never_whole(monkeypatch):
    """No matrix is formed whole, so that every row goes through the cache."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", 0)


def make_gram(n: int = N) -> Gram:
    """A Gram matrix over random samples."""
    return Gram.from_data(RBF(gamma=0.3), np.random.default_rng(0).normal(size=(n, 3)))


def make_cache(rows: float) -> RowCache:
    """A cache granted the bytes of some rows."""
    return RowCache(make_gram(), rows * ROW)


def held(cache: RowCache) -> set[int]:
    """The samples whose rows are in the cache."""
    return set(np.flatnonzero(cache.slot >= 0).tolist())


def assert_sound(cache: RowCache) -> None:
    """Slots and holders point at each other, and every row held is the row of the kernel."""
    n = cache.features.n
    K = cache.features.kernel.evaluate(cache.features.samples, cache.features.samples)
    assert cache.rows.shape == (cache.capacity, n)
    assert len(cache.stamp) == len(cache.holder) == cache.capacity
    for i in held(cache):
        assert cache.holder[cache.slot[i]] == i
        np.testing.assert_allclose(cache.rows[cache.slot[i]], K[i], rtol=1e-12, atol=1e-14)
    assert sorted(cache.holder[cache.holder >= 0]) == sorted(held(cache))


@pytest.mark.parametrize("rows", [2, 2.9, 7, 31.5, 59])
def test_bytes_are_bounded(rows):
    """The buffer never exceeds what was granted, however many rows are asked for."""
    cache = make_cache(rows)
    assert cache.capacity == int(rows)
    for clock, i in enumerate(np.random.default_rng(1).permutation(N)):
        cache.fetch(np.array([i]), clock)
        assert cache.rows.nbytes <= rows * ROW * 2**20
        assert len(held(cache)) <= int(rows)
    assert_sound(cache)


def test_two_rows_at_least_and_never_more_than_there_are():
    """A pair needs two rows, and n rows are enough."""
    assert make_cache(0.01).capacity == 2
    assert make_cache(1e6).capacity == N


def test_small_matrices_are_held_whole(monkeypatch):
    """Up to FULL samples the matrix is formed once if it fits, and no row is ever missing."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", N)
    cache = make_cache(N)
    assert held(cache) == set(range(N))
    np.testing.assert_array_equal(cache.rows[cache.slot[7]], cache.features.whole[7])
    assert cache.features.counters["rows"] == N


@pytest.mark.parametrize("whole", [False, True])
def test_a_small_matrix_that_does_not_fit_is_not_formed(monkeypatch, whole):
    """One row less than all of them: rows are on demand, and no more bytes are held than were granted."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", N)
    cache = RowCache(make_gram(), (N - 1) * ROW, whole)
    assert cache.features.whole is None
    assert (cache.capacity, held(cache), cache.features.counters["rows"]) == (N - 1, set(), 0)
    cache.fetch(np.array([7, 3]), 0)
    assert (held(cache), cache.features.counters["rows"]) == ({3, 7}, 2)
    assert_sound(cache)


def test_a_matrix_that_is_there_is_held_whatever_was_granted(monkeypatch):
    """Rows of a matrix that was formed before are not evaluated again."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", N)
    gram = make_gram()
    gram.form()
    assert held(RowCache(gram, 2 * ROW)) == set(range(N))


def test_least_recently_used_goes_first():
    """A row that was used again outlives those fetched after it."""
    cache = make_cache(3)
    for clock, i in enumerate([10, 20, 30]):
        cache.fetch(np.array([i]), clock)
    cache.stamp[cache.slot[10]] = 5
    cache.fetch(np.array([40]), 6)
    assert held(cache) == {10, 30, 40}
    cache.fetch(np.array([50]), 7)
    assert held(cache) == {10, 40, 50}
    assert_sound(cache)


def test_order_over_a_long_trace():
    """The same rows are held as by a list kept in order of use."""
    cache, recent = make_cache(8), []
    for clock, i in enumerate(np.random.default_rng(2).integers(0, 25, 400)):
        i = int(i)
        assert (i in held(cache)) == (i in recent)
        if i in recent:
            recent.remove(i)
            cache.stamp[cache.slot[i]] = clock
        else:
            cache.fetch(np.array([i]), clock)
        recent = [*recent, i][-8:]
        assert held(cache) == set(recent)
    assert_sound(cache)


def test_fetching_several_rows_prefers_the_first():
    """Of a batch the row that was wanted is the youngest, and the guesses go before it."""
    cache = make_cache(4)
    cache.fetch(np.array([1, 2, 3]), 10)
    assert held(cache) == {1, 2, 3}
    assert cache.stamp[cache.slot[1]] > max(cache.stamp[cache.slot[2]], cache.stamp[cache.slot[3]])
    cache.fetch(np.array([4]), 11)
    cache.fetch(np.array([5, 6]), 12)
    assert held(cache) == {1, 4, 5, 6}
    assert_sound(cache)


def test_a_pair_never_evicts_its_first_row():
    """With room for two rows, fetching the second keeps the first."""
    cache = make_cache(2)
    for clock in range(50):
        first, second = np.random.default_rng(clock).permutation(N)[:2]
        for i in (first, second):
            if cache.slot[i] < 0:
                cache.fetch(np.array([i]), clock)
            cache.stamp[cache.slot[i]] = clock
        assert held(cache) == {first, second}
    assert_sound(cache)


def test_rows_are_counted():
    """Every row evaluated is counted, once."""
    cache = make_cache(5)
    cache.fetch(np.array([1, 2, 3]), 0)
    cache.fetch(np.array([9]), 1)
    assert cache.features.counters["rows"] == 4


@pytest.mark.parametrize("rows", [2, 5, 20, 60])
@pytest.mark.parametrize("width", [3, 10, 33, 59])
def test_narrow_keeps_the_right_rows(rows, width):
    """Cut to some columns, the rows of kept samples survive with their stamps, in the bytes there were."""
    cache = make_cache(rows)
    rng = np.random.default_rng(3)
    for clock, i in enumerate(rng.permutation(N)[:40]):
        cache.fetch(np.array([i]), clock)
    keep = np.sort(rng.permutation(N)[:width])
    before = {int(i): int(cache.stamp[cache.slot[i]]) for i in held(cache)}
    cache.restrict_to(keep)
    survivors = {place for place, i in enumerate(keep) if int(i) in before}
    assert held(cache) == survivors
    assert {int(keep[place]): int(cache.stamp[cache.slot[place]]) for place in survivors} == {
        i: stamp for i, stamp in before.items() if i in keep
    }
    assert cache.capacity == min(width, rows * N // width)
    assert cache.rows.nbytes <= rows * ROW * 2**20
    assert_sound(cache)


def test_narrow_twice_and_fetch():
    """A cut cache can be cut again and filled again."""
    cache = make_cache(6)
    for clock in range(6):
        cache.fetch(np.array([10 * clock]), clock)
    cache.restrict_to(np.arange(0, 60, 2))
    cache.fetch(np.array([1, 3]), 10)
    assert_sound(cache)
    cache.restrict_to(np.arange(0, 30, 3))
    assert_sound(cache)
    for clock in range(30):
        cache.fetch(np.array([clock % 10]), 20 + clock) if cache.slot[clock % 10] < 0 else None
    assert held(cache) == set(range(10))
    assert_sound(cache)


@pytest.mark.parametrize("width", [1, 2])
def test_narrow_to_almost_nothing(width):
    """One or two samples left."""
    cache = make_cache(4)
    cache.fetch(np.array([5, 6]), 0)
    cache.restrict_to(np.arange(5, 5 + width))
    for i in range(width):
        if cache.slot[i] < 0:
            cache.fetch(np.array([i]), 1)
    assert cache.capacity >= width
    K = cache.features.kernel.evaluate(cache.features.samples, cache.features.samples)
    np.testing.assert_allclose(cache.rows[cache.slot], K, rtol=1e-12)


def test_narrow_of_a_whole_matrix(monkeypatch):
    """A matrix held whole is cut, not evaluated again."""
    monkeypatch.setattr(maxmargin.model.features.gram, "MAX_FULL_GRAM_SAMPLES", N)
    cache = make_cache(N)
    gram, keep = cache.features, np.arange(3, 50, 5)
    whole = gram.whole.copy()
    cache.restrict_to(keep)
    np.testing.assert_array_equal(cache.rows[cache.slot], whole[np.ix_(keep, keep)])
    assert gram.counters["rows"] == N
    assert cache.features.counters["rows"] in (0, N)


def test_precomputed_rows():
    """Rows of a given matrix pass through the cache like any other."""
    K = np.random.default_rng(4).normal(size=(20, 20))
    cache = RowCache(Gram.from_data(Precomputed(), K), 3 * 8 * 20 / 2**20)
    for clock, i in enumerate([3, 19, 0, 3, 7]):
        if cache.slot[i] < 0:
            cache.fetch(np.array([i]), clock)
        np.testing.assert_array_equal(cache.rows[cache.slot[i]], K[i])
    cache.restrict_to(np.array([0, 3, 7, 8]))
    np.testing.assert_array_equal(cache.rows[cache.slot[2]], K[7, [0, 3, 7, 8]])


# ---- the store of block updates -----------------------------------------------------------------------------

STORE_KERNELS = (RBF(gamma=0.3), Linear())


def make_store(rows: float, kernel=None, exact: bool = False, offset: float = 0.0) -> RowStore:
    """A store granted the bytes of some rows of float64."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    return RowStore(Gram.from_data(kernel or RBF(gamma=0.3), X, offset), rows * ROW, exact)


def matrix_of(store: RowStore) -> np.ndarray:
    """The kernel matrix of the samples that are left."""
    features, samples = store.features, store.features.samples if store.half is None else store.half
    return features.kernel.evaluate(samples, samples).astype(float) + features.offset


def assert_store_sound(store: RowStore) -> None:
    """Slots and holders point at each other, and every row held is the row of the kernel to its precision."""
    accuracy = 1e-12 if store.rows.dtype == np.float64 else 1e-5
    K = matrix_of(store)
    for i in np.flatnonzero(store.slot >= 0):
        assert store.holder[store.slot[i]] == i
        np.testing.assert_allclose(store.row(i), K[i], rtol=accuracy, atol=accuracy)
    assert sorted(store.holder[store.holder >= 0]) == np.flatnonzero(store.slot >= 0).tolist()


@pytest.mark.parametrize("kernel", STORE_KERNELS, ids=["rbf", "linear"])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("rows", [1, 7, 60])
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_store_updates_scores(kernel, exact, rows, offset):
    """f += sum of steps times rows, whether the rows are held or not."""
    store = make_store(rows, kernel, exact, offset)
    rng = np.random.default_rng(5)
    f, expected, K = np.zeros(N), np.zeros(N), matrix_of(store)
    for size in (1, 5, 20, 0, 60):
        index, steps = rng.permutation(N)[:size], rng.normal(size=size)
        store.add(f, index, steps)
        expected += steps @ K[index]
        assert store.rows.nbytes <= max(rows, 1) * ROW * 2**20
        assert_store_sound(store)
    np.testing.assert_allclose(f, expected, rtol=0.0, atol=1e-10 if store.rows.dtype == np.float64 else 1e-4)


def test_store_in_half_precision_holds_twice_as_many():
    """float32 where the kernel allows it and exactness is not asked for; the data's copy is paid for."""
    store = make_store(10)
    assert store.rows.dtype == np.float32
    assert store.rows.nbytes + 2 * store.half.nbytes <= 10 * ROW * 2**20
    assert len(store.rows) == 20 - 2 * store.half.d
    assert make_store(10, exact=True).rows.dtype == np.float64
    assert len(make_store(10, exact=True).rows) == 10


def test_store_counts_hits_and_misses():
    """A row asked for again is a hit while it is held."""
    store = make_store(60)
    f = np.zeros(N)
    store.add(f, np.array([1, 2, 3]), np.ones(3))
    store.add(f, np.array([3, 4]), np.ones(2))
    assert (store.counters["hits"], store.counters["misses"]) == (1, 4)


def test_store_forgets_the_longest_unused():
    """New rows take the place of those that were not used for longest, never of those used in the same update."""
    store = make_store(4, exact=True)
    f = np.zeros(N)
    store.add(f, np.array([1, 2, 3, 4]), np.ones(4))
    store.add(f, np.array([1, 2]), np.ones(2))
    store.add(f, np.array([1, 8]), np.ones(2))
    held_now = set(np.flatnonzero(store.slot >= 0).tolist())
    assert {1, 2, 8} <= held_now
    assert len(held_now) == 4
    store.add(f, np.arange(10, 30), np.ones(20))
    assert_store_sound(store)


@pytest.mark.parametrize("exact", [False, True])
def test_store_squares(exact):
    """K[work, work] in the precision of the rows."""
    store, work = make_store(5, exact=exact, offset=1.0), np.array([4, 17, 59, 0])
    K = store.square(work)
    assert K.dtype == store.rows.dtype == (np.float64 if exact else np.float32)
    np.testing.assert_allclose(K, matrix_of(store)[np.ix_(work, work)], rtol=1e-12 if exact else 1e-5)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("rows", [3, 60])
@pytest.mark.parametrize("width", [2, 10, 59])
def test_store_narrows(exact, rows, width):
    """Cut to some columns, the rows of kept samples survive and updates go on."""
    store = make_store(rows, exact=exact)
    rng = np.random.default_rng(6)
    store.add(np.zeros(N), rng.permutation(N)[:40], np.ones(40))
    size = store.rows.nbytes
    before = set(np.flatnonzero(store.slot >= 0).tolist())
    keep = np.sort(rng.permutation(N)[:width])
    store.restrict_to(keep)
    assert set(keep[np.flatnonzero(store.slot >= 0)].tolist()) == before & set(keep.tolist())
    assert store.rows.nbytes <= size
    assert_store_sound(store)
    f, steps = np.zeros(width), rng.normal(size=width)
    store.add(f, np.arange(width), steps)
    np.testing.assert_allclose(f, steps @ matrix_of(store), atol=1e-10 if exact else 1e-4)
    assert_store_sound(store)


@pytest.mark.parametrize("rows", [3, 12, 60])
def test_store_cuts_rows_when_they_are_used(rows):
    """Rows that several cuts have passed by, some of them used in between, are still rows of the kernel."""
    store, rng = make_store(rows, exact=True), np.random.default_rng(7)
    store.add(np.zeros(N), rng.permutation(N), np.ones(N))
    for width in (50, 41, 30, 12, 5):
        store.restrict_to(np.sort(rng.permutation(store.n)[:width]))
        index, steps, f = rng.permutation(width)[: width // 2], rng.normal(size=width // 2), np.zeros(width)
        store.add(f, index, steps, rng.random(len(index)) < 0.7)
        np.testing.assert_allclose(f, steps @ matrix_of(store)[index], atol=1e-10)
    assert_store_sound(store)


def test_rows_move_together_before_memory_is_touched():
    """Shorter rows come into places that held longer ones; the memory that was touched once is enough."""
    store, rng = make_store(60, exact=True), np.random.default_rng(8)
    store.add(np.zeros(N), np.arange(20), np.ones(20))
    touched = store.touched
    store.restrict_to(np.arange(30))
    store.add(np.zeros(30), np.arange(20, 30), np.ones(10))
    assert store.touched == touched == 20 * N
    assert set(np.flatnonzero(store.slot >= 0)) == set(range(30))
    assert_store_sound(store)
    store.restrict_to(np.sort(rng.permutation(30)[:20]))
    assert_store_sound(store)


def test_memory_is_touched_where_it_pays(monkeypatch):
    """Rows that find no place in the first megabytes are evaluated again until that costs as much as more memory."""
    monkeypatch.setattr("maxmargin.model.row_store.START_MEGABYTES", 10 * ROW)
    store, f, index = make_store(60, exact=True), np.zeros(N), np.arange(40)
    touched = []
    for _ in range(60):
        store.add(f, index, np.ones(40))
        touched.append(store.touched // N)
    K = matrix_of(store)
    assert touched[0] == 10
    assert touched[1] < 40 == touched[-1]
    assert touched == sorted(touched)
    assert store.counters["misses"] > 40
    np.testing.assert_allclose(f, 60 * K[index].sum(axis=0), atol=1e-9)
    assert_store_sound(store)
