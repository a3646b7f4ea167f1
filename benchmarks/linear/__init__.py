"""Linear machines beside LIBLINEAR and others."""
