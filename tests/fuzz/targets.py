"""What is fuzzed: random calls of the API, and damaged files for every reader.

A case is a function of a seed. It may end well or by an error that the documentation names; anything else is a finding.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import shutil
import tempfile
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from sklearn.exceptions import NotFittedError

from nearer import CKL, STE, TSTE, Comparisons, OrdinalEmbedding, load
from nearer.io import FileFormatError, open_blocks, read_comparisons, read_embedding, write_comparisons, write_embedding
from nearer.metrics import comparison_accuracy, log_loss, procrustes_distance, worst_comparisons
from nearer.reporting.thumbnails import load_thumbnails
from nearer.solvers import GD, LBFGS, SGD, SVRG, Auto

DOCUMENTED = (ValueError, OSError, NotFittedError)
ROWS = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0], [4, 0, 1], [1, 4, 2]])
NAMES = np.array(["ada", "bob", "cyd", "dee", "eve"])
CORPUS = Path(__file__).parent / "corpus"

# ---- the API -------------------------------------------------------------------------------------------------------

ODD = [
    None, True, False, 0, 1, -1, 2, 3, 10**25, -(2**63), 2**31, 0.5, -0.0, 1e308, float("nan"), float("inf"), 1j, "",
    "x", "0", "a" * 1_000, "\0", "\ud800", b"x", [], {}, (), set(), object(), Fraction(1, 3), np.float32(1),
    np.int8(-1), np.datetime64("NaT"), pd.NA, pd.NaT, lambda: 0, np.array(3), np.array([]), np.ones((2, 2, 2)),
    range(3), Comparisons,
]  # fmt: skip


def _array(rng):
    """Something that may or may not be comparisons."""
    kinds = ("i1", "i4", "i8", "u1", "u8", "f4", "f8", "O", "U3", "?", "c16", "M8[s]", "S2", "f2", ">i4")
    shape = tuple(rng.choice([0, 1, 2, 3, 3, 3, 4, 5], size=rng.integers(1, 4)))
    if rng.random() < 0.7:
        shape = (int(rng.integers(0, 12)), int(rng.choice([3, 4])))
    values = rng.integers(-1 if rng.random() < 0.2 else 0, 6, size=shape)
    made = values.astype(rng.choice(kinds))
    if made.size and rng.random() < 0.2:
        made = made.astype(object)
        made.reshape(-1)[rng.integers(made.size)] = _odd(rng)
    choice = rng.integers(6)
    if choice == 0:
        return made.tolist()
    if choice == 1 and made.ndim == 2:
        names = ["anchor", "near", "far", "weight", "participant", "i", "j", "l", "k", "answer", "near", 0, None]
        return pd.DataFrame(made, columns=[names[c] for c in rng.integers(len(names), size=made.shape[1])])
    if choice == 2:
        return np.ma.masked_array(made, mask=rng.random(made.shape) < 0.1)
    if choice == 3:
        return np.asfortranarray(made)[::-1]
    return made


def _odd(rng):
    return ODD[rng.integers(len(ODD))]


def _maybe(rng, good, share=0.8):
    return good if rng.random() < share else _odd(rng)


def _rows(rng):
    return ROWS if rng.random() < 0.5 else _array(rng)


def _solver(rng):
    kinds = {
        Auto: {"warm_up": 1.0, "smoothing": 1.0, "growth": 2.0, "first_batch": 20.0},
        SVRG: {"step": 0.1, "warm_up": 0.0, "first_snapshot": 1.0},
        SGD: {"step": 0.1},
        GD: {},
        LBFGS: {"memory": 3},
    }
    kind = list(kinds)[rng.integers(len(kinds))]
    common = {"max_epochs": 3, "tol": 1e-3, "patience": 2, "output": "best", "grad_tol": 0.0}
    own = {name: _maybe(rng, value) for name, value in kinds[kind].items() if rng.random() < 0.5}
    own |= {name: _maybe(rng, value, 0.9) for name, value in common.items()}
    own["max_epochs"] = min(own["max_epochs"], 3) if isinstance(own["max_epochs"], int) else own["max_epochs"]
    return kind(**own)


def call_api(seed):
    """One random use of the library."""
    rng = np.random.default_rng(seed)
    extra = {}
    for name, good in {
        "n_objects": 6,
        "weights": np.ones(len(ROWS)),
        "labels": list(NAMES),
        "on_degenerate": "drop",
    }.items():
        if rng.random() < 0.3:
            extra[name] = _maybe(rng, good, 0.5)
    points = _maybe(rng, rng.normal(size=(6, 2)), 0.7)
    calls = [
        lambda: Comparisons(_rows(rng), **extra),
        lambda: Comparisons.from_triplets(_rows(rng), **extra),
        lambda: Comparisons.from_quadruplets(_array(rng), **extra),
        lambda: Comparisons.from_answers(_rows(rng), _maybe(rng, rng.choice([-1, 1], size=len(ROWS)), 0.5), **extra),
        lambda: Comparisons.from_odd_one_out(_rows(rng), _maybe(rng, ROWS[:, 0], 0.5), **extra),
        lambda: Comparisons.from_most_central(_rows(rng), _maybe(rng, ROWS[:, 1], 0.5), **extra),
        lambda: Comparisons.from_rankings(_maybe(rng, ROWS[:, 0]), _maybe(rng, ROWS[:, 1:]), k=_maybe(rng, 1)),
        lambda: Comparisons.from_labels_table(_maybe(rng, _array(rng))),
        lambda: Comparisons.from_classes(_maybe(rng, [0, 0, 1, 1]), _maybe(rng, 5), random_state=_maybe(rng, 0)),
        lambda: Comparisons.from_distances(_maybe(rng, np.abs(rng.normal(size=(4, 4)))), _maybe(rng, 5)),
        lambda: Comparisons.from_points(points, _maybe(rng, 5), kind=_maybe(rng, "triplets"), noise=_maybe(rng, 0.1)),
        lambda: Comparisons.from_knn_graph(_maybe(rng, np.eye(4)[::-1]), _maybe(rng, 5)),
        lambda: Comparisons.concat(_maybe(rng, [Comparisons(ROWS), _maybe(rng, Comparisons(ROWS))])),
        lambda: Comparisons(ROWS).relabelled(_maybe(rng, NAMES)),
        lambda: Comparisons(ROWS)[slice(*rng.integers(-9, 9, 2))].check(),
        lambda: comparison_accuracy(points, _rows(rng), _maybe(rng, None)),
        lambda: log_loss(points, _rows(rng), _maybe(rng, "ste")),
        lambda: procrustes_distance(points, _maybe(rng, points)),
        lambda: worst_comparisons(points, _rows(rng)),
        lambda: _fit(rng),
        lambda: _fit(rng),
        lambda: _fit(rng),
    ]
    with contextlib.suppress(*DOCUMENTED):
        calls[rng.integers(len(calls))]()


def _fit(rng):
    kind = (OrdinalEmbedding, STE, TSTE, CKL)[rng.integers(4)]
    options = {"n_components": 2, "n_init": 2, "init": "random", "n_objects": None, "max_seconds": 1.0, "n_jobs": 1}
    given = {name: _maybe(rng, value, 0.8) for name, value in options.items() if rng.random() < 0.3}
    model = kind(**given, solver=_solver(rng), random_state=_maybe(rng, 0, 0.95), verbose=0)
    model.fit(_rows(rng), _maybe(rng, None, 0.9), _maybe(rng, None, 0.9))
    rows = _rows(rng)
    steps = ("score", "predict", "predict_proba", "partial_fit", "place", "worst_comparisons", "transform")
    for name in rng.choice(steps, size=2):
        if name == "worst_comparisons":
            model.worst_comparisons(_maybe(rng, 3))
        else:
            getattr(model, name)(rows)


# ---- files ---------------------------------------------------------------------------------------------------------

TOKENS = [
    b"\0", b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"NaN", b"nan", b"1e999",
    b"-1", b"99999999999999999999", b"[" * 60, b"{" * 60, b"]", b"}", b"null", b"true", b"=1+1", b"anchor", b"near",
    b"#", b"a" * 5_000, b"\x80", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"PK\x03\x04", b"\x7f\xff\xff\xff", b"\xff" * 8,
]  # fmt: skip


def mutated(data, rng):
    """A copy with some bytes changed, cut, doubled, or words put in."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        place = int(rng.integers(len(data) + 1))
        choice = rng.integers(6)
        if choice == 0 and place < len(data):
            data[place] = rng.integers(256)
        elif choice == 1 and place < len(data):
            data[place] ^= 1 << rng.integers(8)
        elif choice == 2:
            data[place : place + int(rng.integers(1, 40))] = b""
        elif choice == 3:
            data[place:place] = data[place : place + int(rng.integers(1, 200))]
        elif choice == 4:
            data[place:place] = TOKENS[rng.integers(len(TOKENS))]
        else:
            data = data[: max(place, 1)]
        if not data:
            data = bytearray(b"0")
    return bytes(data)


def seed_files():
    """Good files of every kind, by name."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = Comparisons(ROWS)
        named = Comparisons(ROWS, labels=NAMES, weights=np.arange(1.0, 7), participants=list("xxyyzz"))
        for ending in ("csv", "tsv", "jsonl", "parquet", "npz"):
            write_comparisons(folder / f"named.{ending}", named)
            write_comparisons(folder / f"plain.{ending}", plain)
        (folder / "answers.csv").write_text("anchor,a,b,answer\n" + "ada,bob,cyd,left\nbob,ada,cyd,right\n" * 3)
        (folder / "odd.csv").write_text("a,b,c,odd\nada,bob,cyd,ada\nbob,dee,cyd,dee\n")
        (folder / "rows.json").write_text(json.dumps(ROWS.tolist()))
        (folder / "columns.json").write_text(json.dumps({"triplets": ROWS.tolist(), "labels": NAMES.tolist()}))
        (folder / "records.json").write_text(json.dumps([{"anchor": "a", "near": "b", "far": "c"}] * 3))
        (folder / "packed.csv.gz").write_bytes(gzip.compress((folder / "named.csv").read_bytes()))
        np.save(folder / "index.npy", ROWS)
        np.savez_compressed(folder / "packed.npz", triplets=ROWS, labels=NAMES)
        pq.write_table(pa.table({"anchor": NAMES, "near": NAMES[::-1], "far": np.roll(NAMES, 1)}), folder / "t.parquet")
        write_embedding(folder / "embedding.csv", np.arange(10.0).reshape(5, 2), NAMES)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            OrdinalEmbedding(1, solver=GD(max_epochs=1), random_state=0).fit(named).save(folder / "model.nearer")
        for form in ("png", "jpg", "gif", "webp"):
            buffer = io.BytesIO()
            picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (24, 24, 3), dtype=np.uint8))
            picture.save(buffer, "JPEG" if form == "jpg" else form.upper())
            (folder / f"picture.{form}").write_bytes(buffer.getvalue())
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def read_file(name, data, folder, rng=None):
    """Read bytes as the file of that name, in every way there is for it."""
    path = Path(folder) / name
    path.write_bytes(data)
    options = {}
    if rng is not None and rng.random() < 0.3:
        wild = {
            "kind": "triplets", "header": bool(rng.integers(2)), "delimiter": ",", "index_base": 1,
            "on_missing": "drop", "keep_na": True, "fold_names": True, "encoding": "latin-1", "n_objects": 9,
            "columns": "anchor,near,far",
        }  # fmt: skip
        chosen = rng.choice(list(wild), size=2, replace=False)
        options = {name: wild[name] for name in chosen}
    if name.startswith("picture"):
        readers = [lambda: load_thumbnails(folder, ["picture"])]
    elif name.endswith(".nearer"):
        readers = [lambda: load(path)]
    elif name == "embedding.csv":
        readers = [lambda: read_embedding(path)]
    else:
        readers = [lambda: read_comparisons(path, **options)]
        if path.suffix in (".npy", ".parquet"):
            readers.append(lambda: list(open_blocks(path).blocks(4)))
    for read in readers:
        try:
            read()
        except FileFormatError as error:
            assert name in str(error), error  # noqa: PT017
        except ValueError as error:  # an option that does not go with the file
            if isinstance(error, UnicodeError) or not options:
                raise
    path.unlink()


class Files:
    """Damaged files, one for each seed."""

    def __init__(self):
        self.seeds = seed_files()
        for path in CORPUS.iterdir():
            self.seeds[f"corpus-{path.name}"] = path.read_bytes()
        self.folder = tempfile.mkdtemp(prefix="nearer-fuzz-")

    def __call__(self, seed):
        rng = np.random.default_rng(seed)
        name = list(self.seeds)[rng.integers(len(self.seeds))]
        read_file(name, mutated(self.seeds[name], rng), self.folder, rng)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
