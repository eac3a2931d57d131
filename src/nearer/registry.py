"""Names, aliases, help and citations of losses, solvers, kinds of answers, question strategies and file formats.

Imports nothing of the library until an entry is loaded, so that the command line can list its choices at once.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Work:
    """A publication; authors as in BibTeX."""

    authors: str
    year: int
    title: str
    venue: str


@dataclass(frozen=True)
class Entry:
    """A name that users write, and what it refers to."""

    name: str
    help: str
    path: str = ""  # module:class, or module:function of a format
    aliases: tuple[str, ...] = ()
    has_model: bool = False  # loss: minus the log of a probability
    work: Work | None = None
    step: str = ""  # solver: the class of its step size, if there are several
    question: str = ""  # kind: as the study server asks it; empty if it does not
    is_suggested: bool = False  # kind: `nearer suggest` and `nearer plan` choose such questions
    endings: tuple[str, ...] = ()  # format: of files read as comparisons
    written: tuple[str, ...] = ()  # format: of files that comparisons are written to

    def load(self) -> Any:
        """The class or function that the path leads to."""
        module, _, name = self.path.partition(":")
        return getattr(importlib.import_module(module), name)


Entries = dict[str, Entry]


def _by_name(*entries: Entry) -> Entries:
    return {entry.name: entry for entry in entries}


def find(entries: Entries, name: Any) -> Entry | None:
    """The entry of a name or an alias; None if there is none."""
    if not isinstance(name, str):
        return None
    return next((entry for entry in entries.values() if name in (entry.name, *entry.aliases)), None)


def names(entries: Entries) -> tuple[str, ...]:
    """All names, then all aliases."""
    return (*entries, *(alias for entry in entries.values() for alias in entry.aliases))


_AGARWAL = Work(
    "Agarwal, Sameer and Wills, Josh and Cayton, Lawrence and Lanckriet, Gert and Kriegman, David and Belongie, Serge",
    2007, "Generalized non-metric multidimensional scaling", "AISTATS",
)  # fmt: skip
_TAMUZ = Work(
    "Tamuz, Omer and Liu, Ce and Belongie, Serge and Shamir, Ohad and Kalai, Adam Tauman",
    2011, "Adaptively learning the crowd kernel", "ICML",
)  # fmt: skip
_MAATEN = Work("van der Maaten, Laurens and Weinberger, Kilian", 2012, "Stochastic triplet embedding", "MLSP")
_TERADA = Work("Terada, Yoshikazu and von Luxburg, Ulrike", 2014, "Local ordinal embedding", "ICML")

_L, _S, _Q = "nearer.losses", "nearer.solvers", "nearer.questions.strategies"
_T, _O = "t-distributed stochastic triplet embedding", "a softened hinge of the distances, after soft ordinal embedding"

LOSSES = _by_name(
    Entry("hinge", "generalised non-metric multidimensional scaling", f"{_L}:HingeLoss", ("gnmds",), work=_AGARWAL),
    Entry("ckl", "the crowd kernel", f"{_L}:CKLLoss", has_model=True, work=_TAMUZ),
    Entry("ste", "stochastic triplet embedding", f"{_L}:STELoss", ("logistic",), has_model=True, work=_MAATEN),
    Entry("tste", _T, f"{_L}:TSTELoss", has_model=True, work=_MAATEN),
    Entry("soe", "soft ordinal embedding", f"{_L}:SOELoss", work=_TERADA),
    Entry("softplus", _O, f"{_L}:SoftplusLoss", work=_TERADA),
)
WITH_MODEL = ", ".join(entry.name for entry in LOSSES.values() if entry.has_model)  # for messages

SOLVERS = _by_name(
    Entry("auto", "a warm start, then L-BFGS in stages", f"{_S}.auto:Auto"),
    Entry("svrg-sbb", "SVRG with stabilised Barzilai-Borwein step sizes", f"{_S}.svrg:SVRG", step="SBB"),
    Entry("svrg-bb", "SVRG with Barzilai-Borwein step sizes", f"{_S}.svrg:SVRG", step="BB"),
    Entry("svrg", "SVRG with a constant step size", f"{_S}.svrg:SVRG", step="Constant"),
    Entry("sgd", "stochastic gradient descent", f"{_S}.sgd:SGD"),
    Entry("gd", "gradient descent", f"{_S}.gd:GD"),
    Entry("lbfgs", "limited-memory BFGS", f"{_S}.lbfgs:LBFGS"),
    Entry("convex", "projected gradient descent on the Gram matrix", f"{_S}.convex:Convex"),
)

_TWO, _THREE = "Which of these two is more like this one?", "Which of these three is the odd one out?"
_MANY = "Which of these are most like this one?"
KINDS = _by_name(
    Entry("triplets", "an anchor, the nearer and the farther object", question=_TWO, is_suggested=True),
    Entry("quadruplets", "two pairs of objects, the nearer pair first"),
    Entry("answers", "a question and the option chosen"),
    Entry("votes", "a question and how often each option was chosen"),
    Entry("odd-one-out", "three objects and the odd one", question=_THREE, is_suggested=True),
    Entry("most-central", "three objects and the most central one"),
    Entry("rankings", "an anchor and the options, those chosen as nearest first", question=_MANY),
)
SUGGESTED = {name: entry for name, entry in KINDS.items() if entry.is_suggested}
COLLECTED = {name: entry for name, entry in KINDS.items() if entry.question}

STRATEGIES = _by_name(
    Entry("auto", "predictive, once there are enough answers for a map", f"{_Q}:Predictive"),
    Entry("random", "uniformly at random", f"{_Q}:Random"),
    Entry("balanced", "every object equally often", f"{_Q}:Balanced"),
    Entry("uncertainty", "the answers that the map predicts least reliably", f"{_Q}:Uncertainty"),
    Entry("crowd-kernel", "the most information about the position of the anchor", f"{_Q}:CrowdKernel"),
    Entry("predictive", "the most information about answers to random questions", f"{_Q}:Predictive"),
)

_SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_TEXT, _LINES, _PARQUET = (".csv", ".tsv", ".txt", ".tab"), (".jsonl", ".ndjson"), (".parquet", ".pq")
FORMATS = _by_name(
    Entry("text", "delimited text", "nearer.io.text:open_text", endings=(*_TEXT, ".dat"), written=_TEXT),
    Entry("json", "JSON", "nearer.io.json:open_json", endings=(".json",)),
    Entry("jsonl", "JSON, one row per line", "nearer.io.json:open_jsonl", endings=_LINES, written=_LINES),
    Entry("parquet", "Parquet", "nearer.io.parquet:open_parquet", endings=_PARQUET, written=_PARQUET),
    Entry("numpy", "NumPy arrays", "nearer.io.arrays:open_numpy", endings=(".npy", ".npz"), written=(".npz",)),
    Entry("matlab", "MATLAB variables", "nearer.io.arrays:open_matlab", endings=(".mat",)),
    Entry("spreadsheet", "a sheet of a workbook", "nearer.io.sheets:open_spreadsheet", endings=_SHEETS),
)
# Endings of files that are written: answers, coordinates, pictures, reports
WRITTEN = tuple(ending for entry in FORMATS.values() for ending in entry.written)
POSITIONS = (".csv", ".npz", ".mat")
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
SIMILARITIES = ("cosine", "euclidean", "dot")  # of features of objects
