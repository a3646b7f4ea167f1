"""Cutting planes and bundles."""
