"""nearer fit: what it writes and refuses."""

from __future__ import annotations

import json
import logging
import os
import shlex

import numpy as np
import pytest
from numba.core import config

from nearer import kernels, load
from nearer.coordinates import read_embedding
from nearer.data import Comparisons
from nearer.estimator import OrdinalEmbedding
from nearer.io import read_comparisons

FILES = ["out", "out/embedding.csv", "out/model.nearer", "out/report.html", "out/summary.json"]
QUICK = ("--cv", "0", "--n-init", "2", "--bootstrap", "0")


def test_fit_is_the_library(nearer, answers, tmp_path, tree):
    loss = ("--loss", "ckl", "--delta", 0.1)
    called = nearer("fit", "answers.csv", "-o", "out", "-d", 3, "--random-state", 7, *loss, *QUICK)
    assert called.code == 0
    assert called.out.endswith("wrote out/embedding.csv, out/model.nearer, out/summary.json, out/report.html\n")
    assert tree(tmp_path) == ["answers.csv", *FILES]
    X, labels = read_embedding(tmp_path / "out/embedding.csv")
    comparisons = read_comparisons(answers).comparisons
    model = OrdinalEmbedding(3, loss="ckl", loss_params={"delta": 0.1}, n_init=2, random_state=7).fit(comparisons)
    for found in (X, load(tmp_path / "out/model.nearer").embedding_):
        np.testing.assert_array_equal(found, model.embedding_)
    assert labels.tolist() == comparisons.labels.tolist()
    assert (tmp_path / "out/embedding.csv").read_text().startswith("label,x1,x2,x3\nobj00,")


def test_json_is_the_summary(nearer, answers, tmp_path):
    called = nearer("fit", "answers.csv", "-o", "out", "--cv", 3, "--json", "--quiet")
    assert (called.code, called.err) == (0, "")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    report = summary.pop("report")
    assert set(report) > {"title", "facts", "covariances"}  # to draw the report again
    assert report["title"] == "Map of 12 objects"  # not the name of the file
    assert called.json == summary
    assert summary["command"] == "nearer fit answers.csv -o out --cv 3 --json --quiet --force"
    assert summary["interrupted"] is False
    assert summary["loss"].keys() == {"name", "lapse"}
    assert summary["input"] == read_comparisons("answers.csv").facts()
    assert len(summary["cross_validation"]["fold_accuracy"]) == 3
    comparisons = read_comparisons(answers).comparisons
    assert summary["training_accuracy"] == OrdinalEmbedding(2, random_state=0).fit(comparisons).score(comparisons)


def test_the_command_in_the_report_repeats_the_map(nearer, answers, tmp_path):
    assert nearer("fit", "answers.csv", "-o", "an out", *QUICK, "--random-state", 3).code == 0
    command = json.loads((tmp_path / "an out/summary.json").read_text())["command"]
    report = (tmp_path / "an out/report.html").read_text(encoding="utf-8")
    assert "This command gives the same map again" in report
    first = (tmp_path / "an out/embedding.csv").read_bytes()
    assert nearer(*shlex.split(command)[1:]).code == 0
    assert (tmp_path / "an out/embedding.csv").read_bytes() == first


def test_what_cannot_be_measured_does_not_lose_the_map(nearer, tmp_path, tree):
    (tmp_path / "few.csv").write_text("anchor,near,far\na,b,c\nb,c,a\nc,a,b\nd,a,b\na,c,b\n")
    called = nearer("fit", "few.csv", "-o", "out", "--cv", 20)
    assert called.code == 0
    assert "nearer fit: warning: cross-validation left out: " in called.err
    problems = nearer("check", "few.csv", "-d", 2, "--json").json["check"]["problems"]
    assert len(problems) == 1
    for problem in problems:
        assert f"problem: {problem}" in called.err
    assert tree(tmp_path) == ["few.csv", *FILES]


@pytest.mark.parametrize(
    "options",
    ["--loss ste --alpha 2", "--alpha -1", "--solver convex --loss tste", "-d 0", "-d none", "--images nowhere",
     "--groups no.csv", "--cluster host:1", "--columns anchor=q", "--dims 3-1", "--resume", "--checkpoint no/run"],
)  # fmt: skip
def test_bad_options_write_nothing(nearer, answers, tmp_path, tree, options):
    assert nearer("fit", "answers.csv", "-o", "out", *options.split()).refused
    assert tree(tmp_path) == ["answers.csv"]


def test_a_bad_file_is_named_and_writes_nothing(nearer, tmp_path, tree):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 none")
    called = nearer("fit", "bad.parquet", "-o", "out")
    assert called.refused
    assert called.err.startswith("nearer fit: bad.parquet")
    assert tree(tmp_path) == ["bad.parquet"]


@pytest.mark.parametrize("what", ["describe", "Report.save"])
@pytest.mark.parametrize("other", [(), ("notes.txt",)])
def test_the_map_is_kept_whatever_the_report_meets(nearer, answers, tmp_path, monkeypatch, what, other):
    """With a file of the user's in the folder, files are moved one by one: no report of an older map may stay."""

    def fail(*args, **kwargs):
        raise ValueError("no picture today")

    (tmp_path / "out").mkdir()
    for name in (*other, "report.html"):
        (tmp_path / "out" / name).write_text("old")
    monkeypatch.setattr(f"nearer.reports.{what}", fail)
    called = nearer("fit", "answers.csv", "-o", "out", "--force", *QUICK)
    assert called.code == 2
    assert called.err.splitlines()[-1] == "nearer fit: no picture today"
    assert sorted(os.listdir("out")) == sorted(["embedding.csv", "model.nearer", "summary.json", *other])
    assert nearer("methods", "out").code == 0


@pytest.mark.slow
def test_a_checkpoint_is_kept_until_the_results_are_there(nearer, answers, tmp_path, tree, monkeypatch):
    fit = ("fit", "answers.csv", "-o", "out", *QUICK, "--checkpoint", "run.checkpoint")
    with monkeypatch.context() as patched:
        patched.setattr("nearer.coordinates.write_embedding", lambda *_: 1 / 0)
        assert isinstance(nearer(*fit).exception, ZeroDivisionError)
    for options in ((), ("--force",), ("--resume", "--loss", "ste")):
        refused = nearer(*fit, *options)
        assert refused.code == 2
        assert "run.checkpoint" in refused.err
        assert tree(tmp_path) == ["answers.csv", "run.checkpoint"]
    assert nearer(*fit, "--resume").code == 0
    assert tree(tmp_path) == ["answers.csv", *FILES]
    assert nearer(*fit, "--resume", "--force").code == 0  # there is none any more
    (tmp_path / "run.checkpoint").write_text("something else")
    assert nearer(*fit, "--resume", "--force").code == 2


def test_the_first_fit_on_a_machine_says_that_it_compiles(nearer, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    said = []
    for _ in range(2):
        # As new as in a fresh process; one of the kernels that every fit needs.
        monkeypatch.setattr(kernels, "value_block", kernels._jit(kernels._sources["value_block"]))
        called = nearer("fit", "answers.csv", "-o", "out", "--force", *QUICK)
        said.append((called.code, called.err.count("compiling for this machine, once")))
    assert said == [(0, 1), (0, 0)]


# ---- on a cluster


def test_fit_on_a_cluster(nearer, answers):
    distributed = pytest.importorskip("distributed")
    here_only = {
        "processes": False, "protocol": "tcp", "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR
    }  # fmt: skip
    assert nearer("convert", "answers.csv", "-o", "answers.parquet").code == 0
    options = ("--solver", "lbfgs", "--max-epochs", 20, "--json", *QUICK)
    here = nearer("fit", "answers.csv", "-o", "a", *options)
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **here_only) as cluster:
        address = ("--cluster", cluster.scheduler_address)
        handed_over = nearer("fit", "answers.csv", "-o", "b", *options, *address)
        read_there = nearer("fit", "answers.parquet", "-o", "c", *options, *address)
    assert read_there.json["input"]["read_by"] == "workers"
    for called in (handed_over, read_there):
        assert called.code == 0, called.err
        assert called.json["result"]["objective"] == pytest.approx(here.json["result"]["objective"], rel=1e-6)
        assert called.json["training_accuracy"] == pytest.approx(here.json["training_accuracy"])
    (answers.parent / "groups.csv").write_text("label,group\nobj00,A\n")
    for options in (("--cv", 5), ("--cv-by", "participant"), ("--groups", "groups.csv")):
        refused = nearer("fit", "answers.parquet", "-o", "d", "--cluster", "local:1", *options)
        assert refused.code == 2
        assert f"{options[0]}: needs the answers" in refused.err


def test_what_workers_cannot_read_as_declared_is_read_here(nearer, answers, monkeypatch):
    from nearer.cli import fit

    taken = []
    monkeypatch.setattr(fit, "_fit", lambda say, model, answers, *rest: taken.append(answers) or 1 / 0)
    assert nearer("convert", "answers.csv", "-o", "answers.parquet").code == 0
    for option in (("--columns", "anchor=anchor"), ("--strict",), ()):
        nearer("fit", "answers.parquet", "--cluster", "local:1", "-o", "out", *option)
    assert [isinstance(one, Comparisons) for one in taken] == [True, True, False]
