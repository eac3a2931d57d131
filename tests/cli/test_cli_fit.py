"""nearer fit: what it writes, says and refuses."""

from __future__ import annotations

import functools
import json
import logging
import os
import shlex

import numpy as np
import pytest

from nearer import load
from nearer.coordinates import read_embedding
from nearer.data import Comparisons
from nearer.estimator import OrdinalEmbedding
from nearer.io import read_comparisons, write_comparisons

FILES = ["out", "out/embedding.csv", "out/model.nearer", "out/report.html", "out/summary.json"]
QUICK = ("--cv", "0", "--n-init", "2")


def test_fit_writes_four_files_and_says_what_it_does(nearer, answers, tmp_path, tree):
    called = nearer("fit", "answers.csv", "-d", 2, "--loss", "ste", "-o", "out")
    assert called.code == 0
    assert tree(tmp_path) == ["answers.csv", *FILES]
    said = called.err.splitlines()
    assert said[0] == read_comparisons(answers).understood.replace(str(tmp_path), "")
    assert said[1] == "fitting: 2 dimensions, loss ste, solver auto, 1 start, seed 0"
    assert "held-out answers (5-fold cross-validation" in called.out
    assert called.out.endswith("wrote out/embedding.csv, out/model.nearer, out/summary.json, out/report.html\n")
    report = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "nearer fit answers.csv -d 2 --loss ste -o out" in report


def test_fit_is_the_library(nearer, answers, tmp_path):
    loss = ("--loss", "ckl", "--delta", 0.1)
    assert nearer("fit", "answers.csv", "-o", "out", "-d", 3, "--random-state", 7, *loss, *QUICK).code == 0
    X, labels = read_embedding(tmp_path / "out/embedding.csv")
    comparisons = read_comparisons(answers).comparisons
    model = OrdinalEmbedding(3, loss="ckl", loss_params={"delta": 0.1}, n_init=2, random_state=7).fit(comparisons)
    for found in (X, load(tmp_path / "out/model.nearer").embedding_):
        np.testing.assert_array_equal(found, model.embedding_)
    assert labels.tolist() == comparisons.labels.tolist()
    assert (tmp_path / "out/embedding.csv").read_text().startswith("label,x1,x2,x3\nobj00,")


def test_json_is_the_summary(nearer, answers, tmp_path):
    called = nearer("fit", "answers.csv", "-o", "out", "--cv", 3, "--n-init", 1, "--json", "--quiet")
    assert called.code == 0
    assert called.err == ""
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert set(summary.pop("report")) > {"title", "facts", "covariances"}  # to draw the report again
    assert called.json == summary
    assert summary["command"] == "nearer fit answers.csv -o out --cv 3 --n-init 1 --json --quiet --force"
    assert summary["interrupted"] is False
    assert summary["loss"] == {"name": "tste", "alpha": 1.0}
    assert summary["input"]["n_comparisons"] == 400
    folds = summary["cross_validation"]["fold_accuracy"]
    assert len(folds) == 3
    assert summary["cross_validation"]["accuracy"] == pytest.approx(np.mean(folds))
    assert summary["cross_validation"]["standard_error"] == pytest.approx(np.std(folds, ddof=1) / np.sqrt(3))
    model = OrdinalEmbedding(2, random_state=0).fit(read_comparisons(answers).comparisons)
    assert summary["training_accuracy"] == model.score(read_comparisons(answers).comparisons)


def test_the_command_in_the_report_repeats_the_map(nearer, answers, tmp_path):
    assert nearer("fit", "answers.csv", "-o", "an out", "--cv", 0, "--random-state", 3).code == 0
    summary = json.loads((tmp_path / "an out/summary.json").read_text())
    assert summary["command"] == "nearer fit answers.csv -o 'an out' --cv 0 --random-state 3 --force"
    first = {name: (tmp_path / "an out" / name).read_bytes() for name in ("embedding.csv", "model.nearer")}
    assert nearer(*shlex.split(summary["command"])[1:]).code == 0
    assert (tmp_path / "an out/embedding.csv").read_bytes() == first["embedding.csv"]
    assert nearer("report", "an out/embedding.csv", "-o", "r.html", "--file", "answers.csv").code == 0
    assert "This command gives the same map again" not in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_fit_tells_what_check_finds(nearer, tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\n" + "a,b,c\nb,c,a\nc,a,b\nd,a,b\na,c,b\n")
    called = nearer("fit", "a.csv", "-o", "out", *QUICK)
    problems = nearer("check", "a.csv", "-d", 2, "--json").json["check"]["problems"]
    assert len(problems) == 2
    for problem in problems:
        assert f"problem: {problem}" in called.err


def test_fit_refuses_to_overwrite_before_it_computes(nearer, answers, tmp_path, tree):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/summary.json").write_text("mine")
    called = nearer("fit", "answers.csv", "-o", "out", *QUICK)
    assert called.code == 2
    assert called.err == "nearer fit: out: holds summary.json already; use --force to replace\n"
    assert (tmp_path / "out/summary.json").read_text() == "mine"
    assert nearer("fit", "answers.csv", "-o", "out", "--force", *QUICK).code == 0
    assert tree(tmp_path) == ["answers.csv", *FILES]


def test_studies_reach_summary_and_report(nearer, answers, tmp_path):
    groups = "\n".join(["label,group", *(f"obj{i:02d},{'even' if i % 2 == 0 else 'odd'}" for i in range(12))])
    (tmp_path / "groups.csv").write_text(groups)
    called = nearer(
        "fit", "answers.csv", "-o", "out", "--n-init", 1, "--cv", 2, "--dims", "1-2", "--learning-curve",
        "--bootstrap", 3, "--groups", "groups.csv", "--title", "Twelve <things>",
    )  # fmt: skip
    assert called.code == 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert summary["dimensions"]["n_components"] == [1, 2]
    assert summary["bootstrap"]["n_resamples"] == 3
    assert len(summary["learning_curve"]["accuracy"]) == 7
    report = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "Twelve &lt;things&gt;" in report
    assert "How many dimensions?" in report
    assert "Would more answers help?" in report


def test_a_study_that_cannot_be_made_does_not_lose_the_map(nearer, tmp_path, tree):
    (tmp_path / "few.csv").write_text("anchor,near,far\na,b,c\nb,a,c\nc,b,a\n")
    called = nearer("fit", "few.csv", "-o", "out", "--cv", 20, "--n-init", 1)
    assert called.code == 0
    assert "nearer fit: warning: cross-validation left out: " in called.err
    assert tree(tmp_path) == ["few.csv", *FILES]
    silent = nearer("fit", "few.csv", "-o", "out", "--n-init", 1, "--force")
    assert "no cross-validation for 3 comparisons unless asked for: --cv 5" in silent.err


def test_hostile_labels_stay_text(nearer, tmp_path, points):
    labels = [f"label {i}" for i in range(12)]
    labels[:6] = ["<script>alert(1)</script>", '"', "two\nlines", "🎈", "שלום", "=1+1"]
    labels[6:8] = ["\x1b[2J", "-x"]
    write_comparisons(tmp_path / "evil.csv", Comparisons.from_points(points, 300, random_state=0, labels=labels))
    called = nearer("fit", "evil.csv", "-o", "out", *QUICK)
    assert called.code == 0
    assert "\x1b" not in called.out + called.err
    _, read = read_embedding(tmp_path / "out/embedding.csv")
    assert set(read.tolist()) == set(labels)
    text = (tmp_path / "out/embedding.csv").read_text(encoding="utf-8")
    assert "\n'=1+1," in text
    assert "\n'-x," in text
    assert "<script>alert(1)" not in (tmp_path / "out/report.html").read_text(encoding="utf-8")
    again = nearer("score", "out", "evil.csv", "--json")
    assert again.json["n_comparisons"] == 300


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"", "empty.csv: is empty"),
        ("typo.csv", b"anchr,near,far\na,b,c\n", "typo.csv"),
        ("short.csv", b"anchor,near,far\na,b\n", "short.csv, line 2"),
        ("bad.parquet", b"PAR1 nonsense", "bad.parquet"),
    ],
)
def test_bad_files_are_told_and_write_nothing(nearer, tmp_path, tree, name, content, told):
    (tmp_path / name).write_bytes(content)
    called = nearer("fit", name, "-o", "out")
    assert called.code == 2
    assert called.err.startswith("nearer fit: " + told)
    assert called.err.count("\n") == 1 or (name == "typo.csv" and called.err.count("\n") <= 12)
    assert "Traceback" not in called.err
    assert called.out == ""
    assert tree(tmp_path) == [name]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--loss", "ste", "--alpha", "2"), "alpha"),
        (("--alpha", "-1"), "alpha"),
        (("--solver", "convex", "--loss", "tste"), "convex"),
        (("--cv", "1"), "expected at least 2 folds"),
        (("-d", "0"), "-d"),
        (("--images", "nowhere"), "--images"),
        (("--groups", "nowhere.csv"), "nowhere.csv: no such file"),
        (("--cluster", "host:1"), "cluster: got 'host:1', expected"),
        (("--columns", "anchor=q"), "answers.csv"),
        (("--dims", "3-1"), "expected dimensions such as 1-6"),
    ],
)
def test_bad_options_write_nothing(nearer, answers, tmp_path, tree, options, told):
    called = nearer("fit", "answers.csv", "-o", "out", *options)
    assert called.code == 2
    assert told in called.err
    assert "Traceback" not in called.err
    assert tree(tmp_path) == ["answers.csv"]


def test_an_error_while_writing_the_map_leaves_nothing(nearer, answers, tmp_path, tree, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device", "embedding.csv")

    monkeypatch.setattr("nearer.coordinates.write_embedding", full)
    called = nearer("fit", "answers.csv", "-o", "out", *QUICK)
    assert called.code == 2
    assert called.err.splitlines()[-1] == "nearer fit: embedding.csv: No space left on device"
    assert tree(tmp_path) == ["answers.csv"]


@pytest.mark.parametrize("what", ["describe", "Report.save"])
@pytest.mark.parametrize("other", [(), ("notes.txt",)])
def test_the_map_is_kept_whatever_the_report_meets(nearer, answers, tmp_path, tree, monkeypatch, what, other):
    """With a file of the user's in the folder, files are moved one by one: no report of an older map may stay."""

    def fail(*args, **kwargs):
        raise ValueError("no picture today")

    (tmp_path / "out").mkdir()
    for name in (*other, "report.html"):
        (tmp_path / "out" / name).write_text("old")
    monkeypatch.setattr(f"nearer.reports.{what}", fail)
    called = nearer("fit", "answers.csv", "-o", "out", "--force", *QUICK)
    assert called.code == 2
    kept = "out: kept embedding.csv, model.nearer, summary.json, written before this failed:"
    assert called.err.splitlines()[-2:] == [kept, "nearer fit: no picture today"]
    assert sorted(os.listdir("out")) == sorted(["embedding.csv", "model.nearer", "summary.json", *other])
    assert nearer("methods", "out").code == 0


@pytest.mark.slow
def test_a_checkpoint_is_kept_until_the_results_are_there(nearer, answers, tmp_path, tree, monkeypatch):
    keeping = ("--checkpoint", "run.checkpoint")
    fit = ("fit", "answers.csv", "-o", "out", "--cv", "0", *keeping)
    monkeypatch.setattr("nearer.coordinates.write_embedding", lambda *_: 1 / 0)
    assert isinstance(nearer(*fit).exception, ZeroDivisionError)
    assert tree(tmp_path) == ["answers.csv", "run.checkpoint"]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    for options in ((), ("--force",)):
        refused = nearer(*fit, *options)
        assert refused.code == 2
        assert "run.checkpoint: exists already: continue from it with --resume, or remove it" in refused.err
    other = nearer(*fit, "--resume", "--loss", "ste")
    assert other.code == 2
    assert "run.checkpoint is of another fit: loss: got TSTELoss(alpha=1.0), expected STELoss()" in other.err
    assert tree(tmp_path) == ["answers.csv", "run.checkpoint"]
    called = nearer(*fit, "--resume")
    assert called.code == 0
    assert "run.checkpoint: continuing from there" in called.err
    assert tree(tmp_path) == ["answers.csv", *FILES]
    again = nearer(*fit, "--resume", "--force")
    assert "run.checkpoint: no such checkpoint yet, starting afresh" in again.err
    assert nearer("fit", "answers.csv", "-o", "other", "--resume").code == 2
    (tmp_path / "run.checkpoint").write_text("something else")
    refused = nearer(*fit, "--resume", "--force")
    assert refused.code == 2
    assert refused.err.endswith("run.checkpoint: is not a checkpoint that nearer saved\n")


def test_fit_on_a_cluster(nearer, answers):
    distributed = pytest.importorskip("distributed")
    here_only = {
        "processes": False,
        "protocol": "tcp",
        "dashboard_address": "127.0.0.1:0",
        "silence_logs": logging.ERROR,
    }
    assert nearer("convert", "answers.csv", "answers.parquet").code == 0
    options = ("--solver", "lbfgs", "--n-init", 1, "--json")
    here = nearer("fit", "answers.csv", "-o", "a", "--cv", 0, *options)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **here_only) as cluster:
        address = ("--cluster", cluster.scheduler_address)
        handed_over = nearer("fit", "answers.csv", "-o", "b", "--cv", 0, *options, *address)
        read_there = nearer("fit", "answers.parquet", "-o", "c", *options, *address)
    refused = nearer("fit", "answers.parquet", "-o", "d", "--cluster", "local:1", "--cv", 5)
    assert "Parquet files, read by the workers" in read_there.err
    for called in (handed_over, read_there):
        assert called.code == 0, called.err
        assert called.json["result"]["objective"] == pytest.approx(here.json["result"]["objective"], rel=1e-6)
        assert called.json["training_accuracy"] == pytest.approx(here.json["training_accuracy"])
    assert refused.code == 2
    assert "need the answers" in refused.err


def test_a_cluster_that_does_not_answer(nearer, answers, tmp_path, tree, monkeypatch):
    pytest.importorskip("distributed")
    from nearer import distributed

    monkeypatch.setattr(distributed, "connect", functools.partial(distributed.connect, timeout=0.5))
    called = nearer("fit", "answers.csv", "-o", "out", "--cluster", "tcp://127.0.0.1:9")
    assert called.code == 2
    assert called.err.splitlines()[-1].startswith("nearer fit: cluster tcp://127.0.0.1:9: no scheduler answered")
    assert tree(tmp_path) == ["answers.csv"]
