# %% [markdown]
# # Sparse kernel machines and SMO
#
# This notebook follows Wu (2014), *Support Vector Machines*, in its own order: why machines should be sparse,
# regression, classification, the dual, and sequential minimal optimisation with its stopping rule, direction search,
# working set and kernel cache. The three homeworks are solved where they stand. [smo.md](../smo.md) is the reference
# for the solver; [errata.md](../errata.md) has the misprints. Labels are $y$ here ($r$ in the source).

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import minimize as scipy_minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import QP, SMO, SVC, SVR, GradientDescent, risk_bounds, solve, trace
from maxmargin.model.features import Gram
from maxmargin.model.kernels import RBF, Linear
from maxmargin.model.losses import Hinge
from maxmargin.model.problem import Point, Problem
from maxmargin.plots import (
    plot_decision_boundary,
    plot_kernel_time,
    plot_perceptron_collapse,
    plot_rates,
    plot_regression_tube,
    plot_support_counts,
    plot_working_sets,
)

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7.0, 3.6), "figure.constrained_layout.use": True})
rng = np.random.default_rng(0)

# %% [markdown]
# ## 1. Why sparse?
#
# A kernel machine is $f = \sum_t c_t\,k(x_t, \cdot)$ (plus $b$). To predict, it must store every sample with $c_t \ne
# 0$. Kernel ridge regression keeps all of them. A loss that is zero over a whole range makes most coefficients vanish:
# if a sample's loss does not change with its score, the regulariser alone decides, and sets $c_t = 0$.

# %%
x = np.sort(rng.uniform(0, 6, 60))
t = np.sin(x) + 0.1 * rng.normal(size=60)
ridge = KernelRidge(kernel="rbf", gamma=0.5, alpha=0.1).fit(x[:, None], t)
tube = SVR(gamma=0.5, C=5.0, epsilon=0.2, tol=1e-8).fit(x[:, None], t)
print("kernel ridge:", np.count_nonzero(ridge.dual_coef_), "of 60 coefficients;  SVR:", len(tube.support_))

# %% [markdown]
# The samples without a coefficient may as well not exist: trained on its support vectors alone, the machine is the
# same.

# %%
alone = SVR(gamma=0.5, C=5.0, epsilon=0.2, tol=1e-8).fit(x[tube.support_, None], t[tube.support_])
print("largest difference of predictions:", np.abs(alone.predict(x[:, None]) - tube.predict(x[:, None])).max())

# %% [markdown]
# ## 2. Support vector regression
#
# The $\epsilon$-insensitive loss ignores errors below $\epsilon$:
#
# $$\min_{w, b, \xi^\pm \ge 0} \sum_t (\xi_t^+ + \xi_t^-) + \lambda|w|^2, \qquad
# -\epsilon - \xi_t^- \le f(x_t) - y_t \le \epsilon + \xi_t^+ .$$
#
# The estimators write $\frac12|w|^2 + C\sum_t\dots$ instead; the two are the same for $C = 1/(2\lambda)$. Samples
# inside the tube have no coefficient, those on its walls and outside are the support vectors.

# %%
plot_regression_tube(tube, x[:, None], t)
plt.show()

# %% [markdown]
# **Representer theorem.** At the optimum each slack is as small as it can be, $\xi_t^+ = \max(0, f(x_t) - y_t -
# \epsilon)$, so the program is a regulariser plus a function of the scores, and $w$ is a combination of the
# $\Phi(x_t)$. What is left is a convex problem in $c$ and $b$, as large as the number of samples, whatever the
# dimension of $\Phi$:
#
# $$\min_{c, b} \sum_t \max(0, |K_{t\cdot}c + b - y_t| - \epsilon) + \lambda\,c^\top K c .$$
#
# `GradientDescent` works on exactly this problem. It and the dual solver prove the same value:

# %%
primal = SVR(gamma=0.5, C=5.0, epsilon=0.2, tol=1e-3, solver=GradientDescent("nesterov")).fit(x[:, None], t)
K = rbf_kernel(x[:, None], x[:, None], 0.5)
a = np.zeros(60)
a[tube.support_] = tube.dual_coef_[0]
f = K @ a + tube.intercept_[0]
by_hand = 0.5 * a @ K @ a + 5.0 * np.maximum(0, np.abs(f - t) - 0.2).sum()
dual_way, primal_way = tube.certificate_.primal, primal.certificate_.primal
print(f"by hand {by_hand:.6f}, by the dual {dual_way:.6f}, by the kernel primal {primal_way:.6f}")

# %% [markdown]
# ## 3. Support vector classification
#
# ### (1) The tube on labels is dense
#
# With labels $\pm1$ as targets, the tube asks $f$ to be near $+1$ or $-1$. A linear function passes through that value
# once; samples far beyond it lie outside the tube on the other side, and become support vectors although they are
# classified well. A polynomial does the same. (A Gaussian kernel can level off near $\pm1$, and then the tube costs
# nothing: the claim of the source that every kernel is dense goes too far.)

# %%
y = np.repeat([1.0, -1.0], 30)
X = rng.normal(size=(60, 2)) + 4 * y[:, None]
rows = []
for kernel, gamma in (("linear", 1.0), ("poly", 0.1), ("rbf", 0.5)):
    hinge = SVC(kernel=kernel, gamma=gamma, tol=1e-8).fit(X, y)
    labels = SVR(kernel=kernel, gamma=gamma, epsilon=0.1, tol=1e-8).fit(X, y)
    rows.append([kernel, len(labels.support_), len(hinge.support_)])
pd.DataFrame(rows, columns=["kernel", "support vectors of the tube", "of the hinge"])

# %%
labels = SVR(kernel="linear", epsilon=0.1, tol=1e-8).fit(X, y)
scores = labels.predict(X)
outside = np.isin(np.arange(60), labels.support_)
plt.axhspan(0.9, 1.1, color="tab:blue", alpha=0.15)
plt.axhspan(-1.1, -0.9, color="tab:blue", alpha=0.15, label="the tube around the labels")
plt.scatter(X.sum(axis=1)[~outside], scores[~outside], marker="x", color="black", label="no support vector")
plt.scatter(X.sum(axis=1)[outside], scores[outside], facecolors="none", edgecolors="tab:red", label="support vector")
plt.gca().set(xlabel="$x_1 + x_2$", ylabel="f")
plt.legend()
plt.show()

# %% [markdown]
# ### (2), (3) The perceptron's objective, and what is wrong with it
#
# The perceptron counts only errors: $y_t f(x_t) \ge -\xi_t$. Samples that are classified well have no slack at all.
# But with the regulariser, $w = 0$ has no loss and the least norm: the objective collapses. And without the
# regulariser, all hyperplanes that separate the classes are equally good.

# %%
features = Gram.from_data(Linear(), X)
for margin in (0.0, 1.0):
    problem = Problem(features, y, np.ones(60), Hinge(margin=margin), 0.0)
    collapsed, best = problem.primal(Point(np.zeros(60))), solve(problem, tol=1e-8)
    print(f"margin {margin:g}: P(w = 0) = {collapsed:g}, least P = {best.certificate.primal:.6f}")

# %%
direction = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
along = X @ direction / np.sum(direction**2) * 4  # the samples, seen along the line from class to class
plot_perceptron_collapse(along[:, None], y, [1.0], penalty=0.5)
plt.show()

# %% [markdown]
# ### (4) The margin settles both
#
# With $y_t f(x_t) \ge 1 - \xi_t$, a flat function pays for every sample, and the hyperplane moves to the middle: of all
# planes that separate, the machine has the one whose nearest samples are farthest away.

# %%
hard = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y)
w, b = hard.coef_[0], hard.intercept_[0]
tried, kept = 0, []
while len(kept) < 200:
    other, shift = w + 0.3 * np.linalg.norm(w) * rng.normal(size=2), b + 0.2 * rng.normal()
    distance = (y * (X @ other + shift)).min() / np.linalg.norm(other)
    tried += 1
    if distance > 0:
        kept.append(distance)
print(f"nearest sample of the machine: {hard.margin_width_[0] / 2:.4f}")
print(f"nearest sample of the best of 200 other separating planes: {max(kept):.4f}")

# %% [markdown]
# ### Large margins, and homework 1
#
# **Homework.** *The walls $f = 1$ and $f = -1$ are $2/|w|$ apart.* Take $x$ on the lower wall and go along the unit
# normal $w/|w|$ by $s$: $f$ grows by $s\,w^\top w/|w| = s|w|$. It has to grow by 2, so $s = 2/|w|$; and no other way
# from wall to wall is shorter, because by Cauchy and Schwarz $2 = w^\top(x' - x) \le |w||x' - x|$. As a check, the two
# nearest points of the walls by a general optimiser, and `margin_width_`:

# %%
overlap = rng.normal(size=(60, 2)) + 1.0 * y[:, None]
machine = SVC(kernel="linear", C=1.0, tol=1e-10).fit(overlap, y)
w, b = machine.coef_[0], machine.intercept_[0]
walls = [
    {"type": "eq", "fun": lambda z: z[:2] @ w + b - 1},
    {"type": "eq", "fun": lambda z: z[2:] @ w + b + 1},
]
nearest = scipy_minimize(lambda z: np.sum((z[:2] - z[2:]) ** 2), np.zeros(4), constraints=walls, tol=1e-14)
print(f"2/|w| = {2 / np.linalg.norm(w):.8f}, margin_width_ = {machine.margin_width_[0]:.8f}")
print(f"nearest points of the walls: {np.sqrt(nearest.fun):.8f} apart")

# %% [markdown]
# **Why 1?** Walls at $\pm a$ with the cost $aC$ give $(aw, ab)$: substitute $w = aw'$ and the whole objective is $a^2$
# times the old one. The hyperplane $f = 0$ stays where it is.

# %%
rows = []
for level in (0.1, 1.0, 25.0):
    scaled = solve(
        Problem(Gram.from_data(Linear(), overlap), y, np.full(60, level), Hinge(margin=level), 0.0), tol=1e-10
    )
    w_level = scaled.point.a @ overlap
    rows.append([level, *w_level, *(w_level / level), scaled.point.b / level])
pd.DataFrame(rows, columns=["a", "w1", "w2", "w1 / a", "w2 / a", "b / a"]).round(6)

# %% [markdown]
# ### The dual
#
# Multipliers $\alpha_t \ge 0$ for the walls and $\beta_t \ge 0$ for $\xi_t \ge 0$ give the Lagrangian; it is
# stationary in $w$, $b$ and $\xi$ where
#
# $$w = \sum_t \alpha_t y_t \Phi(x_t), \qquad \sum_t \alpha_t y_t = 0, \qquad \beta_t = C - \alpha_t ,$$
#
# and what is left is a quadratic function over a box and one equation,
#
# $$\max_\alpha\ \mathbf 1^\top\alpha - \tfrac12\alpha^\top\tilde K\alpha,
# \qquad 0 \le \alpha \le C,\quad y^\top\alpha = 0,
# \qquad \tilde K_{ij} = y_i y_j k(x_i, x_j) .$$
#
# The library keeps $a_t = y_t\alpha_t$ (`dual_coef_`). All three conditions, and both values:

# %%
a = np.zeros(60)
a[machine.support_] = machine.dual_coef_[0]
alpha, K = y * a, overlap @ overlap.T
print("w - sum alpha y x:", np.abs(machine.coef_[0] - a @ overlap).max(), "  sum alpha y:", a.sum())
print("box: 0 <=", alpha.min(), "and", alpha.max(), "<= C = 1")
slack = np.maximum(0, 1 - y * machine.decision_function(overlap))
print(f"primal {0.5 * w @ w + slack.sum():.10f}, dual {alpha.sum() - 0.5 * a @ K @ a:.10f}")

# %% [markdown]
# **Three kinds of samples.** Complementary slackness, $\alpha_t(1 - y_t f_t - \xi_t) = 0$ and $(C - \alpha_t)\xi_t =
# 0$, sorts them: $\alpha_t = 0$ beyond the margin, $0 < \alpha_t < C$ (*free*) exactly on it, $\alpha_t = C$
# (*bounded*) inside it or on the wrong side. As $C$ grows, slack becomes costlier, the margin shrinks, and bounded
# vectors become free or leave.

# %%
figure, panels = plt.subplots(1, 3, figsize=(14.5, 4.8))
rows = []
for panel, C in zip(panels, (0.02, 0.3, 30.0), strict=True):
    each = SVC(kernel="rbf", gamma=0.3, C=C, tol=1e-8).fit(overlap, y)
    plot_decision_boundary(each, overlap, y, ax=panel, resolution=150)
    panel.set_title(f"C = {C:g}")
    z = y * each.decision_function(overlap)
    none = np.setdiff1d(np.arange(60), each.support_)
    spans = [
        f"{z[part].min():.3f} to {z[part].max():.3f}" if len(part) else ""
        for part in (none, each.free_support_, each.bounded_support_)
    ]
    rows.append([C, len(none), len(each.free_support_), len(each.bounded_support_), *spans])
plt.show()
columns = ["C", "no SV", "free", "bounded", "y f of those that are none", "y f of the free", "y f of the bounded"]
pd.DataFrame(rows, columns=columns)

# %%
figure, ax = plt.subplots(figsize=(8.0, 3.8))
plot_support_counts([SVC(gamma=0.3, C=C, tol=1e-8).fit(overlap, y) for C in np.logspace(-2, 2, 13)], ax=ax)
plt.show()

# %% [markdown]
# **Solving for $b$.** Every free support vector lies on the margin, so each gives $b = y_t - w^\top\Phi(x_t)$; their
# average lessens rounding. Bounded ones must not be averaged:

# %%
each = y - overlap @ machine.coef_[0]
print("from each free vector:", each[machine.free_support_], "  intercept_:", machine.intercept_[0])
print("average over all support vectors (wrong):", each[machine.support_].mean())

# %% [markdown]
# ### Sequential minimal optimisation
#
# General quadratic programming packages want sparse matrices and give more digits than learning needs; kernel matrices
# are dense and may not fit in memory. SMO moves two coordinates at a time: one alone could not, because $y^\top\alpha
# = 0$. Write the box as $A_t \le y_t\alpha_t \le B_t$, and call $I_{up}$ the samples with $y_t\alpha_t < B_t$ and
# $I_{down}$ those with $A_t < y_t\alpha_t$.
#
# **Gradient** (the proof asked for). $D(\alpha) = \sum_t\alpha_t - \frac12\sum_{ij}y_i\alpha_i y_j\alpha_j K_{ij}$ has
# $g_t = 1 - y_t\sum_i y_i\alpha_i K_{ti}$: the diagonal term gives $\alpha_t K_{tt}$, and each product with $t$ occurs
# twice.
#
# **Optimality.** Moving $i \in I_{up}$ up and $j \in I_{down}$ down by $\epsilon$ changes $D$ by
# $\epsilon(y_ig_i - y_jg_j) + o(\epsilon)$. At the optimum no pair can gain, so
# $m = \max_{I_{up}} y_ig_i \le \rho \le M = \min_{I_{down}} y_jg_j$.
#
# **Sufficiency** (the second proof asked for). Let $w = \sum\alpha_ty_t\Phi(x_t)$, $b = \rho$, $\xi_t = \max(0, g_t -
# y_t\rho)$. Then $1 - y_tf_t = g_t - y_t\rho$, so the primal constraints hold. If $g_t > y_t\rho$ then $\alpha_t = C$
# (otherwise $t$ would be in $I_{up}$ above $\rho$, or in $I_{down}$ below it), and if $g_t < y_t\rho$ then $\alpha_t =
# 0$. Hence $C\xi_t = \alpha_t(g_t - y_t\rho)$ for every $t$, and $P - D = |w|^2 + \sum_t\alpha_t(g_t - y_t\rho) -
# \sum_t\alpha_t = |w|^2 - \sum_t \alpha_ty_tf_t + \rho\sum_t\alpha_ty_t - \rho\sum_t\alpha_ty_t = 0$, where $f$ is
# meant without $b$.
#
# **Direction search** (the third). Along $d$, $D(\alpha + \lambda d) = D + \lambda g^\top d -
# \frac12\lambda^2d^\top\tilde Kd$, a parabola with its top at $\lambda = g^\top d/d^\top\tilde Kd$. For a pair, $d_i =
# y_i$ and $d_j = -y_j$ keep $y^\top\alpha$, the top is at $(y_ig_i - y_jg_j)/(K_{ii} + K_{jj} - 2K_{ij})$, and the box
# cuts the step at $B_i - y_i\alpha_i$ and $y_j\alpha_j - A_j$.
#
# **Working set.** The pair of largest gain needs $n(n-1)$ direction searches. To first order the gain is $\lambda
# g^\top d$, and the best pair is simply the one that gives $m$ and $M$: the *maximal violating pair*, which the
# stopping rule finds anyway. Algorithm 6.2, line by line:


# %%
def run_smo(K: np.ndarray, y: np.ndarray, C: float, tol: float, max_steps: int = 100_000) -> pd.DataFrame:
    """Algorithm 6.2 of Wu (2014), with a tolerance in line 6: one row of the table for each step."""
    n = len(y)
    A, B = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    alpha, g, rows, states = np.zeros(n), np.ones(n), [], []  # lines 1 and 2
    for _ in range(max_steps):
        states.append(alpha.copy())
        up, down = y * alpha < B, y * alpha > A
        i = np.flatnonzero(up)[::-1][np.argmax((y * g)[up][::-1])]  # line 4, the last of equals
        j = np.flatnonzero(down)[::-1][np.argmin((y * g)[down][::-1])]  # line 5
        m, M = y[i] * g[i], y[j] * g[j]
        dual = alpha.sum() - 0.5 * (y * alpha) @ K @ (y * alpha)
        if m - M < tol:  # line 6
            rows.append([i, j, m, M, 0.0, "", dual, up.sum(), down.sum()])
            break
        best = (m - M) / (K[i, i] + K[j, j] - 2 * K[i, j])
        step = min(B[i] - y[i] * alpha[i], y[j] * alpha[j] - A[j], best)  # line 7
        rows.append([i, j, m, M, step, "clipped" if step < best else "free", dual, up.sum(), down.sum()])
        g -= step * y * (K[i] - K[j])  # line 8
        alpha[i] += y[i] * step  # line 9
        alpha[j] -= y[j] * step
    table = pd.DataFrame(rows, columns=["i", "j", "m", "M", "lambda", "step", "D", "in I_up", "in I_down"])
    table.attrs["alpha"] = states
    return table


steps = run_smo(K, y, C=1.0, tol=1e-3)
steps.head(8).round(4)

# %% [markdown]
# `SMO(selection="mvp", stop="kkt", shrinking=False, working_set=2)` is this algorithm, and `trace` prints its steps.
# After a step that is not clipped, both samples have the same rate; rounding decides which of them counts as the
# larger, and two programs may part there.

# %%
textbook = SMO(selection="mvp", stop="kkt", shrinking=False, working_set=2)
problem = Problem(Gram.from_data(Linear(), overlap), y, np.ones(60), Hinge(), 0.0)
traced = trace(problem, textbook, tol=1e-3)
pairs = zip(traced["i"][1:], traced["j"][1:], steps["i"], steps["j"], strict=False)
same = next((k for k, (i, j, u, v) in enumerate(pairs) if (i, j) != (u, v)), len(steps))
print(f"the first {same} pairs are the same; D at the end: {steps['D'].iloc[-1]:.6f} and {traced.dual[-1]:.6f}")
traced.to_frame()[["i", "j", "g_i", "g_j", "lambda", "clipped", "m", "M", "violation", "D"]].iloc[1:9].round(4)

# %%
figure, panels = plt.subplots(1, 2, figsize=(10.5, 3.8))
traced.plot(ax=panels[0])
panels[0].axhline(machine.intercept_[0], color="black", linestyle=":")
panels[0].set_title("m and M close on b, the dotted line")
panels[1].semilogy(np.maximum(machine.certificate_.primal - steps["D"], 1e-12), color="black")
panels[1].set(xlabel="step", title="D* - D")
plt.show()

# %% [markdown]
# Where $m$ and $M$ come from: the rates of all samples at the start, after twenty steps and at the end. At the optimum
# no upward triangle is above a downward one.

# %%
figure, panels = plt.subplots(1, 3, figsize=(13.5, 4.4))
for panel, k in zip(panels, (0, 20, len(traced) - 1), strict=True):
    plot_rates(problem, traced, k, ax=panel)
plt.show()

# %% [markdown]
# The true gain of a step is what counts. Here is the gain of the maximal violating pair as a share of the best that an
# exhaustive search over all pairs would find, beside the second-order choice of Fan, Chen and Lin (2005), which keeps
# $i$ and takes the partner of largest $(y_ig_i - y_jg_j)^2/(K_{ii} + K_{jj} - 2K_{ij})$. At some of the states of the
# run above:


# %%
def list_gains(K: np.ndarray, y: np.ndarray, alpha: np.ndarray, C: float) -> tuple[np.ndarray, np.ndarray]:
    """The gain of every pair (i, j) with its box, and g."""
    A, B = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    g = 1 - y * (K @ (y * alpha))
    slope = (y * g)[:, None] - (y * g)[None, :]
    curvature = np.maximum(np.diag(K)[:, None] + np.diag(K)[None, :] - 2 * K, 1e-12)
    room = np.minimum((B - y * alpha)[:, None], (y * alpha - A)[None, :])
    length = np.clip(np.minimum(room, slope / curvature), 0, None)
    return length * slope - 0.5 * length**2 * curvature, g


rows = []
for k in range(0, len(steps) - 1, max(1, (len(steps) - 1) // 8)):
    alpha = steps.attrs["alpha"][k]
    gains, g = list_gains(K, y, alpha, 1.0)
    i, j = int(steps["i"][k]), int(steps["j"][k])
    down = np.where(y > 0, 0.0, -1.0) < y * alpha
    slope = np.where(down, y[i] * g[i] - y * g, -np.inf)
    second = int(np.argmax(np.where(slope > 0, slope**2 / np.maximum(K[i, i] + np.diag(K) - 2 * K[i], 1e-12), -1)))
    rows.append([k, gains.max(), gains[i, j] / gains.max(), gains[i, second] / gains.max()])
pd.DataFrame(rows, columns=["step", "best gain", "maximal violating pair", "second order"]).round(4)

# %% [markdown]
# The same for every step of three selections, and how many steps each needs:

# %%
figure, ax = plt.subplots(figsize=(8.8, 4.6))
selections = ("second-order", "mvp", "keerthi")
plot_working_sets(problem, {each: trace(problem, SMO(selection=each), tol=1e-5) for each in selections}, ax=ax)
plt.show()

# %% [markdown]
# Over a whole run the better partner saves steps:

# %%
rows = []
for selection in ("mvp", "keerthi", "second-order"):
    result = solve(problem, SMO(selection=selection, working_set=2), tol=1e-6)
    rows.append([selection, result.n_iter, result.certificate.relative_gap])
pd.DataFrame(rows, columns=["selection", "steps", "certified relative gap"])

# %% [markdown]
# ### Homework 2: SMO beside a general solver
#
# **Homework.** *Compare the running time of SMO with that of CVX.* CVX hands such a program to an interior point
# method; `QP()` does the same with cvxopt. Both solve to the same certified gap. (The report, `make report`, measures
# more sizes, and CVXPY.) Seconds depend on the machine that made this page; what to look at is how they grow.


# %%
def draw_clouds(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping clouds in ten dimensions."""
    draw = np.random.default_rng(0)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return draw.normal(size=(n, 10)) + 0.4 * labels[:, None], labels


def pose(n: int, C: float = 1.0) -> Problem:
    """A Gaussian SVC on them."""
    points, labels = draw_clouds(n)
    return Problem(Gram.from_data(RBF("scale"), points), labels, np.full(n, C), Hinge(), 0.0)


solve(pose(40), SMO(), tol=1e-6)
rows = []
for n in (100, 200, 400, 800):
    smo, general = solve(pose(n), SMO(), tol=1e-6), solve(pose(n), QP(), tol=1e-6)
    gaps = [smo.certificate.relative_gap, general.certificate.relative_gap]
    rows.append([n, smo.seconds, general.seconds, general.seconds / smo.seconds, *gaps])
table = pd.DataFrame(rows, columns=["n", "SMO, seconds", "cvxopt, seconds", "ratio", "gap of SMO", "gap of cvxopt"])
exponents = [
    np.polyfit(np.log(table["n"]), np.log(table[column]), 1)[0] for column in ("SMO, seconds", "cvxopt, seconds")
]
print(f"seconds grow as n^{exponents[0]:.1f} for SMO and as n^{exponents[1]:.1f} for the interior point method")
table.round({"SMO, seconds": 4, "cvxopt, seconds": 4, "ratio": 0})

# %% [markdown]
# ### The cost of SMO, and homework 3: the kernel cache
#
# Line 8 costs most: it needs two whole rows of the kernel matrix. How much of the time goes into kernel values?
# Algorithm 6.2 again, evaluating the rows it needs, with and without a dictionary that remembers them:


# %%
def time_rows(n: int, cached: bool, d: int = 200, max_steps: int = 4000) -> list:
    """Seconds of kernel rows and of everything else in the first steps of algorithm 6.2."""
    draw = np.random.default_rng(0)
    labels = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    points = draw.normal(size=(n, d)) + 0.1 * labels[:, None]
    squares, scale = (points**2).sum(axis=1), 1.0 / (d * points.var())
    A, B, alpha, g = np.where(labels > 0, 0, -10.0), np.where(labels > 0, 10.0, 0), np.zeros(n), np.ones(n)
    kernel_seconds, evaluated, rows, steps, began = 0.0, 0, {}, 0, time.perf_counter()
    while steps < max_steps:
        rates = labels * g
        i = np.argmax(np.where(labels * alpha < B, rates, -np.inf))
        j = np.argmin(np.where(labels * alpha > A, rates, np.inf))
        if rates[i] - rates[j] < 1e-3:
            break
        for k in (i, j):
            if not cached or k not in rows:
                start = time.perf_counter()
                rows[k] = np.exp(-scale * (squares + squares[k] - 2 * points @ points[k]))
                kernel_seconds += time.perf_counter() - start
                evaluated += 1
        length = min(
            B[i] - labels[i] * alpha[i], labels[j] * alpha[j] - A[j], (rates[i] - rates[j]) / (2 - 2 * rows[i][j])
        )
        g -= length * labels * (rows[i] - rows[j])
        alpha[i] += labels[i] * length
        alpha[j] -= labels[j] * length
        steps += 1
    seconds = time.perf_counter() - began
    shares = [kernel_seconds, seconds - kernel_seconds, kernel_seconds / seconds]
    return ["with" if cached else "without", steps, evaluated, *shares]


rows = [time_rows(1500, cached) for cached in (False, True)]
columns = ["cache", "steps", "rows evaluated", "seconds of the kernel", "other seconds", "share of the kernel"]
pd.DataFrame(rows, columns=columns).round(4)

# %%
figure, ax = plt.subplots(figsize=(8.0, 2.8))
plot_kernel_time({f"{name} a cache": (kernel, kernel + other) for name, _, _, kernel, other, _ in rows}, ax=ax)
plt.show()

# %% [markdown]
# **Homework (bonus).** *How much is the speed-up?* The library's cache keeps the rows used last, in as many megabytes
# as it is given. The same fit with room for 1 %, 10 %, half and all of the matrix:

# %%
n = 2200
whole = 8 * n * n / 2**20  # megabytes of the matrix
rows = []
for share in (0.01, 0.1, 0.5, 1.0):
    solver = SMO(working_set=2, batch=1, shrinking=False, cache_size=share * whole)
    result = solve(pose(n, C=10.0), solver, tol=1e-2)
    asked = result.counters["hits"] + result.counters["misses"]
    rows.append(
        [f"{share:.0%}", result.n_iter, result.counters["rows"], result.counters["hits"] / asked, result.seconds]
    )
table = pd.DataFrame(rows, columns=["cache", "steps", "rows evaluated", "hit rate", "seconds"])
table["speed-up"] = table["seconds"][0] / table["seconds"]
table.round(3)

# %% [markdown]
# The steps are the same whatever the cache holds; the rows evaluated are not. Only rows of samples that ever move are
# needed, so a cache of the size of the support vectors is as good as one of the whole matrix.
#
# ## 4. Structural risk minimisation
#
# The source announces this section and leaves it empty. The library bounds the risk of a fitted machine instead, from
# its slacks and duals ([risk.md](../risk.md)):

# %%
risk_bounds(machine, overlap, y)
