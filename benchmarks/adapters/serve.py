"""A worker that fits on request: JSON lines in, JSON lines out. Runs inside each competitor's own environment.

Needs nothing but the standard library and NumPy, so that an adapter can be run by any Python.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Fit = Callable[[str, np.ndarray, int, int, int], Any]
"""(loss, triplets, n_objects, n_components, seed) -> embedding (n_objects, n_components)"""


def serve(fit: Fit, about: dict[str, Any]) -> None:
    """Answer requests until standard input ends; only the fit itself is timed."""
    out = sys.stdout
    sys.stdout = sys.stderr  # a chatty library must not garble the answers
    print(json.dumps(about), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        with np.load(request["data"]) as data:
            triplets, n_objects = data["train"], int(data["n_objects"])
        try:
            started, used = time.perf_counter(), time.process_time()
            X = fit(request["loss"], triplets, n_objects, request["n_components"], request["seed"])
            seconds, processor_seconds = time.perf_counter() - started, time.process_time() - used
            np.save(request["out"], np.asarray(X, dtype=float))
            answer = {"seconds": seconds, "processor_seconds": processor_seconds}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=out, flush=True)
