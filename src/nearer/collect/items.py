"""The objects of a study: words, pictures, sounds or pieces of HTML, listed in a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nearer.data.cells import MISSING
from nearer.data.errors import FileFormatError, counted

ENDINGS = {
    "image": {
        ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
        ".avif": "image/avif", ".svg": "image/svg+xml",
    },
    "audio": {
        ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".flac": "audio/flac",
        ".opus": "audio/ogg", ".webm": "audio/webm",
    },
    "html": {".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8"},
}  # fmt: skip
FORMS = ("text", *ENDINGS)
_MAX_NAME = 200


@dataclass(frozen=True)
class Item:
    """An object that people compare."""

    name: str  # what the answers call it
    form: str  # "text", "image", "audio" or "html"
    content: str | Path  # the text, or the file
    alt: str  # what a screen reader says

    @property
    def media_type(self) -> str:
        """The type that the file is served as."""
        return ENDINGS[self.form][Path(self.content).suffix.lower()]


def list_files(folder: str | Path, form: str) -> list[Path]:
    """Files of a folder that are pictures (or sounds, or HTML), in the order of their names; not the hidden ones."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileFormatError(f"{folder}: no such folder")
    shown = (path for path in folder.iterdir() if not path.name.startswith("."))
    found = sorted(path for path in shown if path.suffix.lower() in ENDINGS[form] and path.is_file())
    if len(found) < 3:
        wanted = ", ".join(ENDINGS[form])
        raise FileFormatError(f"{folder}: got {counted(len(found), 'file')} with one of {wanted}, expected 3 or more")
    for path in found:
        if not path.stat().st_size:
            raise FileFormatError(f"{path}: is empty")
    return found


def read_words(path: str | Path) -> list[str]:
    """Words of a text file, one on each line; blank lines do not count, and each word must do for a name."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from error
    words = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    for number, word in words:
        _check_name(f"{path}: line {number}", word)
    check_names(path, [word for _, word in words])
    return [word for _, word in words]


def write_items(rows: Iterable[tuple[str, str]], form: str) -> str:
    """The text of items.csv, from names and contents (a text, or a file relative to the study's folder)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", form])
    writer.writerows(rows)
    return text.getvalue()


def read_items(path: str | Path) -> list[Item]:
    """Read items.csv: a column `name`, and for each row one of `text`, `image`, `audio`, `html`; optionally `alt`.

    Files are looked for beside the CSV file, and must lie below its folder.
    """
    path = Path(path)
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file")
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            rows = list(csv.reader(file))
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileFormatError(f"{path}: is not a UTF-8 CSV file: {error}") from error
    header = [name.strip().lower() for name in rows[0]] if rows else []
    unknown = [name for name in header if name not in ("name", "alt", *FORMS)]
    if "name" not in header or not set(header) & set(FORMS) or unknown or len(set(header)) < len(header):
        raise FileFormatError(
            f"{path}: line 1: got the columns {', '.join(header) or 'none'}, expected name and one of "
            f"{', '.join(FORMS)}, and optionally alt"
        )
    items = [_item(path, number, header, row) for number, row in enumerate(rows[1:], 2) if any(map(str.strip, row))]
    check_names(path, [item.name for item in items])
    return items


def _item(path: Path, number: int, header: Sequence[str], row: Sequence[str]) -> Item:
    where = f"{path}: line {number}"
    if len(row) > len(header):
        raise FileFormatError(f"{where}: got {len(row)} cells, expected {len(header)}; quote a text that has commas")
    cells = {name: cell.strip() for name, cell in zip(header, row)}
    name = cells.get("name", "")
    _check_name(where, name)
    given = [form for form in FORMS if cells.get(form)]
    if len(given) != 1:
        raise FileFormatError(f"{where}: got {' and '.join(given) or 'nothing'} to show, expected one of {FORMS}")
    form, content = given[0], cells[given[0]]
    alt = cells.get("alt") or (content if form == "text" else name)
    return Item(name, form, content if form == "text" else _file(where, path.parent, form, content), alt)


def _file(where: str, folder: Path, form: str, content: str) -> Path:
    file = (folder / content).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise FileFormatError(f"{where}: {form}: got {content!r}, expected a file below {folder}")
    if file.suffix.lower() not in ENDINGS[form]:
        raise FileFormatError(f"{where}: {form}: got {content!r}, expected an ending of {', '.join(ENDINGS[form])}")
    if not file.is_file():
        raise FileFormatError(f"{where}: {form}: {content}: no such file")
    if not file.stat().st_size:
        raise FileFormatError(f"{where}: {form}: {content}: is empty")
    return file


def _check_name(where: str, name: str) -> None:
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise FileFormatError(f"{where}: name: got {name[:50]!r}, expected 1 to {_MAX_NAME} printable characters")


def check_names(path: str | Path, names: Sequence[str]) -> None:
    """Refuse names that are given twice, or too few of them."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileFormatError(f"{path}: the name {name!r} occurs twice, expected each object once")
        if name in MISSING:
            raise FileFormatError(f"{path}: the name {name!r} would be read as a missing cell; call it otherwise")
        seen.add(name)
    if len(names) < 3:
        raise FileFormatError(f"{path}: got {counted(len(names), 'object')}, expected 3 or more")
