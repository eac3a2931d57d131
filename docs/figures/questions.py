"""Error against the number of answers by strategy, from the curves that ``python -m benchmarks.questions`` saved."""

from __future__ import annotations

from benchmarks.questions import draw

if __name__ == "__main__":
    draw()
