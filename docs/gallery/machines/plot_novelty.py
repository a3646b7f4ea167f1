"""
Which of these is not a seven?
==============================

``OneClassSVM`` sees sevens only. Afterwards it is shown all ten digits, and its score says how much each of them looks
like what it has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from maxmargin import OneClassSVM
from maxmargin.plots.canvas import LIGHT

digits = load_digits()
sevens = digits.data[digits.target == 7]
model = OneClassSVM(nu=0.05, gamma=1e-4).fit(sevens[:120])
others = [digits.data[digits.target == digit] for digit in range(10) if digit != 7]
scores = {"7": model.decision_function(sevens[120:])}
scores |= {str(k + (k >= 7)): model.decision_function(each) for k, each in enumerate(others)}

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
names = sorted(scores)
parts = ax.boxplot([scores[name] for name in names], tick_labels=names, patch_artist=True, whis=(0, 100))
for name, box, middle in zip(names, parts["boxes"], parts["medians"], strict=True):
    box.set(facecolor=LIGHT.colours[1] if name == "7" else LIGHT.colours[0], alpha=0.8)
    middle.set(color=LIGHT.ground, linewidth=2)
ax.axhline(0.0, color=LIGHT.ink, linestyle="--")
ax.set(xlabel="digit", ylabel="score: positive is a seven", title="Trained on 120 sevens and nothing else")
accepted = np.mean(scores["7"] > 0)
rejected = np.mean(np.concatenate([values for name, values in scores.items() if name != "7"]) < 0)
print(f"{accepted:.0%} of the new sevens are accepted, {rejected:.1%} of the other digits are rejected")
