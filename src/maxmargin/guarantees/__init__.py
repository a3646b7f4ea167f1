"""What can be promised: certificates of models of any library, bounds on their risk, and on what tuning may miss."""
