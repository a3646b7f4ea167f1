"""
Which words decide?
===================

A linear machine gives each word a weight, and the sign says for which class it speaks. Here are sentences about two
subjects, made of words that they share and of words that they do not.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from maxmargin import LinearSVC
from maxmargin.plots.canvas import LIGHT

WORDS = {
    "cooking": ["oven", "flour", "butter", "simmer", "recipe", "garlic", "pan", "dough", "whisk", "salt"],
    "sailing": ["anchor", "harbour", "wind", "mast", "rudder", "tide", "hull", "knot", "deck", "salt"],
}
SHARED = ["the", "a", "of", "with", "in", "morning", "water", "hand", "slowly", "again", "good", "new"]
rng = np.random.default_rng(0)
texts, subjects = [], []
for subject, words in WORDS.items():
    for _ in range(200):
        texts.append(" ".join([*rng.choice(words, 3), *rng.choice(SHARED, 6)]))
        subjects.append(subject)

vectorizer = TfidfVectorizer()
X = vectorizer.fit_transform(texts)
model = LinearSVC().fit(X, subjects)
order = np.argsort(model.coef_[0])
shown = np.concatenate([order[:8], order[-8:]])
weights, names = model.coef_[0][shown], vectorizer.get_feature_names_out()[shown]

figure, ax = plt.subplots(figsize=(7, 4.9), layout="constrained")
ax.barh(names, weights, color=[LIGHT.colours[int(weight > 0)] for weight in weights])
ax.axvline(0.0, color=LIGHT.ink, linewidth=0.8)
ax.set(xlabel="weight", title=f"{model.classes_[0]} to the left, {model.classes_[1]} to the right")
spread = np.abs(model.coef_[0][vectorizer.vocabulary_["salt"]])
print(f"{X.shape[0]} sentences of {X.shape[1]} words; 'salt', which both use, weighs {spread:.2f}")
