"""Figure 3: Recall@K at 10 % noise, from the trials of Table 2."""
