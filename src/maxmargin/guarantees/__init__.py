"""What can be promised of a fitted model: certificates of models of any library, and bounds on its risk."""
