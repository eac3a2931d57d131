"""The paper's tables and figures, redone: one folder each, run by ``nearer reproduce``."""
