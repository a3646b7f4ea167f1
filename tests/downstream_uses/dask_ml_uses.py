"""dask-ml: searches, incremental prediction and wrappers around SVC and SVR."""

import dask
import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

dask.config.set(scheduler="sync")
X, y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore")
def test_grid_search_of_svc():
    """The example of dask-ml's GridSearchCV, in a pipeline, whose parts are fitted as tasks of a graph."""
    from dask_ml.model_selection import GridSearchCV

    grid = {"svc__kernel": ["linear", "rbf"], "svc__C": [1, 10]}
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC(gamma="auto")), grid, cv=3, scheduler="sync").fit(X, y)
    assert search.best_score_ > 0.95
    assert len(search.cv_results_["params"]) == 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [SVC(), SVR()], ids=["SVC", "SVR"])
def test_parallel_post_fit(estimator):
    """Trained in memory, predicts in blocks."""
    from dask_ml.wrappers import ParallelPostFit

    model = ParallelPostFit(estimator).fit(X, y)
    blocks = da.from_array(X, chunks=(40, 4))
    np.testing.assert_allclose(model.predict(blocks).compute(), model.estimator.predict(X))
