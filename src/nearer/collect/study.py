"""A study: a folder with study.toml and items.csv."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import json
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from nearer.data import is_number
from nearer.data.messages import FileFormatError, counted, did_you_mean, listed, shown
from nearer.data.validate import is_unicode
from nearer.registry import COLLECTED, KINDS, SUGGESTED
from nearer.tables.layout import tomllib

_T = TypeVar("_T")
_TEMPLATE = Path(__file__).with_name("study.toml")
_CONFIG, _ITEMS = "study.toml", "items.csv"
_DATABASE = b"SQLite format 3\0"  # how such files begin
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
_MAX_TEXT = 2_000  # characters of a text that a participant writes
STEPS = ("consent", "before", "questions", "after", "finished")  # of a participant, in this order
ENDS = ("finished", "declined", "screened_out", "timed_out", "full")  # each has a text, and a link in [completion]
PERSON_COLUMNS = (
    "participant", "status", "condition", "consent_version", "opened_at", "consented_at", "ended_at", "minutes",
    "answered", "total", "visits", "catch_right", "catch_asked",
)  # fmt: skip


@dataclass(frozen=True)
class Item:
    name: str  # label in the answers
    form: str  # "text", "image", "audio" or "html"
    content: str | Path  # the text, or the file
    alt: str  # text for screen readers

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > _MAX_NAME or not self.name.isprintable():
            raise ValueError(f"name: got {self.name[:50]!r}, expected 1 to {_MAX_NAME} printable characters")

    @property
    def address(self) -> str:
        """Of its file on the server; another object never has it, also after the list was changed."""
        return f"items/{digest(self.name)}"


def digest(text: str) -> str:
    """A short text that no two texts share."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _number(default: float, least: float, most: float = math.inf) -> Any:
    """A setting that is a number from `least` to `most`."""
    return dataclasses.field(default=default, metadata={"range": (least, most)})


# The tables of study.toml, whose comments explain each setting.


@dataclass(frozen=True)
class QuestionSettings:
    kind: str = "triplets"
    number: int = _number(100, 1, 100_000)
    repeats: int = _number(10, 0)
    catch: int = _number(4, 0)
    catch_questions: tuple[tuple[str, ...], ...] = ()
    options: int = _number(8, 2)
    choose: int = _number(2, 1)
    ordered: bool = True
    cannot_tell: bool = False
    practice: bool = True
    practice_question: tuple[str, ...] = ()
    break_every: int = _number(50, 0)
    adaptive: bool = False
    random_share: float = _number(0.25, 0, 1)
    map_dimensions: int = _number(2, 1, 10)

    @property
    def n_shown(self) -> int:
        """Options in a question, without the head."""
        return {"triplets": 2, "odd-one-out": 3}.get(self.kind, self.options)

    @property
    def n_items(self) -> int:
        """Objects in a question, including the head."""
        return self.n_shown + self.n_heads()

    def n_heads(self, catch: bool = False) -> int:
        """How often the head of a question, or of an attention check, is among its objects."""
        return 2 if catch else int(self.kind != "odd-one-out")


@dataclass(frozen=True)
class ParticipantSettings:
    id: tuple[str, ...] = ("PROLIFIC_PID", "workerId", "survey_code", "participant", "id")
    parameters: tuple[str, ...] = ("STUDY_ID", "SESSION_ID", "assignmentId", "hitId")
    anonymous: bool = True
    consent_version: str = ""
    wanted: int = _number(0, 0)
    minutes: float = _number(0, 0)
    failed_checks: int = _number(0, 0)


@dataclass(frozen=True)
class CompletionSettings:
    link: str = ""
    code: str = ""
    declined_link: str = ""
    screened_out_link: str = ""
    timed_out_link: str = ""
    full_link: str = ""

    def links(self) -> dict[str, str]:
        """The link of each end."""
        return {end: self.link if end == "finished" else getattr(self, f"{end}_link") for end in ENDS}


@dataclass(frozen=True)
class PaymentSettings:
    bonus: float = _number(0, 0)
    bonus_catch_passed: float = _number(1, 0, 1)
    reject_catch_passed: float = _number(0, 0, 1)
    reject_min_seconds: float = _number(0, 0)


@dataclass(frozen=True)
class Field:  # [[before]] or [[after]]
    id: str = ""
    text: str = ""
    kind: str = "text"
    choices: tuple[str, ...] = ()
    least: float = -1e15
    most: float = 1e15
    required: bool = True
    screen_out: tuple[str, ...] = ()

    def takes(self, value: Any) -> bool:
        """Whether a value from a page answers this; None: no answer."""
        if value is None:
            return not self.required
        if self.kind == "number":
            return is_number(value) and self.least <= value <= self.most
        if not isinstance(value, str) or len(value) > _MAX_TEXT or "\0" in value or not is_unicode(value):
            return False
        return value in self.choices if self.kind == "choice" else bool(value.strip())

    def for_page(self) -> dict[str, Any]:
        """What participants may know."""
        return {name: value for name, value in vars(self).items() if name != "screen_out"}


@dataclass(frozen=True)
class Condition:
    name: str = ""
    items: tuple[str, ...] = ()
    question: str = ""
    questions: tuple[tuple[str, ...], ...] = ()
    wanted: int = _number(0, 0)


@dataclass(frozen=True)
class ServerSettings:
    origins: tuple[str, ...] = ()
    page: str = ""
    requests_per_second: float = _number(10, 0.01)
    new_participants_per_minute: float = _number(60, 0.01)


@dataclass(frozen=True)
class Study:
    """The contents of items.csv, and of study.toml."""

    folder: Path
    items: list[Item]
    title: str = "A study"
    language: str = "en"
    questions: QuestionSettings = QuestionSettings()
    participants: ParticipantSettings = ParticipantSettings()
    completion: CompletionSettings = CompletionSettings()
    payments: PaymentSettings = PaymentSettings()
    server: ServerSettings = ServerSettings()
    before: tuple[Field, ...] = ()
    after: tuple[Field, ...] = ()
    conditions: tuple[Condition, ...] = ()  # one without a name if study.toml has none
    texts: dict[str, str] = dataclasses.field(default_factory=dict)  # what participants read

    @property
    def database(self) -> str:
        return f"sqlite:///{(self.folder / 'answers.db').resolve()}"

    @property
    def person_columns(self) -> list[str]:
        return [*PERSON_COLUMNS, *self.participants.parameters, *(field.id for field in self.before + self.after)]


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
        expected = f"name and one of {', '.join(FORMS)}, and optionally alt"
        raise FileFormatError(f"{path}: line 1: got the columns {', '.join(header) or 'none'}, expected {expected}")
    return _items(path, header, rows[1:], 2)


def _items(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], first: int) -> list[Item]:
    """The objects of rows that are not blank; the first one is at line `first`."""
    items: dict[str, Item] = {}
    for number, row in enumerate(rows, first):
        if any(map(str.strip, row)):
            try:
                item = _item(path.parent, header, row)
                if item.name in items:
                    raise ValueError(f"the name {item.name!r} occurs twice, expected each object once")
            except ValueError as error:
                raise FileFormatError(f"{path}: line {number}: {error}") from None
            items[item.name] = item
    if len(items) < 3:
        raise FileFormatError(f"{path}: got {counted(len(items), 'object')}, expected 3 or more")
    return list(items.values())


def _item(folder: Path, header: Sequence[str], row: Sequence[str]) -> Item:
    if len(row) > len(header):
        raise ValueError(f"got {len(row)} cells, expected {len(header)}; quote a text that has commas")
    cells = {name: cell.strip() for name, cell in zip(header, row)}
    given = [form for form in FORMS if cells.get(form)]
    if len(given) != 1:
        raise ValueError(f"got {' and '.join(given) or 'nothing'} to show, expected one of {FORMS}")
    name, form, content = cells["name"], given[0], cells[given[0]]
    if form == "text":
        return Item(name, form, content, cells.get("alt") or content)
    file = (folder / content).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise ValueError(f"{form}: got {content!r}, expected a file below {folder}")
    if file.suffix.lower() not in ENDINGS[form]:
        raise ValueError(f"{form}: got {content!r}, expected an ending of {', '.join(ENDINGS[form])}")
    if not file.is_file() or not file.stat().st_size:
        raise ValueError(f"{form}: {content}: {'is empty' if file.is_file() else 'no such file'}")
    return Item(name, form, file, cells.get("alt") or name)


def read_study(folder: str | Path) -> Study:
    """Read and check a study as `new_study` writes it."""
    folder = Path(folder)
    path = folder / _CONFIG
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file; create a study with: nearer collect new {folder}")
    items = read_items(folder / _ITEMS)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        study = _made("", given, Study, folder=folder, items=items)
        asked = study.questions.kind
        _check("questions.kind", asked, asked in COLLECTED, f"one of {listed(map(repr, COLLECTED))}")
        standard = tomllib.loads(_config("", asked))["texts"]
        _refuse_unknown("texts.", study.texts, standard)
        texts = {name: _made(f"texts.{name}", text, str).strip() for name, text in (standard | study.texts).items()}
        study = dataclasses.replace(study, texts=texts, conditions=study.conditions or (Condition(),))
        _check_all(study)
    except ValueError as error:  # also of decoding
        raise FileFormatError(f"{path}: {error}") from error
    return study


_CALLED: dict[Any, tuple[Any, str]] = {
    str: (str, "a text"), int: (int, "a whole number"), float: ((int, float), "a number"),
    bool: (bool, "true or false"), tuple: (list, "a list"), dict: (dict, "a table"),
}  # fmt: skip


def _made(name: str, value: Any, wanted: Any, **known: Any) -> Any:
    """A checked value of the file, of a type such as ``tuple[str, ...]``, or settings."""
    outer = get_origin(wanted) or wanted
    types, called = _CALLED.get(outer, _CALLED[dict])
    if not isinstance(value, types) or (isinstance(value, bool) and outer is not bool):
        raise ValueError(f"{name}: got {shown(value)}, expected {called}")
    if outer is tuple:
        return tuple(_made(name, one, get_args(wanted)[0]) for one in value)
    if outer in _CALLED:
        return value
    prefix = f"{name}." if name else ""
    fields = {field.name: field for field in dataclasses.fields(wanted) if field.name not in known}
    _refuse_unknown(prefix, value, fields)
    hints = get_type_hints(wanted)
    made = {key: _made(f"{prefix}{key}", one, hints[key]) for key, one in value.items()}
    for key, number in made.items():
        if "range" in fields[key].metadata:
            least, most = fields[key].metadata["range"]
            expected = f"a number from {least} {'on' if most == math.inf else f'to {most}'}"
            _check(f"{prefix}{key}", number, least <= number <= most, expected)
    return wanted(**known, **made)


def _refuse_unknown(prefix: str, given: Iterable[str], known: Iterable[str]) -> None:
    for name in given:
        if name not in known:
            hint = did_you_mean(name, list(known)) or f"; known are {listed(known, 20)}"
            raise ValueError(f"{prefix}{name}: unknown{hint}")


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise ValueError(f"{name}: got {shown(value)}, expected {expected}")


def _check_all(study: Study) -> None:
    asked, people, server, conditions = study.questions, study.participants, study.server, study.conditions
    names, web = {item.name for item in study.items}, ("https://", "http://")
    titles, quotas = [one.name for one in conditions], [one.wanted for one in conditions]

    several = len(titles) == 1 or (len(titles) == len(set(titles)) and all(map(str.strip, titles)))
    _check("conditions: name", titles, several, "different names that are not empty")
    _check("conditions: wanted", quotas, all(quotas) or not any(quotas), "a number for all or for none")
    for one in conditions:
        fits = len(set(one.items) & names) == len(one.items) not in (1, 2)
        _check(f"conditions {one.name}: items", one.items, fits, "three or more different objects of the study")
    if asked.adaptive:
        fits = asked.kind in SUGGESTED and not any(one.items or one.questions for one in conditions)
        expected = f"false, as kind is {asked.kind!r}, or conditions have lists of their own"
        _check("questions.adaptive", True, fits, expected)
    n_items = min(len(one.items) or len(names) for one in conditions)
    if asked.kind == "rankings":
        there = f"a number from 2 to {n_items - 1}, as there are {n_items} objects"
        _check("questions.options", asked.options, asked.options < n_items, there)
        fewer = f"a number from 1 to {asked.options - 1}, less than are shown"
        _check("questions.choose", asked.choose, asked.choose < asked.options, fewer)
        _check("questions.catch_questions", asked.catch_questions, not asked.catch_questions, "none for rankings")
    own = [("practice_question", asked.practice_question)] if asked.practice_question else []
    own += [("catch_questions", row) for row in asked.catch_questions]
    own += [(f"conditions {one.name}", row) for one in conditions for row in one.questions]
    for name, row in own:
        fits = len(row) == len(set(row) & names) == asked.n_items
        _check(f"questions.{name}", list(row), fits, f"{asked.n_items} different objects of the study")
    least = asked.catch + asked.repeats
    _check("questions.number", asked.number, asked.number >= least, f"at least {least}, as catch and repeats are in it")
    lists = [len(one.questions) for one in conditions if one.questions]
    most = asked.catch + min([n_questions(asked, n_items), *lists])
    objects = f"at most {most}: {n_items} objects, or a condition's list, make no more different questions"
    _check("questions.number", asked.number, asked.number <= most, objects)
    most = n_questions(asked, n_items, catch=True)
    _check("questions.catch", asked.catch, asked.catch <= most, f"at most {most}, the number of different ones")
    known = all(map(str.strip, people.id)) and (people.anonymous or bool(people.id))
    _check("participants.id", people.id, known, "names that are not empty, at least one if anonymous is false")
    for end, link in study.completion.links().items():
        name = "link" if end == "finished" else f"{end}_link"
        _check(f"completion.{name}", link, not link or link.startswith(web), "an address that begins with https://")
    hosts = all(origin.startswith(web) and origin.count("/") == 2 for origin in server.origins)
    _check("server.origins", server.origins, hosts, "addresses such as https://lab.example.org, without a path")
    page_files(study)
    twice = [name for name, count in Counter(study.person_columns).items() if count > 1]
    _check("before, after and parameters", twice, not twice, f"different names, none of {listed(PERSON_COLUMNS, 20)}")
    for field in (*study.before, *study.after):
        _check("id", field.id, field.id.isidentifier(), "letters, digits and underscores")
        _check(f"{field.id}: text", field.text, bool(field.text.strip()), "a question")
        kinds = ("text", "choice", "number")
        _check(f"{field.id}: kind", field.kind, field.kind in kinds, f"one of {listed(map(repr, kinds))}")
        several = len(set(field.choices)) == len(field.choices) and all(map(str.strip, field.choices))
        fits = several and (len(field.choices) > 1 if field.kind == "choice" else not field.choices)
        _check(f"{field.id}: choices", field.choices, fits, "two or more if kind is 'choice', else none")
        _check(f"{field.id}: least and most", (field.least, field.most), field.least <= field.most, "least <= most")
        outs = set(field.screen_out) <= set(field.choices)
        some = f"some of the choices {listed(field.choices)}" if field.choices else "none, as kind is not 'choice'"
        _check(f"{field.id}: screen_out", field.screen_out, outs, some)


def page_files(study: Study) -> dict[str, Path]:
    """The files of the study's own page, by address: those of a folder that holds nothing else."""
    page = study.server.page
    if not page:
        return {}
    above = study.folder.resolve()
    folder = (above / page).resolve()
    if above not in folder.parents or not (folder / "index.html").is_file():
        raise ValueError(f"server.page: got {page!r}, expected a folder inside that of the study, with index.html")
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise ValueError(f"server.page: got a link {name} in the folder {page}, expected files")
        if path.is_file() and not any(part.startswith(".") for part in Path(name).parts):
            with path.open("rb") as file:
                if file.read(len(_DATABASE)) == _DATABASE:
                    raise ValueError(f"server.page: got the database {name} in {page}, expected what all may read")
            files[name] = path
            if path.name == "index.html":
                files[name.removesuffix("index.html")] = path
    return files


def n_questions(asked: QuestionSettings, n_items: int, catch: bool = False) -> int:
    """Number of different questions, or attention checks."""
    if catch and asked.catch_questions:
        return len(set(asked.catch_questions))
    n_heads = asked.n_heads(catch)
    return (n_items if n_heads else 1) * math.comb(n_items - bool(n_heads), asked.n_items - n_heads)


def parted(kind: str, items: Sequence[_T]) -> tuple[list[_T], list[_T]]:
    """The head of a question (a list of one, or empty for "odd-one-out"), and its options."""
    start = 0 if kind == "odd-one-out" else 1
    return list(items[:start]), list(items[start:])


def new_study(
    folder: str | Path, what: str, source: str | Path, kind: str = "triplets", title: str | None = None
) -> Study:
    """Create a study of "images" or "audio" (folders), "words" (a text file), or "items" (an items.csv)."""
    folder, source = Path(folder), Path(source).resolve()
    if kind not in COLLECTED:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(map(repr, COLLECTED))}")
    if folder.exists():
        raise FileExistsError(f"{folder}: exists already; choose another folder")
    gathered = _gathered(what, source)
    columns = ["name", *sorted({item.form for item in gathered}), "alt"]
    folder.mkdir(parents=True)
    try:
        with open(folder / _ITEMS, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            for item in gathered:
                content = item.content
                if isinstance(content, Path):
                    content = content.relative_to(source.parent)
                    (folder / content).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(item.content, folder / content)
                alt = "" if item.alt in (item.name, content) else item.alt
                writer.writerow({"name": item.name, item.form: content, "alt": alt})
        config = _config(title or folder.resolve().name, kind, len(gathered))
        (folder / _CONFIG).write_text(config, encoding="utf-8")
        return read_study(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _gathered(what: str, source: Path) -> list[Item]:
    if what == "items":
        return read_items(source)
    if what == "words":
        try:
            words = source.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{source}: is not UTF-8 text: {error}") from error
        return _items(source, ("name", "text"), [(word, word) for word in words], 1)
    form = what.removesuffix("s")
    if not source.is_dir():
        raise FileFormatError(f"{source}: no such folder")
    files = [path for path in source.iterdir() if path.suffix.lower() in ENDINGS[form] and path.is_file()]
    files = sorted(path for path in files if not path.name.startswith("."))
    if len(files) < 3:
        expected = f"3 or more with one of {', '.join(ENDINGS[form])}"
        raise FileFormatError(f"{source}: got {counted(len(files), 'file')}, expected {expected}")
    by_stem = len({file.stem for file in files}) == len(files)
    names = [file.stem if by_stem else file.name for file in files]
    return [Item(name, form, file, name) for name, file in zip(names, files)]


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
