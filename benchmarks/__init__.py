"""Measurements: every number in the documentation comes from a script in this folder.

    python -m benchmarks               all of them
    python -m benchmarks small_fits    one of them
    python -m benchmarks --list        their names

Each script prints a markdown table and writes it to benchmarks/results, with the same as JSON beside it.
"""
