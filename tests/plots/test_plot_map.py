"""The map drawn by matplotlib."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox

from nearer.datasets import load_cars
from nearer.plots import plot_map, save_figure
from nearer.plots.labels import LabelLayer
from nearer.plots.maps import ellipse_axes

HOSTILE = [
    "$\\frac{a$", "<script>alert(1)</script>", 'a "quote"', "line\nbreak", "emoji 🦄", "שלום", "مرحبا",
    "日本語", "_hidden", "\\textbf{x}", "nul\x00", "\ud800", "x" * 300, "",
]  # fmt: skip


def layer_of(ax):
    (layer,) = [artist for artist in ax.get_children() if isinstance(artist, LabelLayer)]
    return layer


def drawn(ax):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.canvas.draw()
    return layer_of(ax)


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 2))


def test_makes_its_own_figure_without_pyplot_state():
    code = (
        "import sys, matplotlib;"
        "read = lambda: {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}; before = read();"
        "import numpy as np; from nearer.plots import plot_map;"
        "ax = plot_map(np.random.default_rng(0).normal(size=(9, 2)), list('abcdefghi')); ax.figure.canvas.draw();"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "assert before == read()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_draws_on_the_given_axes(points):
    ax = Figure().add_subplot()
    assert plot_map(points, ax=ax) is ax
    assert ax.get_aspect() == 1
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), points)
    assert plot_map(points)._repr_png_().startswith(b"\x89PNG")  # for a notebook


@pytest.mark.parametrize("rows", [[3, 7], range(30)])
def test_rows_of_nan_are_left_out_and_counted(points, rows):
    points[rows] = np.nan
    ax = plot_map(points, [f"o{i}" for i in range(30)])
    layer = drawn(ax)
    assert len(ax.get_lines()[0].get_xydata()) == 30 - len(rows)
    assert f"{len(rows)} of 30 objects not shown: no position" in layer.note.get_text()


def test_labels_without_room_are_counted():
    points = np.random.default_rng(1).normal(size=(500, 2))
    layer = drawn(plot_map(points, [f"object {i}" for i in range(500)]))
    assert 0 < len(layer.shown) < 500
    assert f"{500 - len(layer.shown)} of 500 labels not shown" in layer.note.get_text()


def test_labels_are_placed_anew_when_the_figure_grows():
    points = np.random.default_rng(1).normal(size=(120, 2))
    ax = plot_map(points, [f"object {i}" for i in range(120)])
    few = len(drawn(ax).shown)
    ax.figure.set_size_inches(20, 20)
    assert len(drawn(ax).shown) > few


def test_the_note_does_not_cover_the_name_of_the_axis():
    points = np.random.default_rng(1).normal(size=(200, 2))
    ax = plot_map(points, [f"object number {i}" for i in range(200)], size=(3.5, 3.5))
    renderer = ax.figure.canvas.get_renderer()
    note = drawn(ax).note.get_window_extent(renderer)
    assert "not shown" in drawn(ax).note.get_text()
    assert note.y1 <= ax.xaxis.label.get_window_extent(renderer).y0 + 1
    assert note.y0 >= 0


@pytest.mark.parametrize("n_groups", [5, 56, 80])
def test_the_legend_of_many_groups_is_inside_the_figure(n_groups):
    points = np.random.default_rng(1).normal(size=(300, 2))
    ax = plot_map(points, groups=[f"a group with a long name, number {i % n_groups}" for i in range(300)])
    drawn(ax)
    box = ax.get_legend().get_window_extent(ax.figure.canvas.get_renderer())
    assert box.x1 <= ax.figure.bbox.x1
    assert box.y0 >= 0
    assert ax.get_window_extent().width > 4.5 * ax.figure.dpi  # the map keeps its room
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(set(names)) == len(names)


def test_hostile_labels_are_shown_to_the_letter(tmp_path):
    points = np.random.default_rng(2).normal(size=(len(HOSTILE), 2)) * 10
    ax = plot_map(points, HOSTILE, groups=HOSTILE[::-1], title="$\\broken{")
    layer = drawn(ax)
    shown = {layer._text(i).get_text() for i in layer.shown}
    assert "$\\frac{a$" in shown
    assert "<script>alert(1)</script>" in shown
    assert "line↵break" in shown
    assert len(layer.shown) >= len(HOSTILE) - 3
    for suffix in ("png", "svg", "pdf"):
        path = save_figure(ax, tmp_path / f"map.{suffix}")
        assert path.stat().st_size > 1000


def test_hostile_group_names_stand_in_the_legend(points):
    ax = plot_map(points, groups=["$x$", "_hidden", None] * 10)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["no group", "$x$", "_hidden"]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())


def test_letters_that_no_font_has_are_spelt_out():
    layer = drawn(plot_map(np.zeros((1, 2)), ["a\U0010fffd"]))
    assert layer._text(0).get_text() == "a[U+10FFFD]"


def test_groups_sort_by_number():
    ax = plot_map(np.random.default_rng(0).normal(size=(12, 2)), groups=[f"g{i}" for i in range(12)])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"g{i}" for i in range(12)]
    looks = {(line.get_color(), line.get_marker()) for line in ax.get_lines()}
    assert len(looks) == 12


def test_ellipse_holds_the_asked_share():
    rng = np.random.default_rng(0)
    covariance = np.array([[4.0, 1.5], [1.5, 1.0]])
    width, height, angle = (float(v[0]) for v in ellipse_axes(covariance[None], 0.9))
    sample = rng.multivariate_normal([0, 0], covariance, 200_000)
    turn = np.deg2rad(angle)
    along = sample @ [np.cos(turn), np.sin(turn)]
    across = sample @ [-np.sin(turn), np.cos(turn)]
    inside = (2 * along / width) ** 2 + (2 * across / height) ** 2 <= 1
    assert inside.mean() == pytest.approx(0.9, abs=0.005)


def test_ellipse_of_a_diagonal_covariance():
    width, height, angle = ellipse_axes(np.array([[[1.0, 0.0], [0.0, 9.0]]]), 1 - np.exp(-0.5))
    assert (width[0], height[0]) == pytest.approx((6.0, 2.0))
    assert abs(angle[0]) == pytest.approx(90.0)


def test_regions_take_the_columns_shown():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(10, 4, 4))
    covariances = factors @ factors.transpose(0, 2, 1)
    covariances[4] = np.nan
    ax = plot_map(rng.normal(size=(10, 4)), covariances=covariances, axes=(3, 1))
    (collection,) = [c for c in ax.collections if isinstance(c, EllipseCollection)]
    assert len(collection.get_offsets()) == 9
    widths = ellipse_axes(np.delete(covariances, 4, axis=0)[:, [3, 1]][:, :, [3, 1]], 0.9)[0]
    np.testing.assert_allclose(2 * collection._widths, widths)
    assert "dimensions 4 and 2 of 4" in drawn(ax).note.get_text()


def test_strip_for_one_dimension():
    ax = plot_map(np.arange(5.0)[:, None], list("abcde"), covariances=np.full((5, 1, 1), 0.01))
    layer = drawn(ax)
    assert len(layer.shown) == 5
    assert "bars: 90 % regions" in layer.note.get_text()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"labels": ["a"]}, "labels: got 1, expected 30"),
        ({"groups": ["a"]}, "groups: got 1, expected 30"),
        ({"groups": {str(i): "g" for i in range(30)}}, "groups: got a dict, expected a sequence"),
        ({"groups": "g" * 30}, "groups: got a str, expected a sequence"),
        ({"groups": np.zeros((30, 1))}, "groups: got a ndarray, expected a sequence"),
        ({"labels": set(map(str, range(30)))}, "labels: got a set, expected a sequence"),
        ({"covariances": np.zeros((30, 3, 3))}, r"covariances: got shape \(30, 3, 3\), expected \(30, 2, 2\)"),
        ({"covariances": np.tile([[1.0, 2.0], [2.0, 1.0]], (30, 1, 1))}, "for object 0, expected a covariance"),
        ({"level": 1.0}, "level: got 1.0"),
        ({"axes": (0, 2)}, r"axes: got \(0, 2\)"),
        ({"embedding": np.zeros(3)}, r"shape \(3,\)"),
    ],
)
def test_errors_say_what_came(points, kwargs, message):
    with pytest.raises(ValueError, match=message):
        plot_map(**{"embedding": points, **kwargs})


def test_groups_beyond_those_that_can_be_told_apart_are_one():
    ax = plot_map(np.zeros((103, 2)), groups=[str(i) for i in range(100)] + ["7", "98", "99"])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(names) == 56
    assert names[-1] == "other (45 groups)"
    assert {"7", "98", "99"} < set(names)
    assert sum(len(line.get_xydata()) for line in ax.get_lines()) == 103


def test_the_frame_follows_the_map_and_the_size_can_be_chosen():
    points = np.random.default_rng(0).normal(size=(30, 2)) * [10, 2]
    ax = plot_map(points, size=(4, 3), font_size=6)
    drawn(ax)
    assert ax.figure.get_size_inches().tolist() == [4, 3]
    frame = ax.get_window_extent()
    wide, tall = np.ptp(points, axis=0) * 1.16
    assert frame.width / frame.height == pytest.approx(wide / tall, rel=0.01)
    assert ax.get_xlabel().startswith("axis 1: 9")
    assert ax.get_xlabel().endswith(" % of the spread")


def test_save_refuses_to_overwrite_and_unknown_endings(points, tmp_path):
    ax = plot_map(points)
    path = save_figure(ax, tmp_path / "a.svg")
    first = path.read_bytes()
    with pytest.raises(FileExistsError):
        save_figure(ax, path)
    assert path.read_bytes() == first
    save_figure(ax.figure, path, force=True)
    with pytest.raises(ValueError, match=r"a\.bmp: got '\.bmp', expected one that can be written: \.png"):
        save_figure(ax, tmp_path / "a.bmp")
    with pytest.raises(FileNotFoundError):
        save_figure(ax, tmp_path / "no" / "a.png")
    assert [p.name for p in tmp_path.iterdir()] == ["a.svg"]


def test_ten_thousand_labels_are_thinned():
    points = np.random.default_rng(0).normal(size=(10_000, 2))
    layer = drawn(plot_map(points, [f"object {i}" for i in range(10_000)]))
    assert 10 < len(layer.shown) < 1000
    layer = drawn(plot_map(points, [f"object {i}" for i in range(10_000)], max_labels=20))
    assert len(layer.shown) == 20


def test_pictures_stand_at_their_points():
    pictures = load_cars().pictures[:3]
    ax = plot_map(np.array([[0.0, 0.0], [1.0, 2.0], [np.nan, np.nan]]), images=[pictures[0], None, pictures[2]])
    boxes = [artist for artist in ax.get_children() if isinstance(artist, AnnotationBbox)]
    assert [tuple(box.xy) for box in boxes] == [(0.0, 0.0)]
    with pytest.raises(ValueError, match="images: got 1"):
        plot_map(np.zeros((3, 2)), images=pictures[:1])
