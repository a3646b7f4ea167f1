"""The model of a bundle, max_k offset_k + <phi_k, x> plus quadratics that are known exactly, and its minima.

    minimise over lo <= x <= hi   max_k offset_k + <phi_k, x> + ridge/2 |x|^2 + proximity/2 |x - centre|^2

With ridge = 0 this is the proximal bundle of Kiwiel; with proximity = 0 and ridge = lambda that of Teo et al., BMRM;
with both = 0 the cutting plane method, whose model is a linear program. Coordinates lie in blocks, each with a ridge
and a proximity of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...runtime.blas import single_threaded_blas
from ...runtime.rounding import UNIT, Enclosed, bound_sum
from ...runtime.scipy_functions import linprog, qr
from .cuts import AggregateCut, Cuts
from .master import maximise_on_simplex, solve_face

EPSILON = float(np.finfo(float).eps)
MAX_BOX_STEPS = 60  # faces of the box that are tried
FAINT_RIDGE_TOL_SHARE = 1e-4  # of the tolerance, times P at zero, is the ridge of free intercepts that are coordinates
# the least such ridge, times P at zero: products of slopes over less are mostly rounding errors
MIN_FAINT_RIDGE = 4e-12
FLAT_SHARE = 1e-9  # of the steepest cut in use: a mean with less slope counts as flat
BOX_BORDER_SHARE = 1e-9  # of the radius of a box made up for want of another: nearer to its border counts as on it


def choose_faint_ridge(tol: float, scale: float) -> float:
    """A ridge for coordinates that have none, which costs next to nothing of P; `scale` is P at zero in their units.

    A ridge r takes about r b^2 / 2 from the bound, and leaves the heights of cuts with errors of u scale^2 / r.
    """
    return max(FAINT_RIDGE_TOL_SHARE * tol, MIN_FAINT_RIDGE) * (scale or 1.0)


class Step(NamedTuple):
    """A minimum of the model: x, the weights of the cuts, their mean (slope and offset), and the highest cut at x."""

    x: np.ndarray
    weights: np.ndarray
    mean: AggregateCut
    height: float


class Motion(NamedTuple):
    """dx / d log h and da / d log h of a step, h being the ridge of the first block and the proximity."""

    x: np.ndarray
    weights: np.ndarray


class Model:
    """The cuts, the ridge of each block of coordinates, and the box."""

    def __init__(
        self, cuts: Cuts, ridges: tuple[float, ...], lo: np.ndarray | None = None, hi: np.ndarray | None = None
    ):
        self.cuts, self.ridges, self.lo, self.hi = cuts, ridges, lo, hi
        self.boxed = lo is not None and bool(np.isfinite(lo).any() or np.isfinite(hi).any())
        self.closed = self.boxed and bool(np.isfinite(lo).all() and np.isfinite(hi).all())

    def spread(self, values: tuple[float, ...]) -> np.ndarray | float:
        """One value for each coordinate from one for each block."""
        if len(values) == 1:
            return values[0]
        full = np.empty(self.cuts.slopes.shape[1])
        for block, value in zip(self.cuts.blocks, values, strict=True):
            full[block] = value
        return full

    def quadratic(self, x: np.ndarray) -> float:
        """ridge/2 |x|^2, block by block."""
        blocks = zip(self.cuts.blocks, self.ridges, strict=True)
        return 0.5 * sum(ridge * float(x[block] @ x[block]) for block, ridge in blocks if ridge)

    def measure_rounding(self, x: np.ndarray) -> float:
        """What rounding may make of the heights of the cuts at x."""
        terms = np.abs(self.cuts.offsets) + np.abs(self.cuts.slopes) @ np.abs(x)
        return EPSILON * self.cuts.factor * float(terms.max())

    def minimise(self, proximities: tuple[float, ...], centre: np.ndarray, start: np.ndarray | None) -> Step:
        """The minimum of the model with these proximities around the centre; every block needs a curvature."""
        curvatures = tuple(ridge + each for ridge, each in zip(self.ridges, proximities, strict=True))
        h = self.spread(curvatures)
        z = self.spread(proximities) / h * centre
        if self.boxed:
            with single_threaded_blas():
                return self.minimise_in_box(h, z, start)
        if len(curvatures) == 1:  # z is a multiple of the centre, which stays the same over many steps
            q = self.cuts.factor * self.cuts.offsets
            q = q + proximities[0] / h * self.cuts.products_with(centre) if proximities[0] else q
        else:
            q = self.cuts.heights(z)
        G = self.cuts.products(curvatures)
        with single_threaded_blas():  # many small products: threads of BLAS would wait for each other
            weights = maximise_on_simplex(G, q, start)
        mean = self.cuts.combine(weights)
        return Step(z - mean[0] / h, weights, mean, float((q - G @ weights).max()))

    def minimise_in_box(self, h, z: np.ndarray, start: np.ndarray | None) -> Step:
        """The same within the box: Newton's method on the dual, which is quadratic while the same bounds are met.

        min_x sum_k a_k (offset_k + <phi_k, x>) + h/2 |x - z|^2 over the box is concave in the weights a, with the
        heights of the cuts at its x as gradient and the products over coordinates off their bounds as curvature.
        """
        cuts = self.cuts
        slopes, offsets = cuts.factor * cuts.slopes, cuts.factor * cuts.offsets
        root = 1.0 / np.sqrt(h)

        def place(weights: np.ndarray) -> np.ndarray:
            return np.clip(z - (weights @ slopes) / h, self.lo, self.hi)

        weights = start
        if weights is None or not weights.sum() > 0:
            weights = np.eye(cuts.m)[int(np.argmax(offsets + slopes @ place(np.zeros(cuts.m))))]
        weights = weights / weights.sum()
        for _ in range(MAX_BOX_STEPS):
            x = place(weights)
            heights = offsets + slopes @ x
            scaled = (slopes * root)[:, (x > self.lo) & (x < self.hi)]
            G = scaled @ scaled.T
            target = maximise_on_simplex(G, heights + G @ weights, weights)
            way = target - weights
            top = heights.max()  # taken off all heights, since the way sums to zero: a slope near zero would cancel
            promise = float((heights - top) @ way)
            apart = float(top - weights @ heights)  # first order in x, where the promise is of second order
            if promise <= 0.0 or apart <= 4.0 * self.measure_rounding(x):
                break
            t = search_concave(
                lambda t, w=weights, s=way, top=top: float((offsets + slopes @ place(w + t * s) - top) @ s), promise
            )
            if t * np.abs(way).max() <= EPSILON:  # rounding hides which way is up
                break
            weights = np.maximum(weights + t * way, 0.0)
            weights /= weights.sum()
        x = place(weights)
        return Step(x, weights, cuts.combine(weights), float((offsets + slopes @ x).max()))

    def differentiate(self, step: Step, proximity: float, centre: np.ndarray) -> Motion:
        """How a step moves with its proximity while the same cuts hold it and the same bounds are met.

        h x = proximity centre - sum_k a_k phi_k off the bounds, the cuts in use are equally high and the weights sum to
        one; all of it is differentiated. With one block, x is affine in 1/h.
        """
        h = np.broadcast_to(self.spread(self.ridges) + proximity, step.x.shape)
        free = 1.0 / h if not self.boxed else np.where((step.x > self.lo) & (step.x < self.hi), 1.0 / h, 0.0)
        face = np.flatnonzero(step.weights)
        slopes = self.cuts.factor * self.cuts.slopes[face]
        pull = (self.ridges[0] + proximity) * free * (centre - step.x)
        weights = np.zeros(len(step.weights))
        if len(face) > 1:
            with single_threaded_blas():
                G = (slopes * free) @ slopes.T
                weights[face] = solve_face(G, slopes @ pull, np.arange(len(face)), step.weights[face], 0.0)
        return Motion(pull - free * (weights[face] @ slopes), weights)

    def take_step(self, weights: np.ndarray, proximity: float, centre: np.ndarray) -> Step:
        """The step of these weights, which is a minimum of the model if the cuts that have weight are the highest."""
        h = self.spread(self.ridges) + proximity
        mean = self.cuts.combine(weights)
        x = proximity / h * centre - mean.slope / h
        x = np.clip(x, self.lo, self.hi) if self.boxed else x
        return Step(x, weights, mean, float(self.cuts.heights(x).max()))

    def is_minimum(self, step: Step) -> bool:
        """Whether the cuts that have weight are the highest at x, to rounding."""
        apart = step.height - step.mean.offset - float(step.mean.slope @ step.x)
        return apart <= 8.0 * self.measure_rounding(step.x)

    def is_flat(self, step: Step) -> bool:
        """Whether x is a minimum of the mean of the cuts, to rounding."""
        slope = step.mean.slope
        if self.boxed:  # what pushes against a bound is no way down
            slope = np.where(((step.x <= self.lo) & (slope > 0)) | ((step.x >= self.hi) & (slope < 0)), 0.0, slope)
        return float(np.linalg.norm(slope)) <= FLAT_SHARE * self.measure_steepness(step)

    def measure_steepness(self, step: Step) -> float:
        """The length of the steepest cut that has weight."""
        return self.cuts.factor * float(self.cuts.lengths[step.weights > 0].max())

    def mix(self, one: Step, other: Step, share: float) -> Step:
        """The step between two others."""
        x, weights = one.x + share * (other.x - one.x), one.weights + share * (other.weights - one.weights)
        return Step(x, weights, self.cuts.combine(weights), float(self.cuts.heights(x).max()))

    def minimise_linear(self, centre: np.ndarray, radius: float, scope: float) -> tuple[Step, bool]:
        """The minimum of the cuts alone, a linear program; and whether it would be the same without the radius.

        Where the box is open the minimum may lie at infinity: such coordinates are held within `radius` of the centre.
        `scope` is about how far from the centre the minimum is expected.
        """
        cuts = self.cuts
        near, far = self.close_box(centre, radius)
        slopes, offsets = cuts.factor * cuts.slopes, cuts.factor * cuts.offsets
        # In the coordinates (x - centre) / scope, and every cut in units of its own: HiGHS works to absolute 1e-10.
        base = offsets + slopes @ centre
        top = int(np.argmax(base))
        steep = np.abs(slopes).max(axis=1)
        unit = max(float(steep[top]), 1e-300)
        units = np.maximum(steep / unit, 1.0)
        rows = np.column_stack([slopes / unit, -np.ones(cuts.m)]) / units[:, None]
        limits = [*zip((near - centre) / scope, (far - centre) / scope, strict=True), (None, None)]
        solution = linprog(
            np.append(np.zeros(len(centre)), 1.0), A_ub=rows, b_ub=-(base - base[top]) / (unit * scope) / units,
            bounds=limits, method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )  # fmt: skip
        if solution.x is None:
            weights = np.eye(cuts.m)[top]
            return Step(centre.copy(), weights, cuts.combine(weights), float(base[top])), False
        x = np.clip(centre + scope * solution.x[:-1], near, far)
        weights = np.maximum(-solution.ineqlin.marginals / units, 0.0)
        weights = weights / weights.sum() if weights.sum() > 0 else np.eye(cuts.m)[top]
        margin = BOX_BORDER_SHARE * radius
        open_below = True if self.lo is None else ~np.isfinite(self.lo)
        open_above = True if self.hi is None else ~np.isfinite(self.hi)
        held = ((x < near + margin) & open_below) | ((x > far - margin) & open_above)
        return Step(x, weights, cuts.combine(weights), float((offsets + slopes @ x).max())), not held.any()

    def bound_within(self, step: Step, centre: np.ndarray, radius: float) -> float:
        """About the least of the model within the box, closed by a radius around the centre where it is open."""
        slope, offset = step.mean[:2]
        lo, hi = self.close_box(centre, radius)
        return offset + float(np.minimum(slope * lo, slope * hi).sum())

    def close_box(self, centre: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """The bounds, and centre - radius and centre + radius where there are none."""
        lo = centre - radius if self.lo is None else np.where(np.isfinite(self.lo), self.lo, centre - radius)
        hi = centre + radius if self.hi is None else np.where(np.isfinite(self.hi), self.hi, centre + radius)
        return lo, hi

    def bound(self, step: Step) -> Enclosed:
        """min over the box of sum_k a_k (offset_k + <phi_k, x>) + ridge/2 |x|^2: below every value, whatever a is.

        With what rounding may do to it: to the weights, which sum to one, to the mean of the cuts, and to its minimum.
        """
        if self.boxed or min(self.ridges) <= 0:
            return self.bound_in_box(step)
        slope, offset, error, slope_error = step.mean
        parts = [
            (0.5 / ridge, float(np.linalg.norm(slope[block])))
            for block, ridge in zip(self.cuts.blocks, self.ridges, strict=True)
        ]
        fall = sum(half * length**2 for half, length in parts)
        more = sum(half * (2.0 * length + slope_error) * slope_error for half, length in parts)
        slack = bound_sum(len(slope) + 16)
        return Enclosed(offset - fall, (error + more) * (1.0 + slack) + slack * (fall + abs(offset)))

    def bound_in_box(self, step: Step) -> Enclosed:
        """The same coordinate by coordinate; along one without end, the mean must be flat in exact arithmetic."""
        weights, extra = step.weights, np.zeros(self.cuts.m)
        flat = np.flatnonzero(np.isinf(self.find_minimum(weights, extra)[2]))
        if len(flat):
            found = flatten_mean(self.cuts.slopes[:, flat], weights)
            if found is None or self.cuts.errors[1, weights > 0].any():
                return Enclosed(-np.inf, 0.0)
            weights, extra = found
        mean = self.cuts.combine(weights)
        error = mean.error + self.cuts.factor * float(extra @ np.abs(self.cuts.offsets))
        slope, off, furthest, x, ridge = (np.delete(part, flat) for part in self.find_minimum(weights, extra))
        if np.isinf(furthest).any():
            return Enclosed(-np.inf, 0.0)
        terms = np.concatenate([slope * x, 0.5 * ridge * x * x])
        slack = bound_sum(len(terms) + 16)
        lost = float(off @ furthest) + mean.slope_error * float(np.linalg.norm(furthest))
        sizes = float(np.abs(terms).sum()) + abs(mean.offset)
        return Enclosed(mean.offset + float(terms.sum()), (error + lost + slack * sizes) * (1.0 + slack))

    def find_minimum(self, weights: np.ndarray, extra: np.ndarray) -> tuple[np.ndarray, ...]:
        """s, what it is off by, how far off the minimum of s x + ridge/2 x^2 may be, where it is, and the ridge.

        The minimum is at -s / ridge, or at a bound. `extra` is what the weights are off by.
        """
        slope, _, _, slope_error = self.cuts.combine(weights)
        off = (bound_sum(2 * len(weights) + 16) * weights + extra) @ (self.cuts.factor * np.abs(self.cuts.slopes))
        ridge = np.broadcast_to(self.spread(self.ridges), slope.shape)
        lo, hi = (np.full_like(slope, -np.inf), np.full_like(slope, np.inf)) if self.lo is None else (self.lo, self.hi)
        nearest, wide = np.clip(0.0, lo, hi), off + slope_error
        with np.errstate(divide="ignore", invalid="ignore"):
            curved = np.maximum((np.abs(slope) + wide) / ridge, np.abs(nearest)) * (1.0 + 4.0 * UNIT)
            end = np.where(slope > wide, np.abs(lo), np.where(slope < -wide, np.abs(hi), np.maximum(-lo, hi)))
            end = np.where((slope == 0) & (wide == 0), np.abs(nearest), end)
            furthest = np.where(ridge > 0, np.minimum(curved, np.maximum(np.abs(lo), np.abs(hi))), end)
            x = np.where(ridge > 0, np.clip(-slope / ridge, lo, hi), np.where(slope > 0, lo, hi))
        return slope, off, furthest, np.where((slope == 0) & (ridge == 0), nearest, x), ridge


def flatten_mean(slopes: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights near which there are some with sum_k a_k phi_k = 0 and sum_k a_k = 1 exactly, and how near; or None.

    As many cuts as there are equations take up what the others leave: B t = r for a matrix B that is seen to be
    regular, since |I - R B| < 1 for its approximate inverse R. Then |t| <= |R| |r| / (1 - |I - R B|), and the weights
    stay positive where they are larger than that.
    """
    slopes = slopes[:, slopes[weights > 0].any(axis=0)]
    B, size = np.vstack([slopes.T, np.ones(len(slopes))]), slopes.shape[1] + 1
    if np.count_nonzero(weights) < size:
        return None
    units = np.maximum(np.abs(B).max(axis=1, keepdims=True), 1e-300)
    kept = qr(B / units * weights, mode="r", pivoting=True)[1][:size]
    try:
        R = np.linalg.inv(B[:, kept])
    except np.linalg.LinAlgError:
        return None
    aim = np.append(np.zeros(size - 1), 1.0)
    weights = weights.copy()
    weights[kept] += R @ (aim - B @ weights)
    slack = bound_sum(len(weights) + size + 16)
    away = np.abs(np.eye(size) - R @ B[:, kept]) + slack * (np.abs(R) @ np.abs(B[:, kept]) + np.eye(size))
    share = float(away.sum(axis=1).max())
    if not share < 0.5 or (weights < 0).any():
        return None
    missing = np.abs(aim - B @ weights) + slack * (np.abs(B) @ weights + aim)
    near = np.abs(R) @ missing
    extra = np.zeros(len(weights))
    extra[kept] = (near + share / (1.0 - share) * near.max()) * (1.0 + slack)
    return (weights, extra) if (extra[kept] <= weights[kept]).all() else None


def search_concave(slope, first: float) -> float:
    """Where on [0, 1] a concave function with this slope, `first` at 0, is largest: by false position."""
    last = slope(1.0)
    if last >= 0.0:
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, first, last
    for _ in range(30):
        t = low + (high - low) * at_low / (at_low - at_high)
        t = min(max(t, low + 1e-3 * (high - low)), high - 1e-3 * (high - low))
        now = slope(t)
        if abs(now) <= 1e-6 * first:
            return t
        if now > 0:
            low, at_low, at_high = t, now, 0.5 * at_high
        else:
            high, at_high, at_low = t, now, 0.5 * at_low
    return low
