"""Pictures of machines, of losses, and of the ways to them. The only room that imports matplotlib."""

from .animations import write_animation
from .boundaries import plot_decision_boundary
from .calibration import plot_calibration
from .certified_tuning import plot_certified_tuning
from .coefficients import plot_path
from .convergence import plot_convergence
from .cuts import plot_bundle_steps, plot_cuts
from .lessons import plot_dense_labels, plot_kernel_time, plot_perceptron_collapse, plot_support_counts
from .losses import plot_losses
from .risk import plot_risk_bounds
from .subgradients import plot_derivatives, plot_subgradients
from .surfaces import plot_loss_surface
from .traces import plot_trace
from .tubes import plot_regression_tube
from .tuning import plot_tuning
from .violations import plot_rates, plot_violation, plot_working_sets

__all__ = [
    "plot_bundle_steps", "plot_calibration", "plot_certified_tuning", "plot_convergence", "plot_cuts",
    "plot_decision_boundary", "plot_dense_labels", "plot_derivatives", "plot_kernel_time", "plot_loss_surface",
    "plot_losses", "plot_path", "plot_perceptron_collapse", "plot_rates", "plot_regression_tube", "plot_risk_bounds",
    "plot_subgradients", "plot_support_counts", "plot_trace", "plot_tuning", "plot_violation", "plot_working_sets",
    "write_animation",
]  # fmt: skip
