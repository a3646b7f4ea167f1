"""Data on a cluster: Dask arrays and DataFrames as blocks. No other folder imports Dask, and this one only in use."""

from .cluster import ClusterLost
from .collections import is_collection
from .dask_blocks import DaskBlocks
from .prediction import predict_blocks

__all__ = ["ClusterLost", "DaskBlocks", "is_collection", "predict_blocks"]
