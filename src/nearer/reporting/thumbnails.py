"""Small pictures of the objects, as data URIs."""

from __future__ import annotations

import base64
import io
import os
import unicodedata
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nearer.data.errors import listed

if TYPE_CHECKING:
    import PIL.Image

# Found by name; which are read, the content alone decides. Some of Pillow's other readers start programs.
_ENDINGS = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".avif"}
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
_MAX_PIXELS = 50_000_000
MAX_COUNT = 2000
MAX_BYTES = 12_000_000
SIDE = 96


class Thumbnails(NamedTuple):
    """Data URIs by object number, and sentences on what is not there."""

    uris: dict[int, str]
    notes: list[str]


def load_thumbnails(
    folder: str | os.PathLike,
    labels: Sequence[object],
    *,
    max_count: int = MAX_COUNT,
    max_bytes: int = MAX_BYTES,
) -> Thumbnails:
    """Read the pictures of a folder that are named as the labels, and shrink them to 96 pixels.

    A label may have the ending of the file or not, and either may be in other cases; an exact match comes first.
    Where several fit but for case, none is taken. Labels without a picture are named in a warning, and so are those.
    Files that are not PNG, JPEG, GIF or WebP, damaged ones, and what is beyond the limits are left out and told.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

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
            continue
        if len({path.stem for path in fitting}) > 1:
            unclear.append(f"{label} ({' or '.join(path.name for path in fitting)})")
            continue
        if len(uris) >= max_count or size >= max_bytes:
            over += 1
            continue
        try:
            with warnings.catch_warnings(), Image.open(fitting[0], formats=_FORMATS) as picture:
                warnings.simplefilter("ignore")  # of damage that the reader gets over
                if picture.width * picture.height > _MAX_PIXELS:
                    raise ValueError(f"{picture.width:,} x {picture.height:,} pixels")
                uri = _data_uri(ImageOps.exif_transpose(picture))
        except UnidentifiedImageError:
            unreadable.append(f"{fitting[0].name}: not PNG, JPEG, GIF or WebP")
            continue
        except (Exception, Image.DecompressionBombError) as error:  # readers raise many kinds for a damaged file
            unreadable.append(f"{fitting[0].name}: {str(error)[:80] or type(error).__name__}")
            continue
        uris[number] = uri
        size += len(uri)
    if missing:
        warnings.warn(f"images: no picture in {str(root)!r} is named {listed(missing, 5)}", stacklevel=2)
    if unclear:
        warnings.warn(f"images: several pictures fit, so none is shown: {listed(unclear, 5)}", stacklevel=2)
    notes = [f"Pictures: {len(uris):,} of {len(labels):,} objects."]
    left_out: tuple[tuple[str, int, list[str]], ...] = (
        ("Without a picture of their name in the folder", len(missing), missing),
        ("Not shown, since several pictures fit", len(unclear), unclear),
        ("Left out to keep this file small", over, []),
        ("Files of the same name as another, of which the first in the alphabet was taken", doubled, []),
        ("Could not be read", len(unreadable), unreadable),
    )
    for what, number, names in left_out:
        if number:
            notes.append(f"{what}: {number:,}{f' ({listed(names, 5)})' if names else ''}.")
    return Thumbnails(uris, notes)


def _data_uri(picture: PIL.Image.Image) -> str:
    """The picture within 96 x 96 pixels: PNG if it has transparency, else JPEG."""
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    picture = picture.convert("RGBA" if clear else "RGB")
    picture.thumbnail((SIDE, SIDE))
    buffer = io.BytesIO()
    kind = "png" if clear else "jpeg"
    picture.save(buffer, kind, **({"optimize": True} if clear else {"quality": 80}))
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
