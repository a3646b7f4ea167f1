"""Reading of data, and the command line beside LIBSVM's and LIBLINEAR's programs."""
