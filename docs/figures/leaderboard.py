"""The leaderboard on human answers, from the saved results of `python -m benchmarks.human`."""

import _common
from benchmarks.human.report import draw, saved

_common.save(draw(saved()), __file__)
