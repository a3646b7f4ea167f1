"""What kind of problem it is, and which kinds a solver takes.

A problem says it once, as `Traits`. A solver says it once, as `Takes`. Whether the two suit each other, and the
sentence if they do not, follow from both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FORM_PHRASES = {"memory": "data in memory", "blocks": "data in blocks", "structures": "structured outputs"}
STRUCTURE_PHRASES = {
    "hinge": "the hinge",
    "least_squares": "least squares",
    "softmax": "softmax",
    "simplex": "the multiclass hinge whose errors all cost the same",
    "quadratic": "multivariate least squares",
}
CLASS_SOLVERS = {"softmax": "class_newton", "simplex": "class_coordinate", "quadratic": "vector_ridge"}


@dataclass(frozen=True)
class Traits:
    """What kind of problem it is.

    Attributes
    ----------
    form : {"memory", "blocks", "structures"}
        Where the data live: an array, blocks of rows, or samples with structured outputs.
    linear : bool
        Whether w itself is held, in the space of the features; else w is a sum of phi(x_i), and there is a kernel.
    linear_kernel : bool
        Whether that kernel is linear, so that the problem could be posed for w itself.
    kernel_rows, kernel_matrix : bool
        Whether rows of the kernel matrix can be had, and whether all of it fits into memory.
    n_scores : int
        Scores per sample: 1, or one for each class or target.
    vector : bool
        Whether the scores of a sample are a vector, one for each class or target, even if there is only one of them.
    layers : int
        Rows of y, c and a over the same samples: 2 for the nu machines, which have two free intercepts.
    signed : bool
        Whether samples come with signs, as those of the nu machines without a free intercept.
    joint : bool
        Whether the loss is one of the whole list of scores; else it is a sum over samples.
    piecewise : bool
        Whether the loss is piecewise linear or quadratic, and thus given by the five numbers of its conjugate.
    kinked, exponential : bool
        Whether the loss has a kink, and whether it grows like an exponential.
    loss, structure, target : str
        `name`, `structure` and `target` of the loss.
    penalty : {"l2", "l1"}
        1/2 |w|^2 or |w|_1.
    free_intercept : bool
        Whether the intercept is free: then the duals must balance.
    sparse : bool
        Whether the samples of a linear machine are sparse.
    n, d : int
        Samples, and features of a linear machine; d is 0 where there is a kernel.
    """

    form: Literal["memory", "blocks", "structures"] = "memory"
    linear: bool = True
    linear_kernel: bool = False
    kernel_rows: bool = False
    kernel_matrix: bool = False
    n_scores: int = 1
    vector: bool = False
    layers: int = 1
    signed: bool = False
    joint: bool = False
    piecewise: bool = False
    kinked: bool = False
    exponential: bool = False
    loss: str = ""
    structure: str = ""
    target: str = ""
    penalty: str = "l2"
    free_intercept: bool = False
    sparse: bool = False
    n: int = 0
    d: int = 0


@dataclass(frozen=True)
class Takes:
    """Which kinds of problems a solver takes.

    Attributes
    ----------
    subject : str
        How its refusals begin: "Newton's method", say; the name of its class by default.
    scores : {"one", "many", "any"}
        Scores per sample.
    features : {"any", "linear", "kernel rows"}
        Whether it works on w itself, or needs rows of the kernel matrix.
    penalty : {"l2", "l1"}
    layers : {"one", "free", "any"}
        One layer, several if each has a free intercept, or any number.
    signed : bool
        Whether it takes features with signs.
    loss : {"any", "smooth", "piecewise"}
    structure : str
        `Loss.structure` of the only loss it is made for, such as "least_squares"; "" if it is made for all of them.
    joint : bool
        Whether it takes losses of the whole list of scores.
    free_intercept : bool
        Whether it takes a free intercept.
    """

    subject: str = ""
    scores: Literal["one", "many", "any"] = "one"
    features: Literal["any", "linear", "kernel rows"] = "any"
    penalty: Literal["l2", "l1"] = "l2"
    layers: Literal["one", "free", "any"] = "one"
    signed: bool = True
    loss: Literal["any", "smooth", "piecewise"] = "any"
    structure: str = ""
    joint: bool = False
    free_intercept: bool = True

    def refuse(self, traits: Traits) -> str | None:
        """None if such problems are taken, else what follows the subject: why not, and which solver takes them."""
        return self.refuse_features(traits) or self.refuse_loss(traits)

    def refuse_features(self, traits: Traits) -> str | None:
        """What the solver has against the scores, the features, the penalty or the layers."""
        if traits.joint and not self.joint:
            return f"takes losses that split over samples, and {traits.loss!r} does not{remedy(traits)}"
        if self.scores == "one" and traits.vector:
            held = traits.n_scores if traits.n_scores > 1 else "a vector of them"
            return f"takes one score per sample, and this problem has {held}{remedy(traits)}"
        if self.scores == "many" and not traits.vector:
            return f"takes several scores per sample, and this problem has one{remedy(traits)}"
        if self.features == "linear" and not traits.linear:
            return f"works on linear machines, and these features have a kernel{remedy(traits)}"
        if self.features == "kernel rows" and not traits.kernel_rows:
            return "needs kernel rows, and these features have none"
        if self.penalty == "l2" and traits.penalty != "l2":
            kink = f"; |w|_1 needs a smooth loss, and {traits.loss!r} has a kink" if traits.kinked else remedy(traits)
            return f"needs the penalty |w|^2 / 2, and these features have |w|_1{kink}"
        if self.penalty == "l1" and traits.penalty != "l1":
            return f"is for the penalty |w|_1, and these features have another{remedy(traits)}"
        if not self.signed and (traits.signed or traits.layers > 1):
            return f"does not take the problems of the nu machines{remedy(traits)}"
        if self.layers == "one" and traits.layers > 1:
            return f"does not take a problem in layers{remedy(traits)}"
        if self.layers == "free" and traits.layers > 1 and not traits.free_intercept:
            return "needs a free intercept for a problem in layers"
        return None

    def refuse_loss(self, traits: Traits) -> str | None:
        """What the solver has against the loss or the intercept."""
        if self.loss == "piecewise" and not traits.piecewise:
            return f"needs a piecewise linear or quadratic loss, and {traits.loss!r} is neither{remedy(traits)}"
        if self.loss == "smooth" and traits.kinked:
            return f"needs a smooth loss, and {traits.loss!r} has a kink{remedy(traits)}"
        if self.structure and traits.structure != self.structure:
            any_loss = traits.linear and traits.penalty == "l2" and not traits.vector
            able = "; use 'bundle'" if any_loss else remedy(traits)
            return f"is for {phrase_structure(self.structure)}, not for {traits.loss!r}{able}"
        if traits.free_intercept and not self.free_intercept:
            return "has no free intercept; make it regularised or none, or use 'bundle'"
        return None


def phrase_structure(structure: str) -> str:
    """A structure of losses in words; one of a loss of one's own by its name."""
    return STRUCTURE_PHRASES.get(structure, repr(structure))


def refuse_form(forms: tuple[str, ...], traits: Traits) -> str | None:
    """None if data of this form are taken, else what follows the subject."""
    if traits.form in forms:
        return None
    wanted = " or ".join(FORM_PHRASES[form] for form in forms)
    found = FORM_PHRASES[traits.form] if "memory" in forms or traits.form != "memory" else "scores of samples"
    return f"is for {wanted}, and this problem has {found}{remedy(traits)}"


def remedy(traits: Traits) -> str:
    """ "; use 'x'", where a solver takes such problems; else nothing."""
    able = suggest_solver(traits)
    return "" if able is None else f"; use {able!r}"


def suggest_solver(traits: Traits) -> str | None:
    """The name of a solver that takes problems of this kind, whatever their size; None if there is none."""
    if traits.form == "structures":
        return "frank_wolfe"
    if traits.joint:
        return "bundle" if traits.linear and traits.penalty == "l2" else None
    if traits.vector:
        return "bundle" if traits.form == "blocks" else CLASS_SOLVERS.get(traits.structure, "bundle")
    if traits.penalty == "l1":
        return None if traits.kinked or traits.layers > 1 else "proximal_newton"
    if traits.layers > 1:
        return "smo" if traits.free_intercept and traits.piecewise else None
    if not traits.linear and not traits.piecewise:
        return None if traits.signed else "gradient_descent"
    if not traits.linear:
        return "smo"
    if traits.kinked:
        return "multipliers" if traits.piecewise else "bundle"
    return "newton"
