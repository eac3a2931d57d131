"""The map drawn by matplotlib."""

from __future__ import annotations

import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox

from nearer import OrdinalEmbedding
from nearer.datasets import load_cars
from nearer.plots import plot_map, plot_weights, save_figure
from nearer.plots.labels import LabelLayer
from nearer.plots.maps import ellipse_axes

HOSTILE = [
    "$\\frac{a$", "<script>alert(1)</script>", 'a "quote"', "line\nbreak", "emoji 🦄", "שלום", "مرحبا",
    "日本語", "_hidden", "\\textbf{x}", "nul\x00", "\ud800", "x" * 300, "", "a\U0010fffd",
]  # fmt: skip


def drawn(ax):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax.figure.canvas.draw()
    (layer,) = [artist for artist in ax.get_children() if isinstance(artist, LabelLayer)]
    return layer


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(30, 2))


def test_makes_its_own_figure_without_pyplot_state():
    code = (
        "import sys, matplotlib; matplotlib.use('agg'); before = dict(matplotlib.rcParams);"
        "from nearer.plots import plot_map;"
        "plot_map([[0.0, 1.0], [2.0, 3.0]], ['a', 'b']).figure.canvas.draw();"
        "assert 'matplotlib.pyplot' not in sys.modules; assert before == dict(matplotlib.rcParams)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_draws_on_the_given_axes(points):
    ax = Figure().add_subplot()
    assert plot_map(points, ax=ax) is ax
    np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), points)
    assert plot_map(points)._repr_png_().startswith(b"\x89PNG")  # for a notebook


def test_three_dimensions_are_seen_from_an_angle_without_a_change_of_distances():
    X = np.random.default_rng(1).normal(size=(40, 3))
    X[7] = np.nan
    C = np.tile(np.diag([0.04, 0.01, 0.01]), (40, 1, 1))
    ax = plot_map(X, groups=["a", "b"] * 20, covariances=C)
    drawn(ax)
    lines = [line for line in ax.get_lines() if line.get_markersize() > 1]
    size = np.concatenate([[line.get_markersize()] * len(line.get_xydata()) for line in lines])
    xy = np.concatenate([line.get_xydata() for line in lines])
    assert len(xy) == 39
    assert len(np.unique(size)) > 4
    # A turn: the squares of what is seen, and of depth, sum up to those in space.
    known = np.delete(X, 7, axis=0)
    space, seen = ((known - known.mean(axis=0)) ** 2).sum(), (xy**2).sum()
    assert 0.5 * space < seen < space
    (regions,) = [artist for artist in ax.collections if isinstance(artist, EllipseCollection)]
    widths, heights = regions.get_widths(), regions.get_heights()
    assert 1 < (widths / heights).max() < 2  # as wide as 2 to 1 only where the long axis is seen in full
    flat = plot_map(X, axes=(0, 2))
    np.testing.assert_array_equal(flat.get_lines()[0].get_xydata(), np.delete(X, 7, axis=0)[:, [0, 2]])


def test_a_fitted_model_is_drawn_with_its_labels(points):
    model = OrdinalEmbedding.from_embedding(points, labels=[f"o{i}" for i in range(30)])
    for ax in (plot_map(model), model.plot()):
        assert len(drawn(ax).shown) > 10
        np.testing.assert_array_equal(ax.get_lines()[0].get_xydata(), points)


@pytest.mark.parametrize("rows", [[3, 7], range(30)])
@pytest.mark.parametrize("d", [1, 2])
def test_rows_of_nan_are_left_out_and_counted(points, rows, d):
    points[rows] = np.nan
    ax = plot_map(points[:, :d], [f"o{i}" for i in range(30)], covariances=np.tile(0.01 * np.eye(d), (30, 1, 1)))
    note = drawn(ax).note.get_text()
    assert len(ax.get_lines()[0].get_xydata()) == 30 - len(rows)
    assert note.startswith(f"{'bars' if d == 1 else 'ellipses'}: 90 % regions\n{len(rows)} of 30 objects not shown")


def test_labels_without_room_are_counted_and_placed_anew_when_the_figure_grows():
    ax = plot_map(np.random.default_rng(1).normal(size=(500, 2)), [f"object {i}" for i in range(500)])
    layer = drawn(ax)
    few = len(layer.shown)
    assert 10 < few < 500
    note = layer.note.get_window_extent()
    assert 0 <= note.y0 < note.y1 <= ax.xaxis.label.get_window_extent().y0 + 1
    assert f"{500 - few} of 500 labels not shown" in layer.note.get_text()
    ax.figure.set_size_inches(20, 20)
    assert len(drawn(ax).shown) > few


@pytest.mark.parametrize("n_groups", [5, 56, 80])
def test_the_legend_of_many_groups_is_inside_the_figure(n_groups):
    points = np.random.default_rng(1).normal(size=(300, 2))
    ax = plot_map(points, groups=[f"a group with a long name, number {i % n_groups}" for i in range(300)])
    drawn(ax)
    box = ax.get_legend().get_window_extent()
    assert box.x1 <= ax.figure.bbox.x1
    assert box.y0 >= 0
    assert ax.get_window_extent().width > 4.5 * ax.figure.dpi  # the map keeps its room
    looks = {(line.get_color(), line.get_marker()) for line in ax.get_lines()}
    assert len(looks) == len({text.get_text() for text in ax.get_legend().get_texts()}) == min(n_groups, 56)
    assert sum(len(line.get_xydata()) for line in ax.get_lines()) == 300


def test_hostile_labels_and_groups_are_shown_to_the_letter(tmp_path):
    points = np.random.default_rng(2).normal(size=(len(HOSTILE), 2)) * 10
    ax = plot_map(points, HOSTILE, groups=[*HOSTILE[1:], None], title="$\\broken{")
    layer = drawn(ax)
    shown = {layer._text(i).get_text() for i in layer.shown}
    assert {"$\\frac{a$", "<script>alert(1)</script>", "line↵break", "a[U+10FFFD]"} <= shown
    assert len(layer.shown) >= len(HOSTILE) - 3
    texts = ax.get_legend().get_texts()
    assert texts[0].get_text() == "no group"
    assert "_hidden" in [text.get_text() for text in texts]
    assert not any(text.get_parse_math() for text in texts)
    for suffix in ("png", "svg", "pdf"):
        assert save_figure(ax, tmp_path / f"map.{suffix}").stat().st_size > 1000


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


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"labels": ["a"]}, "labels: got 1, expected 30"),
        ({"groups": ["a"]}, "groups: got 1, expected 30"),
        ({"covariances": np.zeros((30, 3, 3))}, r"covariances: got shape \(30, 3, 3\), expected \(30, 2, 2\)"),
        ({"images": [None]}, "images: got 1"),
        ({"level": 1.0}, "level: got 1.0"),
        ({"axes": (0, 2)}, r"axes: got \(0, 2\)"),
        ({"embedding": np.zeros(3)}, r"shape \(3,\)"),
    ],
)
def test_errors_say_what_came(points, kwargs, message):
    with pytest.raises(ValueError, match=message):
        plot_map(**{"embedding": points, **kwargs})


def test_the_frame_follows_the_map_and_the_size_can_be_chosen():
    points = np.random.default_rng(0).normal(size=(30, 2)) * [10, 2]
    ax = plot_map(points, size=(4, 3), font_size=6)
    drawn(ax)
    assert ax.figure.get_size_inches().tolist() == [4, 3]
    frame = ax.get_window_extent()
    wide, tall = np.ptp(points, axis=0) * 1.16
    assert frame.width / frame.height == pytest.approx(wide / tall, rel=0.01)


def test_save_refuses_to_overwrite_and_unknown_endings(points, tmp_path):
    path = save_figure(plot_map(points), tmp_path / "a.svg")
    for name, error in (("a.svg", FileExistsError), ("a.bmp", ValueError)):
        with pytest.raises(error):
            save_figure(plot_map(points), tmp_path / name)
    assert save_figure(plot_map(points).figure, path, force=True) == path


def test_pictures_are_at_their_points():
    pictures = load_cars().pictures[:3]
    ax = plot_map(np.array([[0.0, 0.0], [1.0, 2.0], [np.nan, np.nan]]), images=[pictures[0], None, pictures[2]])
    boxes = [artist for artist in ax.get_children() if isinstance(artist, AnnotationBbox)]
    assert [tuple(box.xy) for box in boxes] == [(0.0, 0.0)]


def test_weights_of_people():
    model = SimpleNamespace(weights_=np.random.default_rng(0).random((24, 3)), participants_=np.arange(24))
    ax = plot_weights(model, axes=(2, 0))
    assert ax.get_xlabel() == "Weight of axis 3"
    np.testing.assert_array_equal(ax.get_lines()[-1].get_xydata(), model.weights_[:, [2, 0]])
    assert [text.get_text() for text in ax.texts] == list(map(str, range(24)))
    ax = plot_weights(model, groups=dict.fromkeys(range(0, 24, 2), "$x$"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no group", "$x$"]
    with pytest.raises(ValueError, match="expected two numbers from 0 to 2"):
        plot_weights(model, axes=(0, 3))
