"""Writes the golden files of this version; for a change that is meant to change maps: `python tests/golden/make.py`."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import scipy

import nearer
from nearer import Comparisons, OrdinalEmbedding
from nearer.losses import loss_names

HERE = Path(__file__).parent
SOLVERS = ("svrg-sbb", "svrg-bb", "svrg", "sgd", "gd", "lbfgs")


def comparisons() -> Comparisons:
    """The answers of the golden model of version 0.1.0."""
    saved = np.load(HERE / "cities-0.1.0.npz")
    return Comparisons(saved["index"], None, saved["weights"], saved["labels"], saved["participants"])


def machine() -> dict[str, str]:
    """What the last bits of a fit depend on."""
    return {
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "processor": llvmlite.binding.get_host_cpu_name(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def fits() -> dict[str, np.ndarray]:
    """Small maps of every loss with the default solver, and of one loss with every other solver."""
    data = comparisons()
    made = {}
    for d in (1, 2, 3):
        for loss in loss_names():
            made[f"auto {loss} {d}"] = OrdinalEmbedding(d, loss=loss, random_state=0).fit(data)
    for solver in SOLVERS:
        made[f"{solver} tste 2"] = OrdinalEmbedding(2, solver=solver, random_state=0, max_seconds=None).fit(data)
    return {name: np.append(model.embedding_.ravel(), model.objective_) for name, model in made.items()}


if __name__ == "__main__":
    np.savez_compressed(HERE / "fits.npz", **fits())
    (HERE / "machine.json").write_text(json.dumps(machine(), indent=1) + "\n")
    model = OrdinalEmbedding(2, loss="tste", random_state=0).fit(comparisons())
    model.save(HERE / f"cities-{nearer.__version__}.nearer", force=True)
