"""How a gradient becomes a move: momentum after Polyak or Nesterov, and AdaGrad; and how the duals follow."""

from __future__ import annotations

import numpy as np

KINK_MOMENTUM = 0.5  # over kinks, where more momentum overshoots the valley


class Momentum:
    """v <- beta v + step g, u <- u - v: the gradient is taken at u, or with Nesterov's look-ahead at u - beta v.

    A given beta is used as it is. Otherwise it is Polyak's ((sqrt L - 1) / (sqrt L + 1))^2 for modulus 1, or Nesterov's
    k / (k + 3), and the velocity is dropped as soon as P rises (O'Donoghue and Candes 2015).
    """

    def __init__(self, kind: str, beta: float | None, smoothness: float = 1.0):
        self.kind, self.given = kind, beta
        root = np.sqrt(min(smoothness, 1e16))
        self.polyak = ((root - 1.0) / (root + 1.0)) ** 2
        self.velocity: np.ndarray | float = 0.0
        self.steps = 0  # since the velocity was zero

    @property
    def beta(self) -> float:
        """The share of the velocity that is kept."""
        if self.kind == "none":
            return 0.0
        if self.given is not None:
            return self.given
        return self.polyak if self.kind == "polyak" else self.steps / (self.steps + 3.0)

    @property
    def longest(self) -> float:
        """The longest step for which w stays a weighted mean of the targets r_k = sum_i a_i phi(x_i).

        With u_k+1 = u_k + beta (u_k - u_k-1) - step (u_k - r_k) the weights of the r_k are those of a filter whose two
        poles are real, and so positive, while step <= (1 - sqrt beta)^2; with the look-ahead while 1 - step >=
        4 beta / (1 + beta)^2.
        """
        beta = self.beta
        return 1.0 - 4.0 * beta / (1.0 + beta) ** 2 if self.kind == "nesterov" else (1.0 - np.sqrt(beta)) ** 2

    def move(self, u: np.ndarray, gradient: np.ndarray, step: float) -> np.ndarray:
        """The next u."""
        self.velocity = self.beta * self.velocity + step * gradient
        self.steps += 1
        return u - self.velocity

    def look_ahead(self, u: np.ndarray) -> np.ndarray:
        """Where the next gradient is taken."""
        return u - self.beta * self.velocity if self.kind == "nesterov" else u

    def restart_momentum(self) -> bool:
        """Drop the velocity after P has risen, unless beta was given; True if it was dropped."""
        dropped = self.given is None and self.kind != "none" and self.steps > 1
        if dropped:
            self.velocity, self.steps = 0.0, 0
        return dropped


class Adaptive:
    """s <- s + g^2, u <- u - step g / sqrt(s + offset), coordinate by coordinate (Duchi, Hazan and Singer 2011)."""

    def __init__(self, offset: float, cautious: bool = False):
        self.offset, self.cautious = offset, cautious
        self.squares: np.ndarray | float = 0.0
        self.share = 1.0  # of the steps

    def move(self, u: np.ndarray, slope: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """The next u."""
        self.squares = self.squares + slope * slope
        return u - self.share * step * slope / np.sqrt(self.squares + self.offset)

    def look_ahead(self, u: np.ndarray) -> np.ndarray:
        """Where the next gradient is taken."""
        return u

    def restart_momentum(self) -> bool:
        """If the loss grows exponentially and P has risen, forget the squares and halve the steps.

        One step too far up an exponential leaves squares so large that all later steps are negligible.
        """
        if self.cautious:
            self.squares, self.share = 0.0, 0.5 * self.share
        return self.cautious


class RunningMean:
    """The mean with weights 1, 2, 3, ...: u <- u - 2 / (k + 1) (u - r_k). For duals that do not move like w."""

    def __init__(self):
        self.steps = 0

    def move(self, u: np.ndarray, gradient: np.ndarray, step: float | np.ndarray) -> np.ndarray:
        """The next mean."""
        self.steps += 1
        return u - 2.0 / (self.steps + 1.0) * gradient

    def look_ahead(self, u: np.ndarray) -> np.ndarray:
        """A mean does not look ahead."""
        return u
