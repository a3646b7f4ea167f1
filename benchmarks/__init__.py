"""Measurements: every number in the documentation comes from a script in this folder.

    make bench                         those of kernel machines beside their peers; writes RESULTS.md
    make bench SETS="a9a usps"         the table of fits on a few sets; writes nothing
    python -m benchmarks small_fits    one of them
    python -m benchmarks cliffs --cases 50    some cases of one of them; writes nothing
    python -m benchmarks --list        their names

Each script prints a markdown table and writes it to benchmarks/results, with the same as JSON beside it. DATA names the
folder of data, LIMIT the seconds that a peer's fit may take.
"""
