"""Transformers on data in blocks: fitted on a sample that does not depend on who draws it, and applied late."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from block_tasks import add_products, describe
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from maxmargin import LinearSVC
from maxmargin.blocks import ArrayBlocks
from maxmargin.blocks.mapped_blocks import MappedBlocks, sample_rows
from maxmargin.estimators.blockwise import BlockwiseTransformer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
Y = (np.square(X).sum(axis=1) > 2.3).astype(int)


def is_subset(rows: np.ndarray) -> bool:
    """Whether all rows are different rows of X."""
    return len({tuple(row) for row in rows} & {tuple(row) for row in X}) == len(rows)


@pytest.mark.parametrize("rows", [1000, 300, 7])
@pytest.mark.parametrize("n_rows", [1, 100, 999, 5000])
def test_samples_are_drawn_in_proportion(rows, n_rows):
    """As many rows as asked for, each block its share, no row twice, and their own labels beside them."""
    drawn = sample_rows(ArrayBlocks(X, Y, rows=rows), n_rows, 0)
    assert drawn.X.shape == (min(n_rows, 1000), 3)
    assert is_subset(drawn.X)
    assert np.array_equal(drawn.y, np.square(drawn.X).sum(axis=1) > 2.3)


def test_samples_depend_on_the_seed_and_on_nothing_else():
    """The same rows again, other rows for another seed, all rows if there are few."""
    draw = [sample_rows(ArrayBlocks(X, Y, rows=130), 50, seed).X for seed in (0, 0, 1)]
    assert np.array_equal(draw[0], draw[1])
    assert not np.array_equal(draw[0], draw[2])
    assert np.array_equal(sample_rows(ArrayBlocks(X, rows=130), 1000, 0).X, X)
    assert sample_rows(ArrayBlocks(sp.csr_array(X), rows=130), 50, 0).X.shape == (50, 3)
    with pytest.raises(ValueError, match="X has no rows in any block"):
        sample_rows(ArrayBlocks(X[:0]), 10, 0)


def test_mapped_blocks_are_mapped_where_they_are():
    """Sums over mapped blocks are those of mapped rows, and passes are counted by the source."""
    scaler = StandardScaler().fit(X)
    source = ArrayBlocks(X, Y, rows=130)
    mapped = MappedBlocks(source, scaler)
    expected = ArrayBlocks(scaler.transform(X), Y, rows=130)
    assert np.array_equal(mapped.run(add_products), expected.run(add_products))
    assert np.array_equal(mapped.load(2).X, expected.load(2).X)
    assert mapped.counters is source.counters
    assert mapped.counters["passes"] == 1
    assert (mapped.n_blocks, mapped.seconds > 0) == (8, True)


def test_empty_blocks_are_mapped_to_empty_blocks():
    """scikit-learn refuses arrays without rows; blocks may have none."""
    mapped = MappedBlocks(ArrayBlocks(X[:0], Y[:0]), RBFSampler(n_components=5, random_state=0).fit(X))
    assert mapped.load(0).X.shape == (0, 5)


def test_transformers_in_memory_are_what_they_are():
    """Arrays of no more than n_rows rows: the same as the transformer alone, dense and sparse."""
    for data in (X, sp.csr_array(X)):
        scaler = StandardScaler(with_mean=False)
        blockwise = BlockwiseTransformer(scaler).fit(data, Y)
        found, expected = blockwise.transform(data), clone(scaler).fit_transform(data)
        assert abs(found - expected).max() == 0
        assert (blockwise.n_rows_, blockwise.n_features_in_) == (1000, 3)
    assert not hasattr(scaler, "scale_")
    assert BlockwiseTransformer(scaler, n_rows=50).fit(X).n_rows_ == 50


def test_targets_go_to_the_transformer():
    """A transformer that needs y gets that of the sampled rows."""
    selector = BlockwiseTransformer(SelectKBest(k=2), n_rows=200)
    assert selector.fit(X, Y).transform(X).shape == (1000, 2)
    assert selector.fit(ArrayBlocks(X, Y, rows=130)).transform(ArrayBlocks(X, Y, rows=130)).load(0).X.shape == (130, 2)


def test_a_kernel_machine_on_blocks():
    """Nystroem in front of a linear machine: certified on blocks, and the same machine as in memory."""
    nystroem = Nystroem(gamma=0.5, n_components=40, random_state=0)
    blocks = ArrayBlocks(X, Y, rows=130)
    blockwise = BlockwiseTransformer(nystroem).fit(blocks)
    machine = LinearSVC(tol=1e-8).fit(blockwise.transform(blocks))
    reference = LinearSVC(tol=1e-8).fit(clone(nystroem).fit(X).transform(X), Y)
    assert machine.certificate_.relative_gap <= 1e-8
    assert np.allclose(machine.coef_, reference.coef_, atol=1e-4)
    assert machine.score(blockwise.transform(X), Y) > 0.95


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_pipelines_over_dask_collections(kind):
    """The whole pipeline is lazy, and equal to the one over blocks of the same rows."""
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    if kind == "array":
        data, labels = da.from_array(X, chunks=(130, 2)), da.from_array(Y, chunks=130)
    else:
        import pandas as pd

        frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(label=Y), npartitions=8)
        data, labels = frame[list("abc")], frame["label"]
    pipeline = make_pipeline(
        BlockwiseTransformer(StandardScaler(), n_rows=500),
        BlockwiseTransformer(Nystroem(gamma=0.5, n_components=40, random_state=0), n_rows=500),
        LinearSVC(tol=1e-6),
    )
    pipeline.fit(data, labels)
    mapped = pipeline[:-1].transform(data)
    assert mapped.shape[1] == 40
    assert pipeline.predict(data).compute().shape == (1000,)
    assert np.array_equal(pipeline.predict(data).compute(), pipeline.predict(X))
    assert (pipeline.predict(X) == Y).mean() > 0.95


def test_dask_and_blocks_draw_the_same_rows():
    """The sample is the same from any source with the same blocks."""
    da = pytest.importorskip("dask.array")
    blockwise = BlockwiseTransformer(StandardScaler(), n_rows=100)
    one = blockwise.fit(da.from_array(X, chunks=(130, 3))).transformer_.mean_
    other = blockwise.fit(ArrayBlocks(X, rows=130)).transformer_.mean_
    assert np.array_equal(one, other)


def test_maps_to_sparse_rows():
    """A transformer whose output is sparse gives CSR blocks."""
    da = pytest.importorskip("dask.array")
    from maxmargin.blocks.dask import DaskBlocks

    blockwise = BlockwiseTransformer(FunctionTransformer(sp.csr_matrix)).fit(X)
    assert MappedBlocks(ArrayBlocks(X, Y, rows=500), blockwise.transformer_).run(describe)[1][2] == "csr_array"
    mapped = blockwise.transform(da.from_array(X, chunks=(500, 3)))
    assert DaskBlocks(mapped, Y).run(describe)[0] == (0, 500, "csr_array", "float64", True, "i")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_rows": 0}, "The 'n_rows' parameter of BlockwiseTransformer must be"),
        ({"random_state": -1}, "The 'random_state' parameter of BlockwiseTransformer must be"),
        ({"transformer": 3}, "The 'transformer' parameter of BlockwiseTransformer must be"),
    ],
)
def test_parameters(options, sentence):
    """Refused at fit, in the words of scikit-learn."""
    with pytest.raises(ValueError, match=sentence):
        BlockwiseTransformer(**{"transformer": StandardScaler(), **options}).fit(X)
    with pytest.raises(ValueError, match="X must have two dimensions"):
        BlockwiseTransformer(StandardScaler()).fit(Y)
    with pytest.raises(NotFittedError):
        BlockwiseTransformer(StandardScaler()).transform(X)
