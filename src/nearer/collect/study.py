"""A study: a folder with study.toml and items.csv."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, TypeVar

from nearer.data.messages import FileFormatError, closest, counted, listed, shown
from nearer.registry import COLLECTED, KINDS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_T = TypeVar("_T")
_TEMPLATE = Path(__file__).with_name("study.toml")
_CONFIG, _ITEMS = "study.toml", "items.csv"
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
    """An object to compare."""

    name: str  # label in the answers
    form: str  # "text", "image", "audio" or "html"
    content: str | Path  # the text, or the file
    alt: str  # text for screen readers

    @property
    def media_type(self) -> str:
        return ENDINGS[self.form][Path(self.content).suffix.lower()]


@dataclass(frozen=True)
class QuestionSettings:
    """[questions] of study.toml, whose comments explain each setting."""

    kind: str = "triplets"
    number: int = 100
    repeats: int = 10
    catch: int = 4
    catch_questions: tuple[tuple[str, ...], ...] = ()
    options: int = 8
    choose: int = 2
    ordered: bool = True
    cannot_tell: bool = False
    practice: bool = True
    practice_question: tuple[str, ...] = ()
    break_every: int = 50
    adaptive: bool = False
    random_share: float = 0.25
    map_dimensions: int = 2

    @property
    def n_shown(self) -> int:
        """Options in a question, without the head."""
        return {"triplets": 2, "odd-one-out": 3}.get(self.kind, self.options)

    @property
    def n_chosen(self) -> int:
        """Number of options to choose."""
        return self.choose if self.kind == "rankings" else 1

    @property
    def n_items(self) -> int:
        """Objects in a question, including the head."""
        return self.n_shown + (self.kind != "odd-one-out")


@dataclass(frozen=True)
class ParticipantSettings:
    """[participants] of study.toml."""

    id: tuple[str, ...] = ("PROLIFIC_PID", "workerId", "participant", "id")
    anonymous: bool = True


@dataclass(frozen=True)
class CompletionSettings:
    """[completion] of study.toml."""

    link: str = ""
    code: str = ""


@dataclass(frozen=True)
class ServerSettings:
    """[server] of study.toml."""

    origins: tuple[str, ...] = ()
    page: str = ""
    requests_per_second: float = 10
    new_participants_per_minute: float = 60


@dataclass(frozen=True)
class Study:
    """The contents of study.toml and items.csv; `texts` is what participants read."""

    folder: Path
    title: str
    language: str
    items: list[Item]
    questions: QuestionSettings
    participants: ParticipantSettings
    completion: CompletionSettings
    server: ServerSettings
    texts: dict[str, str]

    @property
    def database(self) -> str:
        """Default database."""
        return f"sqlite:///{(self.folder / 'answers.db').resolve()}"


def read_items(path: str | Path) -> list[Item]:
    """Read items.csv: columns name, text, image, audio, html, alt; files must lie below its folder."""
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
    _check_names(path, [item.name for item in items])
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
    if form == "text":
        return Item(name, form, content, cells.get("alt") or content)
    file = (path.parent / content).resolve()
    if not file.is_relative_to(path.parent.resolve()):
        raise FileFormatError(f"{where}: {form}: got {content!r}, expected a file below {path.parent}")
    if file.suffix.lower() not in ENDINGS[form]:
        raise FileFormatError(f"{where}: {form}: got {content!r}, expected an ending of {', '.join(ENDINGS[form])}")
    if not file.is_file():
        raise FileFormatError(f"{where}: {form}: {content}: no such file")
    if not file.stat().st_size:
        raise FileFormatError(f"{where}: {form}: {content}: is empty")
    return Item(name, form, file, cells.get("alt") or name)


def _check_name(where: str, name: str) -> None:
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise FileFormatError(f"{where}: name: got {name[:50]!r}, expected 1 to {_MAX_NAME} printable characters")


def _check_names(path: str | Path, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise FileFormatError(f"{path}: the name {name!r} occurs twice, expected each object once")
        seen.add(name)
    if len(names) < 3:
        raise FileFormatError(f"{path}: got {counted(len(names), 'object')}, expected 3 or more")


def read_study(folder: str | Path) -> Study:
    """Read and check a study as `new_study` writes it."""
    folder = Path(folder)
    path = folder / _CONFIG
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file; create a study with: nearer collect new {folder}")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(f"{path}: {error}") from error
    top = {"title": "A study", "language": "en", "items": _ITEMS}
    sections = {
        "questions": QuestionSettings, "participants": ParticipantSettings,
        "completion": CompletionSettings, "server": ServerSettings,
    }  # fmt: skip
    _refuse_unknown(path, "", given, [*top, *sections, "texts"])
    words = {name: _value(path, name, given.get(name, value), "str") for name, value in top.items()}
    items = read_items(folder / words["items"])
    filled = {name: cls(**_table(path, name, given, cls.__annotations__)) for name, cls in sections.items()}
    asked = filled["questions"].kind
    standard = tomllib.loads(_config("", asked if asked in COLLECTED else "triplets"))["texts"]
    texts = standard | _table(path, "texts", given, dict.fromkeys(standard, "str"))
    texts = {name: text.strip() for name, text in texts.items()}
    study = Study(folder, words["title"], words["language"], items, **filled, texts=texts)
    _check(path, study)
    return study


def _refuse_unknown(path: Path, prefix: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            near = closest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known are {listed(known, 20)}"
            raise FileFormatError(f"{path}: {prefix}{name}: unknown; {hint}")


def _table(path: Path, section: str, given: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    """The checked values of a table of the file; `kinds` maps the names it may have to their annotations."""
    table = given.get(section, {})
    if not isinstance(table, dict):
        raise FileFormatError(f"{path}: {section}: got {shown(table)}, expected a table [{section}]")
    _refuse_unknown(path, f"{section}.", table, list(kinds))
    return {name: _value(path, f"{section}.{name}", value, kinds[name]) for name, value in table.items()}


_CALLED: dict[str, tuple[Any, str]] = {
    "str": (str, "a text"), "int": (int, "a whole number"), "float": ((int, float), "a number"),
    "bool": (bool, "true or false"), "tuple": (list, "a list"),
}  # fmt: skip


def _value(path: Path, name: str, value: Any, kind: str) -> Any:
    """The value, checked against an annotation such as ``int`` or ``tuple[str, ...]``."""
    outer, _, inner = kind.removesuffix(", ...]").partition("[")
    types, called = _CALLED[outer]
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        raise FileFormatError(f"{path}: {name}: got {shown(value)}, expected {called}")
    return tuple(_value(path, name, each, inner) for each in value) if inner else value


def _check(path: Path, study: Study) -> None:
    asked, n_items = study.questions, len(study.items)

    def check(name: str, holds: bool, expected: str) -> None:
        if not holds:
            section, _, key = name.partition(".")
            value = getattr(getattr(study, section), key)
            raise FileFormatError(f"{path}: {name}: got {shown(value)}, expected {expected}")

    check("questions.kind", asked.kind in COLLECTED, f"one of {listed(map(repr, COLLECTED))}")
    check("questions.number", 1 <= asked.number <= 100_000, "a number from 1 to 100000")
    if asked.kind == "rankings":
        there = f"a number from 2 to {n_items - 1}, as there are {n_items} objects"
        check("questions.options", 2 <= asked.options < n_items, there)
        fewer = f"a number from 1 to {asked.options - 1}, less than are shown"
        check("questions.choose", 1 <= asked.choose < asked.options, fewer)
    together = "with catch and repeats together no more than number"
    check("questions.catch", asked.catch >= 0, together)
    check("questions.repeats", 0 <= asked.repeats <= asked.number - asked.catch, together)
    check("questions.break_every", asked.break_every >= 0, "a number from 0 on")
    check("questions.random_share", 0 <= asked.random_share <= 1, "a number from 0 to 1")
    check("questions.map_dimensions", 1 <= asked.map_dimensions <= 10, "a number from 1 to 10")
    most = n_questions(asked, n_items) + asked.catch
    objects = f"at most {most}: {n_items} objects make no more different questions"
    check("questions.number", asked.number <= most, objects)
    _check_objects(path, study)
    different = len(set(asked.catch_questions))
    twice = f"at most {different}, the number of different catch_questions"
    check("questions.catch", not different or asked.catch <= different, twice)
    people, server, web = study.participants, study.server, ("https://", "http://")
    check("participants.id", all(map(str.strip, people.id)), "names that are not empty")
    check("participants.id", bool(people.id) or people.anonymous, "a name, since anonymous is false")
    link = study.completion.link
    check("completion.link", not link or link.startswith(web), "an address that begins with https://")
    hosts = all(origin.startswith(web) and origin.count("/") == 2 for origin in server.origins)
    check("server.origins", hosts, "addresses such as https://lab.example.org, without a path")
    is_page = not server.page or (study.folder / server.page / "index.html").is_file()
    check("server.page", is_page, "a folder of the study that holds index.html")
    check("server.requests_per_second", server.requests_per_second > 0, "a number above 0")
    check("server.new_participants_per_minute", server.new_participants_per_minute > 0, "a number above 0")


def _check_objects(path: Path, study: Study) -> None:
    asked, names = study.questions, [item.name for item in study.items]
    rows = [("catch_questions", row) for row in asked.catch_questions]
    if asked.practice_question:
        rows.append(("practice_question", asked.practice_question))
    for name, row in rows:
        for word in row:
            if word not in names:
                near = closest(word, names)
                hint = f"; did you mean {near!r}?" if near else ""
                raise FileFormatError(f"{path}: questions.{name}: {word!r} is no object of the study{hint}")
        if not len(row) == len(set(row)) == asked.n_items:
            expected = f"expected {asked.n_items} different objects"
            raise FileFormatError(f"{path}: questions.{name}: got {shown(list(row))}, {expected}")
    if asked.catch_questions and asked.kind == "rankings":
        raise FileFormatError(f'{path}: questions.catch_questions: not for "rankings", leave it empty')


def n_questions(asked: QuestionSettings, n_items: int) -> int:
    """Number of different questions."""
    heads = 1 if asked.kind == "odd-one-out" else n_items
    return heads * math.comb(n_items - (heads > 1), asked.n_shown)


def parted(kind: str, items: Sequence[_T]) -> tuple[list[_T], list[_T]]:
    """The head of a question (a list of one, or empty for "odd-one-out"), and its options."""
    start = 0 if kind == "odd-one-out" else 1
    return list(items[:start]), list(items[start:])


def new_study(
    folder: str | Path,
    *,
    images: str | Path | None = None,
    audio: str | Path | None = None,
    words: str | Path | None = None,
    items: str | Path | None = None,
    kind: str = "triplets",
    title: str | None = None,
) -> Study:
    """Create a study from a folder of images or audio files, a file of words, or an items.csv."""
    folder = Path(folder)
    given = {"images": images, "audio": audio, "words": words, "items": items}
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        raise ValueError(f"new: got {' and '.join(chosen) or 'no objects'}, expected one of {listed(given)}")
    if kind not in COLLECTED:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(map(repr, COLLECTED))}")
    for name in (_CONFIG, _ITEMS):
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name}: exists already; choose another folder")
    text, copies = _gathered(*chosen.popitem())
    # Files already in place belong to the user: not copied, and not removed on failure.
    copies = [(source, target) for source, target in copies if source.resolve() != (folder / target).resolve()]
    for _, target in copies:
        if (folder / target).exists():
            raise FileExistsError(f"{folder / target}: exists already; choose another folder")
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for source, target in copies:
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / target)
        (folder / _ITEMS).write_text(text, encoding="utf-8")
        config = _config(title or folder.resolve().name, kind, len(read_items(folder / _ITEMS)))
        (folder / _CONFIG).write_text(config, encoding="utf-8")
        return read_study(folder)
    except BaseException:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for name in (_CONFIG, _ITEMS, *(target for _, target in copies)):
                (folder / name).unlink(missing_ok=True)
        raise


def _gathered(what: str, source: str | Path) -> tuple[str, list[tuple[Path, str]]]:
    """The text of items.csv, and the files to copy with their targets."""
    if what == "items":
        table = Path(source)
        base = table.parent.resolve()
        files = [item.content for item in read_items(table) if isinstance(item.content, Path)]
        return table.read_text(encoding="utf-8-sig"), [(file, file.relative_to(base).as_posix()) for file in files]
    if what == "words":
        form, files = "text", []
        names = contents = _read_words(source)
    else:
        form = what.removesuffix("s")
        files = _list_files(source, form)
        stems = [file.stem for file in files]
        names = stems if len(set(stems)) == len(stems) else [file.name for file in files]
        contents = [f"{form}s/{file.name}" for file in files]
    _check_names(source, names)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", form])
    writer.writerows(zip(names, contents))
    return text.getvalue(), list(zip(files, contents))


def _config(title: str, kind: str, n_items: int = 10**6) -> str:
    """The text of study.toml, with smaller numbers if few objects make few questions."""
    usual = QuestionSettings(kind)
    options = min(usual.options, max(n_items // 2, 2))
    number = min(usual.number, n_questions(QuestionSettings(kind, options=options), n_items))
    values = {
        "kind": kind, "number": number, "repeats": min(usual.repeats, number // 4),
        "catch": min(usual.catch, number // 4), "options": options, "choose": min(usual.choose, options - 1),
    }  # fmt: skip
    aligned = {name: json.dumps(value).ljust(22 - len(name)) for name, value in values.items()}
    texts = {"title": json.dumps(title, ensure_ascii=False), "question": json.dumps(KINDS[kind].question)}
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(aligned, **texts)


def _list_files(folder: str | Path, form: str) -> list[Path]:
    """Files of a folder with an extension of this form, sorted, without hidden ones."""
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


def _read_words(path: str | Path) -> list[str]:
    """Words of a text file, one per line."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from error
    words = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    for number, word in words:
        _check_name(f"{path}: line {number}", word)
    return [word for _, word in words]
