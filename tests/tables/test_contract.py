"""A table means the same in every carrier; names are used or refused, and everything else is listed."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from carriers import CARRIERS, KINDS, MAKERS, Sheet, carried, pandas, read, sheets, spelled, streamed
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import nearer.io.blocks
from nearer import Comparisons, Layout
from nearer.io import FileFormatError, read_comparisons
from nearer.tables import Refusal

_CALM = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def examples(count):
    """Settings: few examples, the same ones each time; a failing table is small already."""
    return settings(
        max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=_CALM,
        phases=[Phase.generate],
    )  # fmt: skip


def of_each_kind(count=6, **drawn):
    """Run a property of a kind of table, a sheet and a folder for each kind, on some sheets and what else is drawn."""

    def decorated(test):
        @pytest.mark.parametrize("kind", KINDS)
        def run(kind, tmp_path):
            def once(**found):
                test(kind, folder=tmp_path, **found)

            examples(count)(given(sheet=sheets(kind), **drawn)(once))()

        return run

    return decorated


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(nearer.io.blocks, "_SCAN_ROWS", 2)


@of_each_kind()
def test_every_carrier_says_what_was_written(kind, folder, sheet):
    found = {carrier: read(sheet, carrier, folder) for carrier in CARRIERS}
    first = found["dict"]
    assert spelled(first.comparisons) == sheet.said()
    columns = sheet.columns()
    answers = first.comparisons.answers
    for role in ("seconds", "order"):
        if any(cell is not None for cell in columns.get(role, ())):
            unknown = np.nan if role == "seconds" else -1
            of_rows = first.comparisons.of_rows(getattr(answers, role))
            cells = [cell for cell, said in zip(columns[role], sheet.says) for _ in said]
            np.testing.assert_array_equal(of_rows, [unknown if cell is None else cell for cell in cells])
    if any(cell is not None for cell in columns.get("participant", ())):
        cells = [cell for cell, said in zip(columns["participant"], sheet.says) for _ in said]
        named = ["unknown" if cell is None else str(cell) for cell in cells]
        assert list(map(str, first.comparisons.participants)) == named
    for carrier, result in found.items():
        assert result.comparisons == first.comparisons, carrier
        assert (result.kind, result.unused) == (first.kind, first.unused), carrier
        assert {k: n for k, (n, _) in result.dropped.items()} == {k: n for k, (n, _) in first.dropped.items()}


@of_each_kind(8, size=st.integers(1, 5))
def test_blocks_say_what_the_whole_says(kind, folder, sheet, size):
    whole = read(sheet, "dict", folder).comparisons
    reader, joined = streamed(sheet, folder, size)
    assert spelled(joined) == sheet.said()
    assert (joined.weights is None) == (whole.weights is None)
    assert whole.weights is None or joined.weights.tolist() == whole.weights.tolist()
    assert reader.n_comparisons == len(whole)
    assert joined.participants is None
    counts = [len(said) for said in sheet.says if said]
    held = [len(block) for block in reader.blocks(size)]
    assert {*np.cumsum(held).tolist()} <= {*np.cumsum(counts).tolist()} or kind.startswith("votes")


@of_each_kind(carrier=st.sampled_from(CARRIERS), name=st.sampled_from(["browser", "Alter", "RT", "q"]))
def test_an_unknown_column_changes_nothing_and_is_listed(kind, folder, sheet, carrier, name):
    plain = read(sheet, carrier, folder)
    more = read(sheet.with_column(name, ["test"] * len(sheet.rows)), carrier, folder)
    assert more.comparisons == plain.comparisons
    assert len(more.unused) == len(plain.unused) + 1
    assert more.unused[0] == f"{name} (test)"
    assert name in more.understood


@of_each_kind(carrier=st.sampled_from(CARRIERS), random=st.randoms(use_true_random=False))
def test_the_order_of_columns_and_the_case_of_their_names_do_not_matter(kind, folder, sheet, carrier, random):
    order = list(range(len(sheet.names)))
    random.shuffle(order)
    spelt = {name: random.choice([name.upper(), name.title(), name.replace("_", " ")]) for name in sheet.names}
    found = read(sheet.ordered(order).renamed(spelt), carrier, folder)
    assert found.comparisons == read(sheet, "dict", folder).comparisons


@of_each_kind(carrier=st.sampled_from(CARRIERS), data=st.data())
def test_without_a_column_that_is_needed_a_table_is_refused(kind, folder, sheet, carrier, data):
    lost = data.draw(st.sampled_from(sheet.core))
    if kind in ("rankings", "chosen of several") and lost != "anchor":
        return  # the others may make up a ranking
    with pytest.raises(Refusal) as caught:
        read(sheet.renamed({lost: "mystery"}), carrier, folder)
    assert caught.value.remedies


@of_each_kind(carrier=st.sampled_from(CARRIERS))
def test_a_known_name_that_is_not_used_makes_a_table_ambiguous(kind, folder, sheet, carrier):
    other = sheet.with_column(sheet.strange, [row[-1] for row in sheet.rows])
    with pytest.raises(Refusal):
        read(other, carrier, folder)


ODD_NAMES = ["Spalte 1", "ü x", "a.b", 'say "so"', "it's", "33", "$5", "N°", "[q]", "100%", "answer?", "日本"]


@of_each_kind(names=st.permutations(ODD_NAMES), carrier=st.sampled_from([*MAKERS, ".csv", ".parquet"]))
def test_a_layout_reads_the_same_in_python_in_toml_and_on_the_command_line(kind, folder, sheet, names, carrier):
    plain = read(sheet, "dict", folder).comparisons
    new = dict(zip(sheet.names, names))
    roles = {"reference": "anchor", "left": "a", "right": "b", "response": "answer"}
    columns = {roles.get(name, name): new[name] for name in sheet.names}
    sheet_kind = {"by column": "answers", "pairs": "answers", "votes on pairs": "votes"}.get(kind)
    if kind == "by column":  # a cell that is the name of its option's column
        sides = {"Left": new["left"], "right": new["right"]}
        rows = [[*row[:-1], sides[row[-1]]] for row in sheet.rows]
        sheet = Sheet(sheet.names, rows, sheet.layout)
    layout = Layout(sheet_kind, answers=sheet.layout.answers if sheet.layout else None, **columns)
    layout.save(folder / "saved.toml")
    assert Layout.load(folder / "saved.toml") == layout
    options = shlex.split(layout.options())
    said = dict(zip(options[::2], options[1::2]))
    if "33" not in layout.columns.values():  # a position on the command line
        assert Layout.parse(said["--columns"], said.get("--answers")) == layout
    assert eval(repr(layout), {"Layout": Layout}) == layout
    source = carried(sheet.renamed(new), carrier, folder)
    for one in (layout, folder / "saved.toml", [layout]):
        assert read_comparisons(source, one).comparisons == plain


@of_each_kind(carrier=st.sampled_from(CARRIERS), data=st.data())
def test_two_layouts_read_as_the_two_parts_joined(kind, folder, sheet, carrier, data):
    catch = sheet.columns().get("catch", [None] * len(sheet.rows))
    parts = data.draw(st.lists(st.sampled_from(["old", "new"]), min_size=len(catch), max_size=len(catch)))
    parts[0], parts[-1] = "old", "new"
    if catch[-1] == "yes":
        return
    both = sheet.with_column("part", parts)
    plain = sheet.layout or Layout()
    layouts = [plain.updated(Layout(where={"part": part})) for part in ("old", "new")]
    found = read(both, carrier, folder, layouts)
    halves = [read(both, carrier, folder, layout).comparisons for layout in layouts]
    assert spelled(found.comparisons) == [row for half in halves for row in spelled(half)]
    assert found.comparisons.n_answers == sum(half.n_answers for half in halves)
    assert sorted(spelled(found.comparisons)) == sorted(sheet.said())


def test_layouts_of_different_questions_are_read_together(tmp_path):
    text = "asked,anchor,a,b,answer\nnear,oboe,flute,drum,flute\nfar,gong,harp,drum,harp\nnear,harp,horn,flute,flute\n"
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "t.layout.toml").write_text(
        "".join(f'[[layout]]\nwhere.asked = "{role}"\ncolumns.{role} = "answer"\n' for role in ("near", "far"))
    )
    expected = [("oboe", "flute", "drum"), ("harp", "flute", "horn"), ("gong", "drum", "harp")]
    assert spelled(read_comparisons(tmp_path / "t.csv").comparisons) == expected
    for where in ('where.asked = "near"', ""):
        (tmp_path / "t.layout.toml").write_text(f'[[layout]]\nwhere.asked = "near"\n[[layout]]\n{where}\n')
        with pytest.raises(FileFormatError, match="twice"):
            read_comparisons(tmp_path / "t.csv")


@pytest.mark.slow
def test_a_cluster_says_what_was_written(client_here, tmp_path):
    from nearer.distributed.partitions import open_data

    @examples(6)
    @given(data=st.data(), kind=st.sampled_from([kind for kind in KINDS if "code" not in kind]))
    def check(data, kind):
        import dask.dataframe as dd

        sheet = data.draw(sheets(kind))
        for source in (dd.from_pandas(pandas(sheet), npartitions=2, sort=False), carried(sheet, ".parquet", tmp_path)):
            held = open_data(source if hasattr(source, "columns") else str(source), client_here, n_shards=2)
            pieces = [piece for shard in held.shards for piece in shard.pieces]
            joined = Comparisons.concat([held.plan.comparisons(piece) for piece in pieces])
            labels = np.arange(held.n_all).astype(str) if held.labels is None else held.labels
            found = [tuple(row) for row in labels[held.seen][joined.index].tolist()]
            assert found == sheet.said()

    check()
