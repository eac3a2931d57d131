"""What is fuzzed: random calls of the API, damaged files for every reader, pages of hostile labels.

A case is a function of what it draws: from a seed, or from bytes that a fuzzer makes (`Drawn`). It may end well or by
an error that the documentation names; anything else is a finding.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import shutil
import tempfile
import warnings
import zipfile
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from scipy.io import savemat
from sklearn.exceptions import NotFittedError

import nearer
from nearer import CKL, STE, TSTE, Comparisons, Layout, OrdinalEmbedding, load
from nearer.check import check
from nearer.coordinates import read_embedding, write_embedding
from nearer.io import FileFormatError, open_blocks, read_comparisons, write_comparisons
from nearer.io.coerce import as_comparisons
from nearer.metrics import comparison_accuracy, log_loss, procrustes_distance, worst_comparisons
from nearer.reports import Report
from nearer.reports.thumbnails import load_thumbnails
from nearer.selection import Evaluation
from nearer.solvers import GD, LBFGS, SGD, SVRG, Auto
from nearer.solvers.checkpoint import Checkpoint

DOCUMENTED = (ValueError, OSError, NotFittedError)
ROWS = np.array([[0, 1, 2], [3, 2, 1], [1, 0, 3], [2, 3, 0], [4, 0, 1], [1, 4, 2]])
NAMES = np.array(["ada", "bob", "cyd", "dee", "eve"])
CORPUS = Path(__file__).parent / "corpus"
PICTURES = (".png", ".jpg", ".gif", ".webp")
# Read in a process of their own, which takes a hundred times as long.
SLOW, SHARE_OF_SLOW = (".mat", ".xlsx"), 0.003


class Drawn:
    """Draws from bytes as a NumPy generator does from a seed, as far as the cases need it; zeros at the end."""

    def __init__(self, data):
        self.data, self.place = data, 0

    def _bytes(self, count):
        taken = self.data[self.place : self.place + count]
        self.place += count
        return np.frombuffer(taken + bytes(count - len(taken)), np.uint8)

    def random(self, size=None):
        return self._made(lambda drawn: drawn / 256, size)

    def normal(self, size=None):
        return self._made(lambda drawn: drawn / 64 - 2, size)

    def integers(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        return self._made(lambda drawn: low + drawn.astype(int) % (high - low), size)

    def choice(self, given, size=None, replace=True):
        given = np.array(given)
        if replace:
            return given[self.integers(len(given), size=size)]
        return given[np.argsort(self.random(len(given)), kind="stable")[:size]]

    def _made(self, make, size):
        made = make(self._bytes(int(np.prod(size)) if size is not None else 1))
        return made.reshape(size) if size is not None else made[0]


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


def _table(rng):
    """Columns by name, some of them well known, with cells of any kind."""
    columns = rng.choice(["anchor", "near", "far", "a", "b", "answer", "odd", "weight", "seconds", "age"], size=4)
    return {str(name): _maybe(rng, NAMES[ROWS[:, 0]].tolist()) for name in columns}


def _layout(rng):
    """A declaration, which need not fit the file."""
    said = {
        "kind": "triplets", "header_row": int(rng.integers(2)), "index_base": 1, "on_bad_rows": "drop",
        "missing": ["NA"], "decimal_comma": True, "skip_rows": 1, "where": {"anchor": "a"}, "strict": True,
    }  # fmt: skip
    chosen = rng.choice(list(said), size=2, replace=False)
    columns = {"anchor": 1, "near": 2, "far": 3} if rng.random() < 0.5 else {}
    return Layout(**{name: said[name] for name in chosen}, **columns)


def _solver(rng):
    kinds = {
        Auto: {"guide": 2, "penalty": 0.1},
        SVRG: {"step": 0.1},
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


def call_api(rng):
    """One random use of the library."""
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
        lambda: read_comparisons(_table(rng)),
        lambda: as_comparisons(_table(rng), _maybe(rng, None), _maybe(rng, None)),
        lambda: Comparisons.from_classes(_maybe(rng, [0, 0, 1, 1]), _maybe(rng, 5), random_state=_maybe(rng, 0)),
        lambda: Comparisons.from_distances(_maybe(rng, np.abs(rng.normal(size=(4, 4)))), _maybe(rng, 5)),
        lambda: Comparisons.from_points(points, _maybe(rng, 5), kind=_maybe(rng, "triplets"), noise=_maybe(rng, 0.1)),
        lambda: Comparisons.from_knn_graph(_maybe(rng, np.eye(4)[::-1]), _maybe(rng, 5)),
        lambda: Comparisons.concat(_maybe(rng, [Comparisons(ROWS), _maybe(rng, Comparisons(ROWS))])),
        lambda: Comparisons(ROWS).relabelled(_maybe(rng, NAMES)),
        lambda: check(Comparisons(ROWS)[slice(*rng.integers(-9, 9, 2))]),
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


def damaged(name, data, rng):
    """A damaged copy of a file; archives are damaged inside, too, with checksums made right again."""
    if not data.startswith(b"PK") or rng.random() < 0.5:
        return mutated(data, rng)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:  # one of the corpus
        return mutated(data, rng)
    chosen = list(members)[rng.integers(len(members))]
    members[chosen] = mutated(members[chosen], rng)
    if name.endswith(".nearer"):
        return _resealed(members)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content)
    return buffer.getvalue()


def _resealed(members):
    """A model file of these members whose checksums are right, so that the reader believes it."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        header = json.loads(members["header.json"])
        for name, about in header["arrays"].items():
            about["sha256"] = hashlib.sha256(members[f"{name}.npy"]).hexdigest()
        members["header.json"] = json.dumps(header).encode()
    seal = b"nearer-model sha256:"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * (len(seal) + 64)
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content)
    body = buffer.getvalue()[: -len(seal) - 64]
    return body + seal + hashlib.sha256(body).hexdigest().encode()


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
            model = OrdinalEmbedding(1, solver=GD(max_epochs=1), random_state=0)
            model.fit(named, checkpoint=folder / "run.checkpoint").save(folder / "model.nearer")
        savemat(folder / "old.mat", {"triplets": ROWS, "labels": NAMES.astype(object)})
        with contextlib.suppress(ImportError):
            import openpyxl

            book = openpyxl.Workbook()
            for row in (["anchor", "near", "far"], *NAMES[ROWS].tolist()):
                book.active.append(row)
            book.save(folder / "sheet.xlsx")
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
        wild = {"delimiter": ",", "encoding": "latin-1", "n_objects": 9, "sheet": "labels", "layout": _layout(rng)}
        chosen = rng.choice(list(wild), size=2, replace=False)
        options = {name: wild[name] for name in chosen}
    if path.suffix in PICTURES:
        readers = [lambda: load_thumbnails(folder, [path.stem])]
    elif name.endswith(".nearer"):
        readers = [lambda: load(path).score(ROWS)]
    elif name.endswith(".checkpoint"):
        readers = [lambda: Checkpoint(path, resume=True)]
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
    """Damaged files, one for each draw."""

    def __init__(self):
        self.seeds = seed_files()
        for path in CORPUS.iterdir():
            self.seeds[f"corpus-{path.name}"] = path.read_bytes()
        self.slow = [name for name in self.seeds if name.endswith(SLOW)]
        self.fast = [name for name in self.seeds if not name.endswith(SLOW)]
        self.folder = tempfile.mkdtemp(prefix="nearer-fuzz-")

    def __call__(self, rng):
        names = self.slow if rng.random() < SHARE_OF_SLOW else self.fast
        name = names[rng.integers(len(names))]
        read_file(name, damaged(name, self.seeds[name], rng), self.folder, rng)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- the report ----------------------------------------------------------------------------------------------------

WORDS = [
    "<script>alert(1)</script>", "</script>", "</style>", "<!--", "-->", "<![CDATA[", "]]>", "&", "&lt;",
    "'", '"', "`", "\\", "\\u003c", "\n", "\r", "\0", "\x1b[2J", "\u2028", "\u202e", "\ufeff", "\ud800", "🦄", "שלום",
    "{{data}}", "{data}", "%s", "${x}", "javascript:alert(1)", "onerror=alert(1)", "=1+1", "x" * 3_000, "", " ", "a",
    "b", "&#x3c;b&#x3e;", "<svg/onload=alert(1)>", "<a href=http://x>", "__proto__", "constructor", "NaN", "1e999",
]  # fmt: skip


class _Page(HTMLParser):
    """Tags with their attributes, and the data of the page."""

    def __init__(self):
        super().__init__()
        self.tags, self.data, self.inside = [], "", False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag == "script" and dict(attrs).get("type") == "application/json"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        self.data += data if self.inside else ""


def _word(rng):
    return "".join(WORDS[rng.integers(len(WORDS))] for _ in range(rng.integers(1, 4)))


def _some_report(rng, word, n=5):
    """A report whose texts are all of the making of `word`."""
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    labels = [f"{word(rng)}{number}" for number in range(n)]
    more = {
        "subtitle": word(rng), "command": word(rng), "groups": [word(rng) for _ in range(n)],
        "facts": {word(rng): word(rng), "Seed": 1},
        "violations": worst_comparisons(X, Comparisons(ROWS, labels=labels)),
        "check": check(Comparisons(ROWS, labels=labels, participants=[word(rng) or "?" for _ in ROWS]), 2).to_dict(),
        "evaluation": Evaluation(training=0.9, held_out=0.8), "history": {"epoch": [0, 1], "objective": [2.0, 1.0]},
    }  # fmt: skip
    return Report(word(rng), X, labels=labels, **more)


_TAGS = set()


def write_page(rng):
    """A page of hostile texts: no tag, attribute or script of theirs, and its data are JSON."""
    if not _TAGS:
        for seed in range(20):
            plain = _some_report(np.random.default_rng(seed), lambda rng: "word")
            _TAGS.update(tag for tag, _ in _read_page(plain).tags)
    try:
        page = _read_page(_some_report(rng, _word))
    except ValueError as error:
        if isinstance(error, UnicodeError):
            raise
        return
    assert {tag for tag, _ in page.tags} <= _TAGS, {tag for tag, _ in page.tags} - _TAGS
    assert sum(tag == "script" for tag, _ in page.tags) == 2
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        assert all(attributes.get(name, "#").startswith(("#", "data:")) for name in ("src", "href")), (tag, attributes)
    assert isinstance(json.loads(page.data), dict)


def _read_page(report):
    with tempfile.TemporaryDirectory() as folder:
        report.save(Path(folder) / "r.html")
        page = _Page()
        page.feed((Path(folder) / "r.html").read_text(encoding="utf-8"))
    page.close()
    return page


def report_of_a_map(rng):
    """The report of a map of objects with hostile names, from fit to page."""
    names = [f"{_word(rng)}{number}" for number in range(5)]
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(*DOCUMENTED):
        model = OrdinalEmbedding(2, solver=GD(max_epochs=2), random_state=0).fit(Comparisons(ROWS, labels=names))
        nearer.write_report(model, path=Path(folder) / "r.html", title=_word(rng), cv=0)


def make_page(rng):
    """One case of the report."""
    (report_of_a_map if rng.random() < 0.05 else write_page)(rng)


def case_of(target):
    """The function that runs one case of a target."""
    return {"api": lambda: call_api, "files": Files, "report": lambda: make_page}[target]()
