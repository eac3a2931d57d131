"""Saved models: round trips, refusals, and files with flipped bytes."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import operator
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import nearer
from nearer import CKL, GNMDS, SOE, STE, TSTE, Comparisons, FeatureMap, OrdinalEmbedding, datasets
from nearer.io import FileFormatError
from nearer.losses import TSTELoss
from nearer.solvers import LBFGS, SBB, SVRG
from nearer.warning_types import ReproducibilityWarning, UnseenObjectsWarning

SEAL = b"nearer-model sha256:"
GOLDEN = Path(__file__).parent / "golden"


def comparisons(labels=True, **more):
    P = datasets.make_points(12, 2, random_state=0)
    names = [f"Ort {k} – ü" for k in range(12)] if labels else None
    data = Comparisons.from_points(P, 200, random_state=0, labels=names)
    return Comparisons(data.index, 12, labels=names, **more)


def saved(tmp_path, estimator=None, **options):
    estimator = OrdinalEmbedding(2, random_state=0).fit(comparisons()) if estimator is None else estimator
    estimator.save(tmp_path / "map.nearer", **options)
    return estimator, nearer.load(tmp_path / "map.nearer")


def resealed(content, seal=SEAL):
    body = content[: -len(seal) - 64]
    return body + seal + hashlib.sha256(body).hexdigest().encode()


def rewritten(path, edit=lambda header: None, compression=zipfile.ZIP_STORED, sizes=None, **arrays):
    """The file with its header passed through `edit`, and bytes of other arrays, all checksums made right again.

    `sizes` are lengths that the archive names for members in place of the true ones.
    """
    with zipfile.ZipFile(path) as archive:
        members, seal = {name: archive.read(name) for name in archive.namelist()}, archive.comment[:-64]
    members |= {f"{name}.npy": data for name, data in arrays.items()}
    header = json.loads(members["header.json"])
    edit(header)
    for name, about in header["arrays"].items():
        about["sha256"] = hashlib.sha256(members[f"{name}.npy"]).hexdigest()
    members["header.json"] = json.dumps(header).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        archive.comment = seal + b"0" * 64
        for name, data in members.items():
            archive.writestr(name, data)
        for name, size in (sizes or {}).items():
            archive.getinfo(name).file_size = size
    path.write_bytes(resealed(buffer.getvalue(), seal))


def setting(value, *way):
    def edit(header):
        *steps, last = way
        functools.reduce(operator.getitem, steps, header)[last] = value

    return edit


def test_round_trip_gives_the_same_bits(tmp_path):
    data = comparisons(weights=np.linspace(0.5, 2, 200), participants=[f"p{k % 7}" for k in range(200)])
    data = data[(data.index > 0).all(axis=1)]  # the first object has no place
    with pytest.warns(UnseenObjectsWarning):
        before, after = saved(tmp_path, OrdinalEmbedding(2, loss="ckl", random_state=4).fit(data))
    for name in ("embedding_", "labels_"):
        np.testing.assert_array_equal(getattr(after, name), getattr(before, name))
        assert getattr(after, name).dtype == getattr(before, name).dtype
    np.testing.assert_array_equal(after.result_.embedding, before.result_.embedding)
    for name in ("n_objects_", "n_features_in_", "objective_", "n_iter_", "history_", "loss_", "comparisons_"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.get_params() == before.get_params()
    assert (after.result_.message, after.result_.converged) == (before.result_.message, before.result_.converged)
    np.testing.assert_array_equal(after.predict_proba(data), before.predict_proba(data))
    after.save(tmp_path / "again.nearer")
    assert (tmp_path / "again.nearer").read_bytes() == (tmp_path / "map.nearer").read_bytes()


@pytest.mark.parametrize(("name", "wrote", "expected"), [
    ("TSTE", {"dict": {"alpha": 4.0}}, TSTE(alpha=4.0)), ("TSTE", None, TSTE()),
    ("CKL", {"dict": {"delta": 0.5}}, CKL(delta=0.5)), ("SOE", None, SOE()),
])  # fmt: skip
def test_version_0_1_0_kept_the_parameters_of_a_loss_apart(tmp_path, name, wrote, expected):
    saved(tmp_path, getattr(nearer, name)().fit(comparisons()))

    def as_before(header):
        parameters = header["estimator"]["parameters"]
        for own in ("alpha", "delta"):
            parameters.pop(own, None)
        parameters["loss_params"] = wrote
        parameters["solver"] = {"part": ["SVRG", {"max_epochs": 7, "first_snapshot": 1.0}]}  # the latter is gone

    rewritten(tmp_path / "map.nearer", as_before)
    expected.set_params(solver=SVRG(max_epochs=7))
    assert nearer.load(tmp_path / "map.nearer").get_params() == expected.get_params()


def test_a_loaded_model_goes_on_as_the_saved_one_would(tmp_path):
    before, after = saved(tmp_path)
    rows = {"anchor": ["neu", "Ort 3 – ü"], "near": ["Ort 1 – ü", "neu"], "far": ["Ort 2 – ü", "Ort 4 – ü"]}
    np.testing.assert_array_equal(before.place(rows).embedding, after.place(rows).embedding)
    np.testing.assert_array_equal(before.partial_fit(rows).embedding_, after.partial_fit(rows).embedding_)


@pytest.mark.parametrize("estimator", [
    GNMDS(2, random_state=0), CKL(3, delta=0.1, random_state=0), STE(1, solver="gd", random_state=0),
    TSTE(2, alpha=3.0, solver=SVRG(step=SBB(epsilon=0.5), max_epochs=3), random_state=0, n_jobs=1),
    SOE(2, solver=LBFGS(max_epochs=5), random_state=0, max_seconds=10.0),
    OrdinalEmbedding(2, loss=TSTELoss(alpha=3.0), init=np.ones((12, 2)) + np.arange(24).reshape(12, 2)),
], ids=lambda estimator: type(estimator).__name__)  # fmt: skip
def test_every_class_and_parameter_comes_back(tmp_path, estimator):
    before, after = saved(tmp_path, estimator.fit(comparisons(labels=False)))
    assert type(after) is type(before)
    assert after.labels_ is None
    for name, value in before.get_params(deep=False).items():
        np.testing.assert_equal(getattr(after, name), value)
    np.testing.assert_array_equal(after.embedding_, before.embedding_)


def test_a_feature_map_travels_with_the_model(tmp_path):
    features = datasets.make_points(12, 4, random_state=1)
    estimator = OrdinalEmbedding(2, random_state=0).fit(comparisons())
    learnt = FeatureMap(gamma="cv", random_state=0, cv=3).fit(features, estimator)
    _, after = saved(tmp_path, estimator, feature_map=learnt)
    np.testing.assert_array_equal(after.feature_map_.predict(features), learnt.predict(features))
    assert after.feature_map_.get_params() == learnt.get_params()
    assert after.feature_map_.gamma_ == learnt.gamma_
    with pytest.raises(ValueError, match="features"):
        after.feature_map_.predict(features[:, :3])
    after.save(tmp_path / "again.nearer")
    assert hasattr(nearer.load(tmp_path / "again.nearer"), "feature_map_")


def test_without_comparisons_the_model_scores_but_is_not_fitted_further(tmp_path):
    before, after = saved(tmp_path, with_comparisons=False)
    assert after.score(comparisons()) == before.score(comparisons())
    with pytest.raises(ValueError, match="without its comparisons"):
        after.partial_fit(comparisons())


def test_what_cannot_be_saved_is_refused_or_left_out(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        OrdinalEmbedding().save(tmp_path / "map.nearer")
    estimator = OrdinalEmbedding(2, callbacks=[lambda row, state: False], random_state=np.random.default_rng(0))
    estimator.fit(comparisons())
    with pytest.warns(ReproducibilityWarning, match="callbacks|random_state") as told:
        estimator.save(tmp_path / "a.nearer")
    assert [one.filename for one in told] == [__file__, __file__]
    again = nearer.load(tmp_path / "a.nearer")
    assert (again.callbacks, again.random_state) == (None, None)

    class Own(OrdinalEmbedding):
        pass

    with pytest.raises(ValueError, match="got Own, expected"):
        Own(2, random_state=0).fit(comparisons()).save(tmp_path / "c.nearer")
    with pytest.raises(ValueError, match="FeatureMap instance is not fitted"):
        estimator.save(tmp_path / "c.nearer", feature_map=FeatureMap())
    assert not (tmp_path / "c.nearer").exists()


@pytest.mark.parametrize("content", [b"", b"anchor,near,far\n1,2,3\n", b"PK\x03\x04", b"\x00" * 500])
def test_foreign_files_are_refused_by_name(tmp_path, content):
    (tmp_path / "other.nearer").write_bytes(content)
    with pytest.raises(ValueError, match=r"other\.nearer: is not a model that nearer saved"):
        nearer.load(tmp_path / "other.nearer")


def test_no_flipped_or_missing_byte_passes(tmp_path):
    saved(tmp_path, feature_map=FeatureMap().fit(datasets.make_points(12, 4, random_state=1), np.ones((12, 2))))
    path = tmp_path / "map.nearer"
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [content + b"x", *(content[:length] for length in [*range(0, len(content), 97), len(content) - 1])]
    for place in [*range(60), *rng.integers(len(content), size=600), *range(len(content) - 120, len(content))]:
        damaged.append(content[:place] + bytes([content[place] ^ int(rng.integers(1, 256))]) + content[place + 1 :])
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(FileFormatError, match=r"map\.nearer: "):
            nearer.load(path)


def test_flipped_bytes_under_a_right_seal_never_crash_and_never_change_the_map(tmp_path):
    before, _ = saved(tmp_path)
    path = tmp_path / "map.nearer"
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    n_refused = 0
    for place in rng.integers(len(content) - len(SEAL) - 64, size=400):
        damaged = bytearray(content)
        damaged[place] ^= int(rng.integers(1, 256))
        path.write_bytes(resealed(bytes(damaged)))
        try:
            after = nearer.load(path)
        except FileFormatError:
            n_refused += 1
        else:  # the flip was in a part without meaning, such as a file attribute
            np.testing.assert_array_equal(after.embedding_, before.embedding_)
            assert after.comparisons_ == before.comparisons_
    assert n_refused > 300


@pytest.mark.parametrize(("value", "way", "message"), [
    ("1", ["format"], "has format '1'"), (3, ["format"], r"map\.nearer: was written by nearer .* in format 3"),
    ("Evil", ["estimator", "class"], "KeyError: 'Evil'"),
    ({"part": ["os.system", {}]}, ["estimator", "parameters", "solver"], "KeyError: 'os.system'"),
    ({"part": ["SVRG", {"evil": 1}]}, ["estimator", "parameters", "solver"], "is not a complete model"),
    (1, ["estimator", "parameters", "evil"], "is not a complete model"),
    ([], ["estimator"], "is not a complete model"),
    (13, ["estimator", "comparisons", "n_objects"], "map.nearer"), ({}, ["arrays"], "header"),
])  # fmt: skip
def test_a_wrong_header_is_refused(tmp_path, value, way, message):
    saved(tmp_path)
    rewritten(tmp_path / "map.nearer", setting(value, *way))
    with pytest.raises(FileFormatError, match=message):
        nearer.load(tmp_path / "map.nearer")


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "data", "message"), [
    ("embedding", npy(np.array([{}], dtype=object), allow_pickle=True), "not as in the header"),
    ("embedding", npy(np.ones((12, 3))), "not as in the header"),
    ("embedding", npy(np.ones((12, 2)))[:-8], "cannot be read"),
    ("comparisons_index", npy(np.full((200, 3), 1, dtype=np.int32)), "is not a complete model"),
])  # fmt: skip
def test_a_wrong_array_is_refused(tmp_path, name, data, message):
    saved(tmp_path)
    rewritten(tmp_path / "map.nearer", **{name: data})
    with pytest.raises(FileFormatError, match=message):
        nearer.load(tmp_path / "map.nearer")


def test_any_zip_tool_can_read_the_arrays(tmp_path):
    before, _ = saved(tmp_path)
    with zipfile.ZipFile(tmp_path / "map.nearer") as archive:
        assert archive.testzip() is None
        array = np.load(io.BytesIO(archive.read("embedding.npy")), allow_pickle=False)
    np.testing.assert_array_equal(array, before.embedding_)


SETS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1], [0, 0, 1]])  # the last is an attention check
PEOPLE = ["p", "q", "q", "p", "r"]
DETAILS = {
    "seconds": [1.5, 2, np.nan, 0.5, 3], "order": [1, 2, 3, -1, 5], "side": [0, 1, 0, -1, 1],
    "catch": [False, True, False, False, False], "correct": [-1, 0, -1, -1, 1],
    "chosen_by": ["random", "catch", "auto", "random", "catch"],
}  # fmt: skip
GIVEN = {"participants": PEOPLE, "details": DETAILS, "on_degenerate": "drop"}


@pytest.mark.parametrize("data", [
    Comparisons(SETS, **GIVEN),
    Comparisons.from_odd_one_out(SETS, SETS[:, 2], **GIVEN),
    Comparisons.from_most_central(SETS, SETS[:, 2], weights=[1, 2, 0.5, 1, 1], on_degenerate="drop"),
    Comparisons.from_rankings([0, 1, 2], [[1, 2, 3], [3, 2, 0], [0, 2, 1]], on_degenerate="drop"),
    Comparisons.from_answers(SETS[:4], [[3, 1], [0, 2], [2, 2], [0, 0]], participants=[7, 7, 8, 9]),
    Comparisons.from_quadruplets([[0, 1, 0, 2], [0, 1, 1, 0], [2, 3, 0, 1]], on_degenerate="drop"),
    Comparisons.concat([Comparisons(SETS[:4]), Comparisons.from_odd_one_out(SETS[:4], SETS[:4, 2])]),
], ids=["triplets", "odd-one-out", "most-central", "rankings", "votes", "quadruplets", "two kinds"])  # fmt: skip
def test_answers_come_back_with_all_that_is_known_of_them(tmp_path, data):
    model = OrdinalEmbedding(1, random_state=0).fit(data)
    _, after = saved(tmp_path, model)
    assert after.comparisons_ == data
    assert after.comparisons_.answers.kinds() == data.answers.kinds()
    assert after.comparisons_.n_answers == data.n_answers
    assert after.comparisons_.dropped == data.dropped


def claim(shape, dtype="<f8", data=b""):
    """An array that is said to have a shape and dtype, over some bytes."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return {"dtype": dtype, "shape": list(shape)}, buffer.getvalue() + data


SHAPES = [
    (2 * 10**9, 0), (10**15, 0), (10**30, 0), (0, 10**15), (10**15,), (10**30,), (10**10, 10**10), (2**32, 2**32),
    (-1, 0), (-8,), (-1, -1), (-(10**15), 0), (),
]  # fmt: skip
CLAIMS = [*((shape, "<f8") for shape in SHAPES), ((2 * 10**9,), "<U0"), ((10**15, 1), "<U0"), ((2,), "<U500000000")]
COMPARISONS = ["estimator", "comparisons"]
READ_ALL = """
import pathlib, resource, sys, nearer
from nearer.solvers.checkpoint import Checkpoint
held = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 2**27, held + 2**27))
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    try:
        Checkpoint(path, resume=True) if path.suffix == ".checkpoint" else nearer.load(path)
        print(path.name, "read")
    except Exception as error:
        print(path.name, type(error).__name__ if str(path) in str(error) else error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits the memory of a process")
def test_no_memory_is_taken_on_the_word_of_a_file(tmp_path):
    """Counts and shapes that the bytes do not bear out are refused, by a process that has little memory."""
    folder = tmp_path / "files"
    folder.mkdir()
    model, answered, run = (folder / name for name in ("whole.nearer", "answers.nearer", "whole.checkpoint"))
    OrdinalEmbedding(2, random_state=0).fit(comparisons()).save(model)
    OrdinalEmbedding(1, random_state=0).fit(Comparisons.from_odd_one_out(SETS, SETS[:, 2], **GIVEN)).save(answered)
    with pytest.raises(ZeroDivisionError):
        OrdinalEmbedding(2, solver="svrg", callbacks=[lambda *_: 1 / 0]).fit(comparisons(), checkpoint=run)
    expected = dict.fromkeys([path.name for path in folder.iterdir()], "read")

    def hostile(source, edit=lambda header: None, **more):
        path = folder / f"{len(expected)}{source.suffix}"
        path.write_bytes(source.read_bytes())
        rewritten(path, edit, **more)
        expected[path.name] = "FileFormatError"

    for shape, dtype in CLAIMS:
        about, data = claim(shape, dtype)
        for source, name in ((model, "embedding"), (model, "labels"), (model, "history_objective"), (run, "array_0")):
            hostile(source, setting(about, "arrays", name), **{name: data})
    for count in (-1, 0, 11, 2**31, 10**15, 10**30):
        hostile(model, setting(count, *COMPARISONS, "n_objects"))
        hostile(model, setting(count, *COMPARISONS, "n_answers"))
        hostile(answered, setting(count, *COMPARISONS, "n_objects"))
        hostile(answered, setting(count, *COMPARISONS, "n_answers"))
    for name, length in (("comparisons_answer", 8), ("answers_participant", 5), ("answers_chosen_by", 5)):
        for code in (-1, 2**31 - 1):
            hostile(answered, **{name: npy(np.full(length, code, np.int32))})
    bomb = npy(np.zeros((3 * 2**23, 1), dtype="<f8"))  # 192 MiB
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
        hostile(model, compression=compression, sizes={"embedding.npy": 320}, embedding=bomb)
    command = [sys.executable, "-c", READ_ALL, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert dict(line.split(" ", 1) for line in done.stdout.splitlines()) == expected
