"""Maps from comparisons: ordinal embedding from answers such as "i is nearer to j than to k"."""

from __future__ import annotations

__version__ = "0.1.0"
