"""Run Figure 3: its table is part of that of Table 2."""

from __future__ import annotations

import json
from typing import Any

from experiments import registry
from experiments.claims_retrieval import shortest
from experiments.table2.config import K
from experiments.tables import Row, read_csv, where, write_csv
from experiments.trials import Lab

EXPERIMENT = "fig3"


def run(lab: Lab) -> dict[str, Any]:
    """Write Recall@K at the highest noise, one row for each K, from the table of Table 2, which is run if need be.

    By the procedure as printed with tuned settings after equal work, and by the authors' with theirs at their horizon.
    """
    if not registry.has_run(lab, "table2"):
        registry.run(lab, "table2")
    table = read_csv(lab.results("table2") / "table2.csv")
    noisy = where(table, noise=max(row["noise"] for row in table))
    rows = [*_rows("printed", _printed(noisy)), *_rows("authors", _authors(noisy))]
    write_csv(lab.results(EXPERIMENT) / "recall.csv", rows)
    record = json.loads((lab.results("table2") / "run.json").read_text(encoding="utf-8"))
    return {"noise": noisy[0]["noise"], "trials": "those of table2", "commit of table2": record["commit"]}


def _printed(rows: list[Row]) -> list[Row]:
    kept = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        mine = where(rows, dataset=dataset, procedure=None)
        kept += where(mine, method="raw") + shortest(where(mine, settings="tuned"))
    return kept


def _authors(rows: list[Row]) -> list[Row]:
    """The longest run of each method at the authors' settings."""
    last = {}
    for row in sorted((row for row in rows if row["procedure"] is not None), key=lambda row: row["budget"]):
        if row["settings"] in ("authors", None):
            last[row["dataset"], row["loss"], row["method"]] = row
    return list(last.values())


def _rows(procedure: str, table: list[Row]) -> list[Row]:
    return [
        {
            "dataset": row["dataset"], "procedure": procedure, "loss": row["loss"], "method": row["method"],
            "noise": row["noise"], "draws": row["draws"], "k": k,
            "recall_mean": row[f"recall_at_{k}_mean"], "recall_std": row[f"recall_at_{k}_std"],
        }
        for row in table for k in K
    ]  # fmt: skip
