# %% [markdown]
# # Cutting planes and bundle methods for SVMs
#
# This notebook follows Schmidt-Thieme (n.d.), *Learning SVMs / Bundle Methods*, sections 6 to 8, in its own order. Each
# formula stands beside the call that computes it. [errata.md](../errata.md) lists the misprints;
# [bundle.md](../bundle.md) is the reference for the solvers.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import linprog
from scipy.optimize import minimize as scipy_minimize

from maxmargin import Bundle, LinearSVC, RiskClassifier, minimize, solve, trace
from maxmargin.model.features import Design
from maxmargin.model.losses import LOSSES, Hinge, MulticlassHinge, Multivariate, Softmax
from maxmargin.model.problem import Problem
from maxmargin.model.samples import wrap
from maxmargin.plots import plot_bundle_steps, plot_derivatives, plot_losses
from maxmargin.solvers import OneSlack
from maxmargin.solvers.bundle.cuts import Cuts
from maxmargin.solvers.bundle.model import Model

plt.rcParams.update({"figure.dpi": 80, "figure.figsize": (7.0, 3.6), "figure.constrained_layout.use": True})
rng = np.random.default_rng(0)

# %% [markdown]
# ## 6. The cutting plane algorithm
#
# ### Structural SVM
#
# The linear machine has one slack for each sample, $\min_\beta \frac12|\beta|^2 + \gamma \sum_i \xi_i$ with
# $y_i\beta^\top x_i \ge 1 - \xi_i$. The structural form has a single slack, and one constraint for each subset of the
# samples, $c \in \{0, 1\}^n$:
#
# $$\min_{\beta, \xi \ge 0} \tfrac12|\beta|^2 + \gamma n \xi \quad\text{with}\quad
# \frac1n\sum_i c_i y_i \beta^\top x_i \ge \frac{|c|_1}{n} - \xi \quad\text{for all } c .$$
#
# With $q_c = \frac1n\sum_i c_i y_i x_i$, a constraint reads $q_c^\top\beta \ge |c|_1/n - \xi$. Eight samples have 256
# of them, few enough to write down.

# %%
n, gamma = 8, 0.6
y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
X = rng.normal(size=(n, 2)) + 0.5 * y[:, None]
subsets = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
q, size = subsets @ (y[:, None] * X) / n, subsets.sum(axis=1) / n
q.shape

# %% [markdown]
# **Lemma: both programs are equivalent.** The largest violation over all $2^n$ constraints is the mean hinge loss, and
# the subset that attains it is the set of samples with a loss, $c_i = [y_i\beta^\top x_i < 1]$. So the single slack is
# the mean of the $n$ slacks, at every $\beta$:

# %%
for beta in rng.normal(size=(3, 2)):
    slack = np.maximum(0, 1 - y * (X @ beta))
    worst = np.argmax(size - q @ beta)
    print(f"largest violation {(size - q @ beta).max():.12f}, mean slack {slack.mean():.12f}, c =", *subsets[worst])

# %% [markdown]
# **Lemma: the dual.** There is one multiplier for each constraint, and $\beta = \sum_c \alpha_c q_c$:
#
# $$\max_{\alpha \ge 0}\; -\tfrac12\sum_{c,d}\alpha_c\alpha_d\, q_c^\top q_d + \sum_c \frac{|c|_1}{n}\alpha_c
# \quad\text{with}\quad \sum_c\alpha_c \le \gamma n .$$
#
# (The source prints no $\frac12$, and $\gamma$ for $\gamma n$; with either slip the optimum is another.) `OneSlack` is
# the algorithm built on it. Its optimum is that of `LinearSVC`:

# %%
problem = Problem(Design(wrap(X)), y, np.full(n, gamma), Hinge(), None)
one_slack = solve(problem, OneSlack(), tol=1e-10)
machine = LinearSVC(C=gamma, loss="hinge", intercept="none", tol=1e-10).fit(X, (y > 0).astype(int))
print("one slack ", one_slack.certificate.primal, one_slack.certificate.dual)
print("n slacks  ", machine.certificate_.primal, machine.certificate_.dual)

# %% [markdown]
# ### The algorithm of Joachims (2006)
#
# The program never writes $2^n$ constraints down. It starts with the subset of all ones: at $\beta = 0$ every sample
# has a loss. Each round solves the small dual over the constraints found so far, adds the subset of the samples that
# now have a loss, and stops when that constraint is violated by at most $\epsilon$ more than the current slack. Here
# is one run, written out with SciPy for the small dual.


# %%
def solve_small(q: np.ndarray, size: np.ndarray, total: float) -> np.ndarray:
    """alpha of the small dual: alpha >= 0 and sum alpha <= total."""
    room = {"type": "ineq", "fun": lambda a: total - a.sum(), "jac": lambda a: -np.ones(len(a))}
    found = scipy_minimize(
        lambda a: 0.5 * np.sum((a @ q) ** 2) - size @ a, np.zeros(len(q)), jac=lambda a: q @ (q.T @ a) - size,
        bounds=[(0, None)] * len(q), constraints=[room], method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return found.x


cuts, heights, rounds = [y @ X / n], [1.0], []
for k in range(20):
    alpha = solve_small(np.array(cuts), np.array(heights), gamma * n)
    beta = alpha @ np.array(cuts)
    xi = max(0.0, (np.array(heights) - np.array(cuts) @ beta).max())
    c = (y * (X @ beta) < 1).astype(float)
    violation = c.mean() - (c * y) @ X @ beta / n
    rounds.append([k + 1, "".join(str(int(v)) for v in c), xi, violation, 0.5 * beta @ beta + gamma * n * violation])
    if violation <= xi + 1e-6:
        break
    cuts.append((c * y) @ X / n)
    heights.append(c.mean())
pd.DataFrame(rounds, columns=["round", "newest c", "xi", "violation of c", "objective"]).round(6)

# %% [markdown]
# The objective ends at the value above. What makes the method attractive: the number of rounds does not depend on the
# number of samples, only on $\epsilon$ and the regulariser.

# %%
counts = []
for n_samples in (200, 2_000, 20_000):
    Z = np.random.default_rng(0).normal(size=(n_samples, 10))
    t = np.where(Z[:, 0] + 0.5 * Z[:, 1] + np.random.default_rng(1).normal(size=n_samples) > 0, 1.0, -1.0)
    clouds = Problem(Design(wrap(Z)), t, np.full(n_samples, 100.0 / n_samples), Hinge(), None)
    counts.append([n_samples, *(solve(clouds, OneSlack(epsilon), tol=1e-12).n_iter for epsilon in (1e-1, 1e-2, 1e-3))])
pd.DataFrame(counts, columns=["n", "epsilon 0.1", "epsilon 0.01", "epsilon 0.001"])

# %% [markdown]
# ## 7. Derivatives, subgradients and bundles
#
# ### Fréchet and Gâteaux derivatives
#
# A function is *Fréchet differentiable* at $x$ if a linear map $A$ approximates it there from all sides at once, $|f(x
# + h) - f(x) - Ah| / |h| \to 0$. In $\mathbb R^n$ the map is the Jacobian matrix. It is *Gâteaux differentiable* if
# the derivatives in all directions $d$, $df(x; d) = \lim_{t \downarrow 0} (f(x + td) - f(x)) / t$, exist and are
# linear in $d$. The first implies the second. Three functions, all zero at the origin, show that nothing else follows:
#
# 1. $x^3/(x^2 + y^2)$ has a slope in every direction, but $d_1^3/(d_1^2 + d_2^2)$ is not linear in $d$.
# 2. $x^3y/(x^6 + y^2)$ has the slope 0 in every direction, and is not even continuous: along $(t, t^3)$ it is 1/2.
# 3. $x^2y/(x^4 + y^2)\,\sqrt{x^2 + y^2}$ is continuous, with the slope 0 in every direction, and still has no Fréchet
#    derivative: along $(t, t^2)$ its size is half of $|h|$.

# %%
functions = {
    "all slopes, not linear": lambda x, y: x**3 / (x**2 + y**2),
    "Gâteaux, not continuous": lambda x, y: x**3 * y / (x**6 + y**2),
    "continuous, not Fréchet": lambda x, y: x**2 * y / (x**4 + y**2) * np.hypot(x, y),
}
plot_derivatives()
plt.show()

# %% [markdown]
# The quotients $f(h)/|h|$ along the curves of the picture and along straight lines, as $h$ shrinks. A Fréchet
# derivative of zero would send every column to zero:

# %%
steps = np.array([1e-1, 1e-2, 1e-3, 1e-4])
rows = {}
for name, function in functions.items():
    rows[f"{name}: f(h)/|h| along (t, t/2)"] = function(steps, steps / 2) / np.hypot(steps, steps / 2)
    bend = {"all slopes, not linear": steps, "Gâteaux, not continuous": steps**3}.get(name, steps**2)
    rows[f"{name}: f(h) along the curve"] = function(steps, bend)
    rows[f"{name}: f(h)/|h| along the curve"] = function(steps, bend) / np.hypot(steps, bend)
pd.DataFrame(rows, index=[f"t = {step:g}" for step in steps]).T.round(6)

# %% [markdown]
# ### Subgradients
#
# $\phi$ is a *subgradient* of $f$ at $x$ if $f(\tilde x) \ge f(x) + \langle\phi, \tilde x - x\rangle$ for all $\tilde
# x$: a line through the point that stays below the function. All of them together are the *subdifferential*. Where a
# convex function has a kink there are many; `loss.subgradient` returns the two ends of the interval.

# %%
hinge = LOSSES["hinge"]()
f = np.linspace(-1.5, 3, 200)
low, high = (float(end[0]) for end in hinge.subgradient(np.array([1.0]), np.array([1.0])))
print("subdifferential of max(0, 1 - f) at f = 1:", [low, high])
plt.plot(f, hinge.value(f, np.ones(200)), color="black", label="max(0, 1 - f)")
for phi in np.linspace(low, high, 5):
    plt.plot(f, phi * (f - 1), "--", linewidth=1, label=f"slope {phi:g}")
plt.gca().set(ylim=(-1.5, 2.6), xlabel="f")
plt.legend(ncols=2)
plt.show()

# %% [markdown]
# For convex functions, three facts connect subgradients with directional derivatives: $\phi$ is a subgradient exactly
# if $\langle\phi, d\rangle \le df(x; d)$ in every direction; $df(x; d)$ is the largest $\langle\phi, d\rangle$; and
# there is a Gâteaux derivative exactly where there is a single subgradient. On the line, the two ends are the slopes
# to the left and to the right:

# %%
rows = []
for name in ("hinge", "absolute", "quantile", "epsilon_insensitive", "huber", "logistic"):
    loss, target, h = LOSSES[name](), np.array([1.0]), 1e-7
    place = 1.0 + getattr(loss, "epsilon", 0.0)
    left, right = (
        side * (loss.value(np.array([place + side * h]), target) - loss.value(np.array([place]), target))[0] / h
        for side in (-1, 1)
    )
    ends = [float(end[0]) for end in loss.subgradient(np.array([place]), target)]
    rows.append([name, place, left, right, *ends, "one" if ends[0] == ends[1] else "an interval"])
columns = ["loss, y = 1", "f", "slope to the left", "slope to the right", "lowest phi", "highest phi", "subgradients"]
pd.DataFrame(rows, columns=columns).round(4)

# %% [markdown]
# ### The cutting plane method
#
# Subgradients at some points $x_1, \dots, x_t$ give a model of the function that is nowhere above it,
#
# $$f^{(t)}(x) = \max_{t'} f(x_{t'}) + \langle\phi_{t'}, x - x_{t'}\rangle
# = \max_{t'} a_{t'} + \langle\phi_{t'}, x\rangle .$$
#
# The method steps to the minimum of the model, asks there for a value and a subgradient, and adds the cut. The model
# is a linear program. On a line, with everything written out:


# %%
def wavy(x: float) -> tuple[float, float]:
    """A convex function with kinks, and a subgradient."""
    pieces = np.array([[-2.0, -1.0], [-0.6, 0.2], [0.1, 0.0], [1.2, -1.6]])
    best = np.argmax(pieces[:, 0] * x + pieces[:, 1])
    return 0.15 * x**2 + pieces[best] @ [x, 1.0], 0.3 * x + pieces[best, 0]


def minimise_model(cuts: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """argmin of the largest a + phi x on [low, high]: a linear program in x and the height of the model."""
    found = linprog(
        [0, 1], np.column_stack([cuts[:, 1], -np.ones(len(cuts))]), -cuts[:, 0], bounds=[(low, high), (None, None)]
    )
    return found.x[0], found.x[1]


low, high, x = -4.0, 5.0, -3.5
line = np.linspace(low, high, 400)
values = np.array([wavy(each)[0] for each in line])
cuts, visited, history = np.empty((0, 2)), [], []
figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.4), sharex=True, sharey=True)
for k, panel in enumerate(panels.flat):
    value, slope = wavy(x)
    visited.append(x)
    cuts = np.vstack([cuts, [value - slope * x, slope]])
    model = (cuts[:, :1] + cuts[:, 1:] * line).max(axis=0)
    following, bound = minimise_model(cuts, low, high)
    history.append([k, x, value, slope, bound, following])
    panel.plot(line, values, color="black", label="f")
    panel.plot(line, model, color="tab:blue", label="model")
    panel.plot(visited, [wavy(each)[0] for each in visited], "o", color="black", markersize=4)
    panel.plot(following, bound, "v", color="tab:red", label="its minimum: the next x")
    panel.set(title=f"{k + 1} cut{'s' if k else ''}", ylim=(-6, 9))
    x = following
panels[0, 0].legend(fontsize=8)
plt.show()
pd.DataFrame(history, columns=["t", "x_t", "f(x_t)", "subgradient", "least of the model", "x_{t+1}"]).round(4)

# %% [markdown]
# The least value of the model rises, and the least value of the function that was seen falls: between them lies the
# optimum. `minimize` runs the same algorithm in any dimension and proves its answer by this gap:


# %%
def evaluate_wavy(x: np.ndarray) -> tuple[float, np.ndarray]:
    """wavy, of an array with one entry."""
    value, slope = wavy(x[0])
    return value, np.array([slope])


found = minimize(evaluate_wavy, [-3.5], method="cutting-plane", bounds=(low, high))
print(f"x = {found.x[0]:.6f}, f = {found.fun:.8f}, proved: f* >= {found.lower_bound:.8f}, rounds: {found.n_iter}")

# %% [markdown]
# `trace` keeps every round: where the function was asked, the cut, the least value of the model, and whether the step
# was serious (a new best point) or null.

# %%
trace(evaluate_wavy, "cutting-plane", x0=[-3.5], bounds=(low, high)).to_frame()

# %% [markdown]
# The **variant with line search** does not step to the minimum of the model, but to the best point on the way there. It
# never moves uphill. **Bundle methods** keep the step short by other means; $x_t$ is the best point so far:
#
# | method | the next point |
# |---|---|
# | proximal (Kiwiel 1990) | the least $f^{(t)}(x) + \frac{\zeta}{2}\lvert x - x_t\rvert^2$ |
# | trust region (Schramm and Zowe 1992) | the least $f^{(t)}(x)$ within $\frac12\lvert x - x_t\rvert^2 \le \kappa$ |
# | level (Lemaréchal et al. 1995) | the $x$ nearest to $x_t$ with $f^{(t)}(x) \le \tau$ |
#
# The same model with the three steps on it:

# %%
plot_bundle_steps(evaluate_wavy, [-3.5, 2.6], proximity=1.0, radius=1.2, level=0.4, limits=(low, high))
plt.show()

# %% [markdown]
# On a harder function, the sum of absolute deviations in 15 dimensions, all five methods prove the same optimum, in
# very different numbers of rounds:

# %%
A, b = rng.normal(size=(60, 15)), rng.normal(size=60)


def deviations(x: np.ndarray) -> tuple[float, np.ndarray]:
    """sum |A x - b| and a subgradient."""
    r = A @ x - b
    return np.abs(r).sum(), A.T @ np.sign(r)


methods = ("cutting-plane", "cutting-plane-line-search", "proximal-bundle", "trust-region-bundle", "level-bundle")
found = {method: minimize(deviations, np.zeros(15), method, bounds=(-5, 5), tol=1e-6) for method in methods}
table = [[method, each.fun, each.lower_bound, each.n_iter] for method, each in found.items()]
pd.DataFrame(table, columns=["method", "f", "lower bound", "rounds"])

# %% [markdown]
# ### The subproblem in the dual
#
# The proximal subproblem is solved over weights of the cuts on the simplex,
#
# $$\max_{\alpha \ge 0,\ e^\top\alpha = 1}\ -\frac{1}{2\zeta}\alpha^\top\Phi\Phi^\top\alpha + (a + \Phi x_t)^\top\alpha,
# \qquad x = x_t - \tfrac1\zeta\Phi^\top\alpha ,$$
#
# because the Lagrangian is stationary in $x$ (I) and in the height $\xi$ (II). Its size is the number of cuts, whatever
# the dimension of $x$. `Model.minimise` is this step; both values agree to rounding.

# %%
Phi, a, x_t, zeta = rng.normal(size=(6, 40)), rng.normal(size=6), rng.normal(size=40), 0.7
bundle = Cuts(40)
for slope, offset in zip(Phi, a, strict=True):
    bundle.add(slope, float(offset))
step = Model(bundle, (0.0,), None, None).minimise((zeta,), x_t, None)
primal = (a + Phi @ step.x).max() + zeta / 2 * np.sum((step.x - x_t) ** 2)
dual = -np.sum((Phi.T @ step.weights) ** 2) / (2 * zeta) + (a + Phi @ x_t) @ step.weights
print("primal", primal, " dual", dual)
print("|x - (x_t - Phi' alpha / zeta)| =", np.abs(step.x - x_t + Phi.T @ step.weights / zeta).max())

# %% [markdown]
# ## 8. Bundle methods for SVMs
#
# ### Cost and risk
#
# $\frac12|\beta|^2 + \gamma\sum_i\xi_i$ and $\frac\lambda2|\beta|^2 + \frac1n\sum_i\xi_i$ are the same up to a factor
# if $\lambda = 1/(n\gamma)$. The mean hinge loss $R$ has kinks; a subgradient is the mean of $-y_i x_i$ over the
# samples with a loss. So `minimize` can train a machine: `ridge` is $\lambda$, kept exact beside the cuts of $R$. That
# is the split $f_1 + f_2$, and with the cutting-plane method it is **BMRM** (Teo et al.): a proximal bundle method
# whose centre stays at $x_t = 0$, with $\zeta = \lambda$.

# %%
n = 300
X = rng.normal(size=(n, 4))
y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
wide = np.column_stack([X, np.ones(n)])  # the intercept is a feature of ones


def hinge_risk(beta: np.ndarray) -> tuple[float, np.ndarray]:
    """R(beta) = 1/n sum [1 - y <beta, x>]_+ and a subgradient."""
    z = y * (wide @ beta)
    return np.maximum(0, 1 - z).mean(), -(y * (z < 1)) @ wide / n


gamma = 1.0
bmrm = minimize(hinge_risk, np.zeros(5), "cutting-plane", ridge=1 / (n * gamma), tol=1e-8)
machine = LinearSVC(C=gamma, loss="hinge", intercept="regularised", tol=1e-8).fit(X, y)
print("BMRM     ", bmrm.x, f"value times n gamma: {bmrm.fun * n * gamma:.6f}, rounds: {bmrm.n_iter}")
print("LinearSVC", np.append(machine.coef_[0], machine.intercept_), f"value: {machine.certificate_.primal:.6f}")

# %% [markdown]
# `Bundle` is the same machinery behind every estimator. Its methods agree with the certificate:

# %%
rows = []
for method in ("bmrm", "ocas", "proximal-bundle", "trust-region-bundle", "level-bundle"):
    model = RiskClassifier("hinge", C=gamma, intercept="regularised", solver=Bundle(method), tol=1e-6).fit(X, y)
    rows.append([method, model.certificate_.primal, model.certificate_.relative_gap, model.result_.n_iter])
pd.DataFrame(rows, columns=["method", "P", "certified relative gap", "rounds"])

# %% [markdown]
# ### Table 5: scalar losses and their derivatives
#
# The table of Teo et al. is the table of the library, `LOSSES`. Values and derivatives at a few scores, the derivative
# beside a central difference. (The source misprints two entries: the derivative of the logistic loss is
# $-y/(1 + e^{yf})$, and the tube needs $|f - y|$. Its quantile $\tau$ weighs over-prediction; `quantile` here is
# $1 - \tau$, as in scikit-learn.)

# %%
rows = []
for name, kind in LOSSES.items():
    loss = kind()
    target = np.array([2.0 if loss.target == "count" else 1.0])
    for score in (-0.7, 0.4, 2.3):
        at = np.array([score])
        slope = 0.5 * sum(float(end[0]) for end in loss.subgradient(at, target))
        central = (loss.value(at + 1e-6, target) - loss.value(at - 1e-6, target))[0] / 2e-6
        rows.append([name, target[0], score, loss.value(at, target)[0], slope, central])
table = pd.DataFrame(rows, columns=["loss", "y", "f", "l(f, y)", "l'(f, y)", "central difference"])
assert np.allclose(table["l'(f, y)"], table["central difference"], atol=1e-6)
table.pivot(index=["loss", "y"], columns="f", values=["l(f, y)", "l'(f, y)"]).round(4)

# %%
figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.2))
plot_losses(ax=panels[0])
plot_losses(
    [LOSSES[name]() for name in ("least_squares", "absolute", "quantile", "epsilon_insensitive", "huber")], ax=panels[1]
)
plt.show()

# %% [markdown]
# ### Table 6: losses of vectors
#
# | loss | $l(f, y)$ | derivative |
# |---|---|---|
# | soft margin | $\max_k f_k - f_y + \Delta(y, k)$ | $e_{k^*} - e_y$ |
# | scaled soft margin | $\max_k \Gamma(y, k)(f_k - f_y + \Delta(y, k))$ | $\Gamma(y, k^*)(e_{k^*} - e_y)$ |
# | softmax | $\log\sum_k e^{f_k} - f_y$ | $\mathrm{softmax}(f) - e_y$ |
# | multivariate regression | $\frac12(f - y)^\top M(f - y)$ | $M(f - y)$ |
#
# One sample, three scores, with the formulas beside the library:

# %%
f, label = np.array([[0.2], [1.1], [-0.4]]), np.array([0])
Delta = np.array([[0, 1, 2], [1, 0, 1], [2, 1, 0]], float)
Gamma = np.array([[1, 3, 1], [1, 1, 1], [2, 1, 1]], float)
M, target = np.array([[2, 0.5, 0], [0.5, 1, 0], [0, 0, 3]]), np.array([[1.0], [0.0], [-1.0]])
errors, units = (f - f[0] + Delta[0][:, None])[:, 0], np.eye(3)
scaled = Gamma[0] * errors
by_hand = {
    "soft margin": (errors.max(), units[errors.argmax()] - units[0]),
    "scaled soft margin": (scaled.max(), Gamma[0, scaled.argmax()] * (units[scaled.argmax()] - units[0])),
    "softmax": (np.log(np.exp(f).sum()) - f[0, 0], (np.exp(f) / np.exp(f).sum())[:, 0] - units[0]),
    "multivariate": (0.5 * ((f - target).T @ M @ (f - target)).item(), (M @ (f - target))[:, 0]),
}
losses = {
    "soft margin": MulticlassHinge(Delta).terms(label, np.ones(1)),
    "scaled soft margin": MulticlassHinge(Delta, Gamma).terms(label, np.ones(1)),
    "softmax": Softmax().terms(label, np.ones(1)),
    "multivariate": Multivariate(M).terms(target, np.ones(1)),
}
rows = []
for name, terms in losses.items():
    value, slope = by_hand[name]
    assert np.isclose(terms.value(f)[0], value)
    assert np.allclose(-terms.response(f)[0][:, 0], slope)
    rows.append([name, value, terms.value(f)[0], slope.round(4), -terms.response(f)[0][:, 0].round(4)])
pd.DataFrame(rows, columns=["loss", "l by hand", "l", "derivative by hand", "derivative"])

# %% [markdown]
# Each of these losses trains a machine by the same bundle, since all that a bundle asks for is a value and a
# subgradient:

# %%
labels = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), [-0.5, 0.5])
rows = []
for name, arguments in {
    "soft margin": {"loss": "hinge", "multi_class": "crammer_singer"},
    "scaled soft margin": {
        "loss": "hinge",
        "multi_class": "crammer_singer",
        "label_costs": Delta,
        "label_scales": Gamma,
    },
    "softmax": {"loss": "logistic", "multi_class": "softmax"},
}.items():
    model = RiskClassifier(**arguments, C=0.1, solver=Bundle(), tol=1e-4).fit(X, labels)
    rows.append([name, model.certificate_.primal, model.certificate_.relative_gap, model.score(X, labels)])
pd.DataFrame(rows, columns=["loss", "P", "certified relative gap", "accuracy"])
