"""Every Numba function: arrays in, arrays out, no names of losses or kernels beyond the formula itself."""
