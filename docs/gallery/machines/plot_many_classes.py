"""
Which digits are mistaken for which?
====================================

Ten classes make 45 machines, one for each pair, and the vote of all of them decides. The table shows the errors on
digits that were not used in the fit; the title says how far from optimal the worst of the 45 machines is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

from maxmargin import SVC
from maxmargin.plots.canvas import LIGHT, blend

X, y = load_digits(return_X_y=True)
X, X_new, y, y_new = train_test_split(X / 16.0, y, test_size=0.5, random_state=0)
model = SVC(kernel="linear", C=0.1).fit(X, y)
counts = confusion_matrix(y_new, model.predict(X_new))
errors = counts - np.diag(np.diag(counts))

figure, ax = plt.subplots(figsize=(7, 5.4), layout="constrained")
shown = ax.imshow(errors, cmap=blend(LIGHT.ground, LIGHT.colours[0]))
for row, column in np.argwhere(errors > 0):
    dark = errors[row, column] > 0.6 * errors.max()
    ax.text(column, row, errors[row, column], ha="center", va="center", color=LIGHT.ground if dark else LIGHT.ink)
ax.set(xticks=range(10), yticks=range(10), xlabel="predicted", ylabel="digit")
ax.set_title(f"{errors.sum()} errors of {len(y_new)}; worst relative gap {model.certificate_.relative_gap:.0e}")
figure.colorbar(shown, ax=ax, label="errors")
print(f"{len(model.certificates_)} machines, each with its certificate: {model.certificate_}")
