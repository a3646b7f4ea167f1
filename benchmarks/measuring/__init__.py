"""What measurements share: the clock, data, memory, the machine, and reports."""
