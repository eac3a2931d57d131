"""Error against the number of answers by strategy, from the curves that ``python -m benchmarks.questions`` saved."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script sees its own folder only
    from benchmarks.questions import draw

    draw()
