"""Figure 2: test error against work."""
