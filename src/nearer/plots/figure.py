"""Figures without pyplot: new Axes, verbatim text with font fallback, saving."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import font_manager, rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from nearer.display import clean_text, natural_key, shorten
from nearer.io.files import atomic_write, check_ending
from nearer.registry import PICTURES

GREY = "#6b7280"


def chart_axes(ax: Axes | None, figsize: tuple[float, float] = (6.4, 4.2)) -> Axes:
    ax = new_axes(ax, figsize)
    style_axes(ax)
    return ax


def new_axes(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """Return `ax`, or the Axes of a new figure outside pyplot."""
    if ax is not None:
        return ax
    figure = Figure(figsize=figsize, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    FigureCanvasAgg(figure)
    return figure.add_subplot(axes_class=ShownAxes)


def style_axes(ax: Axes) -> None:
    """Quiet frame: no top and right spine, a faint grid beneath the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e5e7eb", linewidth=0.8)
    ax.set_axisbelow(True)


class ShownAxes(Axes):
    """Axes that a notebook displays as their figure."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.figure.figure.savefig(buffer, format="png", dpi=110)
        return buffer.getvalue()


def save_figure(fig: Figure | Axes, path: str | os.PathLike, *, dpi: float = 200, force: bool = False) -> Path:
    """Write a figure, or the whole figure of an Axes, as .png, .svg or .pdf: complete or not at all.

    Parameters
    ----------
    dpi : float
        Dots per inch of a PNG.
    force : bool
        Replace an existing file.
    """
    target = Path(path)
    suffix = check_ending(target, PICTURES)
    figure = fig.figure.figure if isinstance(fig, Axes) else fig
    # No date in the file: saving is reproducible.
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    with atomic_write(target, force) as file:
        figure.savefig(file, format=suffix[1:], dpi=dpi, metadata=metadata)
    return target


def columns(table: Any, required: Sequence[str], name: str) -> dict[str, np.ndarray]:
    """Columns of a mapping, an object or a sequence of rows, None as NaN; errors refer to it as `name`."""
    if hasattr(table, "to_dict") and not isinstance(table, Mapping):
        table = table.to_dict()
    if isinstance(table, Sequence):
        rows = [_as_mapping(row) for row in table]
        table = {key: [row.get(key) for row in rows] for key in (rows[0] if rows else required)}
    else:
        table = _as_mapping(table)
    missing = [key for key in required if key not in table]
    if missing:
        there = ", ".join(map(str, table))
        raise ValueError(f"{name}: got the columns {there}, expected {', '.join(missing)} among them")
    out: dict[str, np.ndarray] = {}
    for key, column in table.items():
        if np.ndim(column) == 1:
            array = np.asarray(column)
            out[key] = array.astype(float) if array.dtype.kind in "biufO" else array
        elif key in required:
            raise ValueError(f"{name}: got {np.ndim(column)} dimensions in column {key}, expected one")
    lengths = {key: len(out[key]) for key in required}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{name}: got columns of unequal length, {lengths}, expected one length")
    return out


def _as_mapping(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "_asdict"):
        return row._asdict()
    names = getattr(row, "__dataclass_fields__", None) or getattr(row, "__dict__", {})
    return {name: getattr(row, name) for name in names}


def literal(text: Text, value: object) -> Text:
    """Show `value` verbatim: no mathtext, no TeX, with font fallback."""
    shown, families = _drawable(clean_text(value))
    text.set_parse_math(False)
    text.set_usetex(False)
    text.set_text(shown)
    if families:
        text.set_fontfamily(families)
    return text


def literal_legend(ax: Axes, handles: Sequence[Any], names: Sequence[str], **kwargs: Any) -> None:
    """Add a legend, above the Axes by default, with verbatim entries (also "_hidden" and "$x$")."""
    if "loc" not in kwargs:
        longest = min(max((len(name) for name in names), default=1), 32)
        kwargs |= {"loc": "lower left", "bbox_to_anchor": (0, 1.01), "borderaxespad": 0, "columnspacing": 1.4}
        kwargs["ncols"] = max(1, min(len(names), 64 // (longest + 6)))
    legend = ax.legend(handles, [str(k) for k in range(len(names))], frameon=False, **kwargs)
    for text, name in zip(legend.get_texts(), names):
        literal(text, shorten(clean_text(name), 32))


def _drawable(text: str) -> tuple[str, list[str]]:
    """The text and the font families it needs; characters without an installed font become [U+XXXX]."""
    base = list(rcParams["font.family"])
    default = _charmap(font_manager.findfont(font_manager.FontProperties()))
    missing = {ch for ch in text if not ch.isspace() and ord(ch) not in default}
    # Joiners, direction marks and variation selectors have no glyph.
    invisible = {ch for ch in missing if 0x200B <= ord(ch) <= 0x200F or 0x2028 <= ord(ch) <= 0x202E}
    invisible |= {ch for ch in missing if 0xFE00 <= ord(ch) <= 0xFE0F or 0x2060 <= ord(ch) <= 0x2069 or ch == "\ufeff"}
    families: list[str] = []
    unknown = set()
    for ch in sorted(missing - invisible):
        family = _family_with(ord(ch))
        if family is None:
            unknown.add(ch)
        elif family not in families:
            families.append(family)
    shown = "".join(f"[U+{ord(ch):04X}]" if ch in unknown else ch for ch in text if ch not in invisible)
    return shown, (base + families if families else [])


@lru_cache(maxsize=4096)
def _charmap(path: str) -> frozenset[int]:
    """Code points that the outline font at `path` can draw; none for bitmap-only fonts."""
    try:
        font = FT2Font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


@lru_cache(maxsize=4096)
def _family_with(code: int) -> str | None:
    """Name of an installed font family with the character `code`, None if there is none."""

    def preference(font: Any) -> tuple:
        weight = font.weight if isinstance(font.weight, int) else font_manager.weight_dict.get(font.weight, 400)
        return abs(weight - 400), natural_key(font.name), font.fname

    regular = [f for f in font_manager.fontManager.ttflist if f.style == "normal" and f.variant == "normal"]
    # A last-resort font draws a box for every character.
    regular = [f for f in regular if "last resort" not in f.name.lower()]
    fitting = (font.name for font in sorted(regular, key=preference) if code in _charmap(font.fname))
    return next(fitting, None)
