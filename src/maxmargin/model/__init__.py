"""The mathematics of a fit: losses, kernels, samples, features, the problem they make, and the models that pose it."""
