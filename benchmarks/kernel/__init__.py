"""Kernel machines beside their peers: fits, predictions, memory, growth, and cases where a library stops early."""
