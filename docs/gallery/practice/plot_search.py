"""
Which C and which gamma?
========================

Both together, by a search over a grid. The valley of good pairs is long: a smaller gamma wants a larger C. All fits of
the search are certified, so a bad score is that of the machine, and not of a solver that gave up.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from maxmargin import SVC
from maxmargin.model_selection import GridSearchCV
from maxmargin.plots import plot_tuning

X, y = load_digits(return_X_y=True)
X, y = X[y < 6][:400], y[y < 6][:400]
grid = {"C": np.logspace(-2, 3, 11), "gamma": np.logspace(-5, -1, 9)}
search = GridSearchCV(SVC(), grid, cv=5).fit(X, y)

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
plot_tuning(search, ax=ax)
worst = search.cv_results_["worst_relative_gap"].max()
C, gamma = search.best_params_["C"], search.best_params_["gamma"]
print(f"C = {C:.3g} and gamma = {gamma:.3g}: {search.best_score_:.1%} right")
print(f"{5 * len(search.cv_results_['params'])} fits, none of them further than {worst:.0e} from its optimum")
