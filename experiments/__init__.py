"""The paper's tables and figures, redone: one folder each, run by ``python -m experiments``."""
