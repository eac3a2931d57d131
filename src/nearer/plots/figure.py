"""Figures without pyplot: new Axes, verbatim text with font fallback, saving."""

from __future__ import annotations

import io
import os
import unicodedata
from collections.abc import Sequence
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

from nearer.display import clean_text
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
    """Write a figure, or the whole figure of an Axes, as .png, .svg or .pdf; never a partial file.

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


def columns(table: Any, name: str, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Columns of a mapping, a data frame or an object with `to_dict`, None as NaN; errors refer to it as `name`."""
    if not hasattr(table, "keys"):
        table = table.to_dict()
    if not set(required) <= set(table):
        raise ValueError(f"{name}: got the columns {', '.join(table)}, expected {', '.join(required)} among them")
    return {key: np.asarray(table[key], dtype=float) for key in (*required, *optional) if key in table}


def literal(text: Text, value: object) -> Text:
    """Show `value` verbatim: no mathtext, no TeX; characters without an installed font become [U+XXXX]."""
    default = _characters(font_manager.findfont(font_manager.FontProperties()))
    shown = [ch for ch in clean_text(value) if ord(ch) in default or not _is_invisible(ch)]
    family = {ch: _family_with(ord(ch)) for ch in sorted(set(shown)) if ord(ch) not in default and not ch.isspace()}
    text.set_parse_math(False)
    text.set_usetex(False)
    text.set_text("".join(ch if family.get(ch, "") is not None else f"[U+{ord(ch):04X}]" for ch in shown))
    text.set_fontfamily([*rcParams["font.family"], *filter(None, dict.fromkeys(family.values()))])
    return text


def _is_invisible(ch: str) -> bool:
    """Whether a character has no glyph: joiners, direction marks, variation selectors."""
    return unicodedata.category(ch) == "Cf" or "\ufe00" <= ch <= "\ufe0f"


@lru_cache(maxsize=4096)
def _characters(path: str) -> frozenset[int]:
    """Code points that the outline font at `path` can draw; none for bitmap-only fonts."""
    try:
        font = FT2Font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


@lru_cache(maxsize=4096)
def _family_with(code: int) -> str | None:
    """Name of an installed font family with the character `code`, of regular weight if there is one."""
    upright = [font for font in font_manager.fontManager.ttflist if font.style == font.variant == "normal"]
    fonts = sorted(upright, key=lambda font: (font.weight != 400, font.name, font.fname))
    # A last-resort font draws a box for every character.
    names = (font.name for font in fonts if "last resort" not in font.name.lower() and code in _characters(font.fname))
    return next(names, None)
