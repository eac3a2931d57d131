"""Table 2 (and, from the same trials, Figure 3): image retrieval with features mapped into an ordinal embedding."""
