"""
Which C?
========

C is the price of a sample on the wrong side of its margin. A small C buys a wide margin, and many samples lie within
it; a large C buys a narrow one that follows single samples. Cross-validation says which of them predicts best.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC
from maxmargin.model_selection import GridSearchCV
from maxmargin.plots import plot_decision_boundary

wine = load_wine()
chosen = wine.target != 0
X = StandardScaler().fit_transform(wine.data[chosen][:, [0, 9]])  # alcohol and colour
y = wine.target[chosen] - 1

search = GridSearchCV(make_pipeline(SVC(gamma=0.5)), {"svc__C": [0.02, 1.0, 1000.0]}, cv=10).fit(X, y)
figure, panels = plt.subplots(1, 3, figsize=(10, 5.6), layout="constrained")
for panel, C, score in zip(panels, [0.02, 1.0, 1000.0], search.cv_results_["mean_test_score"], strict=True):
    model = SVC(C=C, gamma=0.5).fit(X, y)
    plot_decision_boundary(model, X, y, ax=panel)
    panel.set(title=f"C = {C:g}: {score:.1%} right", xlabel="alcohol", ylabel="colour")
    print(f"C = {C:g}: {len(model.support_)} support vectors, {score:.1%} of the held-out samples are right")
