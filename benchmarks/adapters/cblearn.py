"""cblearn with its defaults; SOE both with one start and with its default of ten."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

here = str(Path(__file__).resolve().parent)
sys.path = [entry for entry in sys.path if entry != here]  # this file bears the library's name
from cblearn.embedding import CKL, GNMDS, SOE, STE, TSTE  # noqa: E402

sys.path.insert(0, here)
from serve import serve  # noqa: E402

MODELS = {
    "hinge": GNMDS,
    "ckl": CKL,
    "ste": STE,
    "tste": TSTE,
    "soe": lambda n_components, random_state: SOE(n_components, n_init=1, random_state=random_state),
    "soe, 10 starts": SOE,
}


def fit(loss, triplets, n_objects, n_components, seed):
    return MODELS[loss](n_components=n_components, random_state=seed).fit(triplets).embedding_


if __name__ == "__main__":
    serve(fit, {"name": "cblearn", "version": version("cblearn")})
