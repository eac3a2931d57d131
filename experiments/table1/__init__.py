"""Table 1: seconds, and work, until the training error is 0.15."""
