"""The machine below the mathematics: threads, Ctrl-C, deadlines, files that are whole or not there, rounding."""
