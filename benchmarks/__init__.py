"""Measurements: every number in the documentation comes from a script in this folder.

    make bench                         those of kernel machines beside their peers; writes RESULTS.md
    make bench SETS="a9a usps"         the table of fits on a few sets; writes nothing
    python -m benchmarks small_fits    one of them
    python -m benchmarks cliffs --cases 50    some cases of one of them; writes nothing
    python -m benchmarks --list        their names

Where the scripts are:

    kernel      kernel machines beside their peers: fits, predictions, memory, growth, a grid of parameters
    linear      linear machines beside LIBLINEAR and others
    bundle      cutting planes and bundles
    structured  machines for sequences, and machines trained for a metric
    scaling     blocks of rows, and clusters
    files       LIBSVM text, and the command line beside LIBSVM's and LIBLINEAR's programs
    waiting     the first fit, time limits, and predicted times
    peers       the other libraries
    measuring   what all of them share: the clock, data, memory, the machine, reports

Each script prints a markdown table and writes it to benchmarks/results, with the same as JSON beside it. DATA names the
folder of data, LIMIT the seconds that a peer's fit may take.
"""
