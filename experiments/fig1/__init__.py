"""Figure 1: step sizes by epoch, of the original BB rule and of its stabilised forms, and the errors they lead to."""
