"""
Which digits could it be?
=========================

A single label hides doubt. ``ConformalClassifier`` returns all labels that fit the image: the set holds the right one
with the coverage that was asked for, whatever the machine. Clear images get one label, and doubtful ones several.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from maxmargin import SVC, ConformalClassifier

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, train_size=300, random_state=0)
model = ConformalClassifier(SVC(), method="cv+").fit(X, y)
sets = model.predict_set(X_new, coverage=0.98)
sizes = sets.sum(axis=1)

figure, panels = plt.subplots(2, 4, figsize=(8.4, 5.4), layout="constrained")
doubtful = np.argsort(-sizes, kind="stable")[:4]
for panel, row in zip(panels.ravel(), [*np.flatnonzero(sizes == 1)[:4], *doubtful], strict=True):
    panel.imshow(X_new[row].reshape(8, 8), cmap="gray_r")
    panel.set_title("{" + ", ".join(map(str, model.classes_[sets[row]])) + "}")
    panel.set_axis_off()
covered = sets[np.arange(len(y_new)), np.searchsorted(model.classes_, y_new)]
print(f"{covered.mean():.1%} of the sets hold the right digit; they have {sizes.mean():.2f} digits in the mean")
