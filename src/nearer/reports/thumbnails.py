"""Small pictures of the objects, as data URIs for the page."""

from __future__ import annotations

import base64
import io
import os
import unicodedata
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from nearer.reports.sentences import picture_sentences
from nearer.warning_types import InputWarning

_ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif", ".svg"}
_MAX_SVG = 1_000_000  # bytes of one, as it is not shrunk
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")  # some of Pillow's other readers start programs
_MAX_PIXELS = 50_000_000
_MAX_BYTES = 12_000_000  # of all together
_SIDE = 96
_name = partial(unicodedata.normalize, "NFC")


def load_thumbnails(folder: str | os.PathLike, labels: Sequence[object]) -> tuple[dict[int, str], list[str]]:
    """Pictures named like the labels, with or without ending, as data URIs by object, and notes on missing ones."""
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"images: got {str(root)!r}, expected a folder of pictures")
    files: dict[str, Path] = {}
    any_case: dict[str, Path] = {}  # used if no name matches exactly
    for path in sorted(root.iterdir()):
        if path.suffix.lower() in _ENDINGS and path.is_file():
            for name in (_name(path.name), _name(path.stem)):
                files.setdefault(name, path)
                any_case.setdefault(name.casefold(), path)
    uris: dict[int, str] = {}
    unreadable: list[str] = []
    missing: list[str] = []
    size = over = 0
    for number, label in enumerate(labels):
        name = _name(str(label))
        fitting = files.get(name) or any_case.get(name.casefold())
        if fitting is None:
            missing.append(str(label))
        elif size >= _MAX_BYTES:
            over += 1
        else:
            try:
                uris[number] = _data_uri(fitting)
                size += len(uris[number])
            except Exception as error:  # readers raise many types of errors for a damaged file
                unreadable.append(f"{fitting.name}: {str(error)[:80] or type(error).__name__}")
    notes = picture_sentences(len(uris), len(labels), missing, unreadable, over)
    if missing:
        warnings.warn(f"images: {str(root)!r}: {' '.join(notes)}", InputWarning, stacklevel=2)
    return uris, notes


def _data_uri(path: Path) -> str:
    """A picture within 96 x 96 pixels, PNG if it has transparency, else JPEG; SVG as it is: images run no scripts."""
    if path.suffix.lower() == ".svg":
        if (size := path.stat().st_size) > _MAX_SVG:
            raise ValueError(f"{size:,} bytes")
        content = path.read_bytes()
        if b"<svg" not in content:
            raise ValueError("no element <svg>")
        return _encoded("svg+xml", content)
    from PIL import Image, ImageOps

    with warnings.catch_warnings(), Image.open(path, formats=_FORMATS) as file:
        warnings.simplefilter("ignore")  # about damage that does not prevent reading
        if file.width * file.height > _MAX_PIXELS:
            raise ValueError(f"{file.width:,} x {file.height:,} pixels")
        picture = ImageOps.exif_transpose(file)
        clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
        picture = picture.convert("RGBA" if clear else "RGB")
        picture.thumbnail((_SIDE, _SIDE))
        buffer = io.BytesIO()
        kind = "png" if clear else "jpeg"
        picture.save(buffer, kind, **({"optimize": True} if clear else {"quality": 80}))
    return _encoded(kind, buffer.getvalue())


def _encoded(kind: str, content: bytes) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
