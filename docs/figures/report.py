"""The report of a map, as a browser shows it (needs chromium on the path)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from nearer.cli import main

here = Path(__file__).resolve()
browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if browser is None:
    raise SystemExit("report.py: no chromium to take the picture with")
with tempfile.TemporaryDirectory() as folder:
    table = here.parents[2] / "src/nearer/datasets/data/eurodist.csv"
    answers, out = f"{folder}/answers.csv", f"{folder}/out"
    simulate = ["simulate", str(table), "--from", "distances", "-n", "1500", "--noise", "0.05", "-q", "-o", answers]
    main(simulate, standalone_mode=False)
    options = ["--loss", "ste", "--bootstrap", "100", "--dims", "1-4", "--title", "European cities", "-q"]
    main(["fit", answers, "-o", out, *options], standalone_mode=False)
    subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1500",
         "--virtual-time-budget=3000", f"--screenshot={here.with_suffix('.png')}", f"file://{out}/report.html"],
        check=True, capture_output=True,
    )  # fmt: skip
