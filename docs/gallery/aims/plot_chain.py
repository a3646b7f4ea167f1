"""
Does the neighbour help?
========================

Handwritten digits that count upwards, some of them spoiled by noise. A machine for single digits sees each image alone.
A chain also learns which digit follows which, and infers an illegible digit from its neighbours.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from maxmargin import ChainModel, LinearSVC, StructuredSVM

images, digits = load_digits(return_X_y=True)
rng = np.random.default_rng(0)


def write_sequences(rows, count):
    """Runs of eight digits that count upwards, one image in three spoiled."""
    X, y = [], []
    for start in rng.integers(0, 10, count):
        labels = (start + np.arange(8)) % 10
        shown = np.array([images[rng.choice(rows[digits[rows] == label])] for label in labels]) / 16.0
        spoiled = rng.uniform(size=8) < 1 / 3
        X.append(np.where(spoiled[:, None], rng.uniform(size=shown.shape), shown))
        y.append(labels)
    return X, y


X, y = write_sequences(np.arange(900), 60)
X_new, y_new = write_sequences(np.arange(900, len(digits)), 100)
alone = LinearSVC(C=0.1).fit(np.vstack(X), np.concatenate(y))
chain = StructuredSVM(ChainModel(), C=0.1).fit(X, y)
right = np.mean(alone.predict(np.vstack(X_new)) == np.concatenate(y_new))
print(f"one by one {right:.1%} right, as a chain {np.mean(np.array(chain.predict(X_new)) == y_new):.1%}")
print(chain.certificate_)

figure, panels = plt.subplots(2, 4, figsize=(8.4, 6), layout="constrained")
read, guessed = chain.predict(X_new[:1])[0], alone.predict(X_new[0])
for place, panel in enumerate(panels.ravel()):
    panel.imshow(X_new[0][place].reshape(8, 8), cmap="gray_r")
    panel.set_title(f"chain {read[place]}, alone {guessed[place]}", fontsize=14)
    panel.set_axis_off()
