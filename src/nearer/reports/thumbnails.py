"""Small pictures of the objects, as data URIs for the page."""

from __future__ import annotations

import base64
import io
import os
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from nearer.data.messages import listed
from nearer.warning_types import InputWarning

_ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif"}
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")  # some of Pillow's other readers start programs
_MAX_PIXELS = 50_000_000
MAX_COUNT = 2000
MAX_BYTES = 12_000_000
SIDE = 96


class Thumbnails(NamedTuple):
    """Data URIs by object number, and notes on missing pictures."""

    uris: dict[int, str]
    notes: list[str]


def load_thumbnails(
    folder: str | os.PathLike,
    labels: Sequence[object],
    *,
    max_count: int = MAX_COUNT,
    max_bytes: int = MAX_BYTES,
) -> Thumbnails:
    """Pictures within 96 pixels, from files named like the labels, with or without ending, regardless of case."""
    from PIL import UnidentifiedImageError

    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"images: got {str(root)!r}, expected a folder of pictures")
    files: dict[str, Path] = {}
    folded: dict[str, list[Path]] = {}
    doubled = 0
    for path in sorted(root.iterdir()):
        if path.suffix.lower() in _ENDINGS and path.is_file():
            stem = unicodedata.normalize("NFC", path.stem)
            doubled += stem in files
            for name in (unicodedata.normalize("NFC", path.name), stem):
                files.setdefault(name, path)
                folded.setdefault(name.casefold(), []).append(path)
    uris: dict[int, str] = {}
    unreadable: list[str] = []
    missing: list[str] = []
    unclear: list[str] = []
    over = size = 0
    for number, label in enumerate(labels):
        name = unicodedata.normalize("NFC", str(label))
        fitting = [files[name]] if name in files else folded.get(name.casefold(), [])
        if not fitting:
            missing.append(str(label))
        elif len({path.stem for path in fitting}) > 1:
            unclear.append(f"{label} ({' or '.join(path.name for path in fitting)})")
        elif len(uris) >= max_count or size >= max_bytes:
            over += 1
        else:
            try:
                uris[number] = _data_uri(fitting[0])
                size += len(uris[number])
            except UnidentifiedImageError:
                unreadable.append(f"{fitting[0].name}: not PNG, JPEG, GIF or WebP")
            except Exception as error:  # readers raise many kinds for a damaged file
                unreadable.append(f"{fitting[0].name}: {str(error)[:80] or type(error).__name__}")
    left_out: tuple[tuple[str, int, list[str]], ...] = (
        ("Without a picture of their name in the folder", len(missing), missing),
        ("Not shown, since several pictures fit", len(unclear), unclear),
        ("Could not be read", len(unreadable), unreadable),
        ("Left out to keep this file small", over, []),
        ("Files of the same name as another, of which the first in the alphabet was taken", doubled, []),
    )
    notes = [f"Pictures: {len(uris):,} of {len(labels):,} objects."]
    for what, number, names in left_out:
        if number:
            notes.append(f"{what}: {number:,}{f' ({listed(names, 5)})' if names else ''}.")
    if missing or unclear:
        warnings.warn(f"images: {str(root)!r}: {' '.join(notes)}", InputWarning, stacklevel=2)
    return Thumbnails(uris, notes)


def _data_uri(path: Path) -> str:
    """A picture within 96 x 96 pixels: PNG if it has transparency, else JPEG."""
    from PIL import Image, ImageOps

    with warnings.catch_warnings(), Image.open(path, formats=_FORMATS) as file:
        warnings.simplefilter("ignore")  # about damage that does not prevent reading
        if file.width * file.height > _MAX_PIXELS:
            raise ValueError(f"{file.width:,} x {file.height:,} pixels")
        picture = ImageOps.exif_transpose(file)
        clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
        picture = picture.convert("RGBA" if clear else "RGB")
        picture.thumbnail((SIDE, SIDE))
        buffer = io.BytesIO()
        kind = "png" if clear else "jpeg"
        picture.save(buffer, kind, **({"optimize": True} if clear else {"quality": 80}))
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
