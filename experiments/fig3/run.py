"""Run Figure 3: its table is part of that of Table 2."""

from __future__ import annotations

from typing import Any

from experiments.table2 import run as table2
from experiments.table2.config import K
from experiments.tables import read_csv, write_csv
from experiments.trials import Lab

EXPERIMENT = "fig3"


def run(lab: Lab) -> dict[str, Any]:
    """Run the trials of Table 2 that are missing; write Recall@K at the highest noise, one row for each K."""
    settings = table2.run(lab)
    noise = max(settings["noises"])
    rows = [
        {
            **{name: row[name] for name in ("dataset", "loss", "method", "noise", "draws")},
            "k": k,
            "recall_mean": row[f"recall_at_{k}_mean"],
            "recall_std": row[f"recall_at_{k}_std"],
        }
        for row in read_csv(lab.results("table2") / "table2.csv")
        if row["noise"] == noise
        for k in K
    ]
    write_csv(lab.results(EXPERIMENT) / "recall.csv", rows)
    return {"noise": noise, "trials": "those of table2", **settings}
