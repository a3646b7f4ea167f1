"""Pictures of machines, of losses, and of the ways to them. The only room that imports matplotlib."""

from .boundaries import plot_decision_boundary
from .certified_tuning import plot_certified_tuning
from .coefficients import plot_path
from .convergence import plot_convergence
from .losses import plot_losses
from .risk import plot_risk_bounds
from .surfaces import plot_loss_surface
from .tubes import plot_regression_tube
from .tuning import plot_tuning

__all__ = [
    "plot_certified_tuning", "plot_convergence", "plot_decision_boundary", "plot_loss_surface", "plot_losses",
    "plot_path", "plot_regression_tube", "plot_risk_bounds", "plot_tuning",
]  # fmt: skip
