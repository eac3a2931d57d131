"""A study: a folder with study.toml and items.csv, read and checked, or begun."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nearer.collect.items import ENDINGS, Item, check_names, list_files, read_items, read_words, write_items
from nearer.data.errors import FileFormatError, closest, listed, shown

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KINDS = ("triplet", "odd", "choose")
_TEMPLATE = Path(__file__).with_name("study.toml")
_ASKED = {
    "triplet": "Which of these two is more like this one?",
    "odd": "Which of these three is the odd one out?",
    "choose": "Which of these are most like this one?",
}
_CONFIG, _ITEMS = "study.toml", "items.csv"


@dataclass(frozen=True)
class Questions:
    """What is asked; the comments of study.toml say what each means."""

    kind: str = "triplet"
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
        """Options that a question shows, without the head."""
        return {"triplet": 2, "odd": 3}.get(self.kind, self.options)

    @property
    def n_chosen(self) -> int:
        """Options that an answer names."""
        return self.choose if self.kind == "choose" else 1

    @property
    def n_items(self) -> int:
        """Objects in a question, the head included."""
        return self.n_shown + (self.kind != "odd")


@dataclass(frozen=True)
class Participants:
    """Who takes part."""

    id: tuple[str, ...] = ("PROLIFIC_PID", "workerId", "participant", "id")
    anonymous: bool = True


@dataclass(frozen=True)
class Completion:
    """How a study ends for a participant."""

    link: str = ""
    code: str = ""


@dataclass(frozen=True)
class Server:
    """Limits, and who else may ask for questions."""

    origins: tuple[str, ...] = ()
    page: str = ""
    requests_per_second: float = 10
    new_participants_per_minute: float = 60


@dataclass(frozen=True)
class Study:
    """A study as study.toml and items.csv describe it; `texts` are what people read."""

    folder: Path
    title: str
    language: str
    items: list[Item]
    questions: Questions = field(default_factory=Questions)
    participants: Participants = field(default_factory=Participants)
    completion: Completion = field(default_factory=Completion)
    server: Server = field(default_factory=Server)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> str:
        """Where answers are kept if no other database is named."""
        return f"sqlite:///{(self.folder / 'answers.db').resolve()}"


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_study(folder: str | Path) -> Study:
    """Read and check a study as `new_study` writes it; errors name file, key, what it is and what was expected."""
    folder = Path(folder)
    path = folder / _CONFIG
    if not path.is_file():
        raise FileFormatError(f"{path}: no such file; nearer collect new {folder} begins a study")
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileFormatError(f"{path}: {error}") from error
    standard = _standard_texts(given)
    top = {"title": "A study", "language": "en", "items": _ITEMS}
    sections = {"questions": Questions, "participants": Participants, "completion": Completion, "server": Server}
    _refuse_unknown(path, "", given, [*top, *sections, "texts"])
    words = {name: _typed(path, name, given.get(name, value), str) for name, value in top.items()}
    items = read_items(folder / words["items"])
    filled = {name: _filled(path, name, cls, given.get(name, {})) for name, cls in sections.items()}
    study = Study(folder, words["title"], words["language"], items, **filled, texts=_texts(path, given, standard))
    _check(path, study)
    return study


def _standard_texts(given: Mapping[str, Any]) -> dict[str, str]:
    questions = given.get("questions")
    kind = questions.get("kind") if isinstance(questions, dict) else None
    text = _template(title="", kind=kind if kind in _ASKED else "triplet")
    return {name: value.strip() for name, value in tomllib.loads(text)["texts"].items()}


def _texts(path: Path, given: Mapping[str, Any], standard: Mapping[str, str]) -> dict[str, str]:
    told = given.get("texts", {})
    if not isinstance(told, dict):
        raise FileFormatError(f"{path}: texts: got {shown(told)}, expected a table [texts]")
    _refuse_unknown(path, "texts.", told, list(standard))
    return {name: _typed(path, f"texts.{name}", told.get(name, text), str).strip() for name, text in standard.items()}


def _refuse_unknown(path: Path, prefix: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            near = closest(name, known)
            hint = f"did you mean {near!r}?" if near else f"known are {listed(known, 20)}"
            raise FileFormatError(f"{path}: {prefix}{name}: unknown; {hint}")


def _filled(path: Path, section: str, cls: Any, table: Any) -> Any:
    if not isinstance(table, dict):
        raise FileFormatError(f"{path}: {section}: got {shown(table)}, expected a table [{section}]")
    fields = {one.name: one for one in dataclasses.fields(cls)}
    _refuse_unknown(path, f"{section}.", table, list(fields))
    values = {
        name: _value(path, f"{section}.{name}", value, fields[name].default, str(fields[name].type))
        for name, value in table.items()
    }
    return cls(**values)


def _value(path: Path, name: str, value: Any, default: Any, annotation: str) -> Any:
    if annotation == "tuple[str, ...]":
        return tuple(_typed(path, name, each, str) for each in _typed(path, name, value, list))
    if annotation.startswith("tuple"):
        rows = [_typed(path, name, each, list) for each in _typed(path, name, value, list)]
        return tuple(tuple(_typed(path, name, each, str) for each in row) for row in rows)
    return _typed(path, name, value, float if annotation == "float" else type(default))


_CALLED = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def _typed(path: Path, name: str, value: Any, wanted: type) -> Any:
    fits = isinstance(value, (int, float) if wanted is float else wanted)
    if not fits or (isinstance(value, bool) and wanted is not bool):
        raise FileFormatError(f"{path}: {name}: got {shown(value)}, expected {_CALLED[wanted]}")
    return value


def _check(path: Path, study: Study) -> None:
    asked, n_items = study.questions, len(study.items)

    def refuse(name: str, expected: str, section: Any = asked, prefix: str = "questions") -> None:
        raise FileFormatError(f"{path}: {prefix}.{name}: got {shown(getattr(section, name))}, expected {expected}")

    if asked.kind not in KINDS:
        refuse("kind", f"one of {listed(map(repr, KINDS))}")
    if not 1 <= asked.number <= 100_000:
        refuse("number", "a number from 1 to 100000")
    if asked.kind == "choose" and not 2 <= asked.options < n_items:
        refuse("options", f"a number from 2 to {n_items - 1}, as there are {n_items} objects")
    if asked.kind == "choose" and not 1 <= asked.choose < asked.options:
        refuse("choose", f"a number from 1 to {asked.options - 1}, less than are shown")
    if asked.repeats < 0 or asked.catch < 0 or asked.repeats + asked.catch > asked.number:
        refuse("catch" if asked.catch < 0 else "repeats", "with catch and repeats together no more than number")
    if asked.break_every < 0:
        refuse("break_every", "a number from 0 on")
    if not 0 <= asked.random_share <= 1:
        refuse("random_share", "a number from 0 to 1")
    if not 1 <= asked.map_dimensions <= 10:
        refuse("map_dimensions", "a number from 1 to 10")
    possible = n_questions(asked, n_items)
    if asked.number - asked.catch > possible:
        refuse("number", f"at most {possible + asked.catch}: {n_items} objects make no more different questions")
    _check_names(path, study)
    if not all(map(str.strip, study.participants.id)):
        refuse("id", "names that are not empty", study.participants, "participants")
    if not study.participants.id and not study.participants.anonymous:
        refuse("id", "a name, since anonymous is false", study.participants, "participants")
    if study.completion.link and not study.completion.link.startswith(("https://", "http://")):
        refuse("link", "an address that begins with https://", study.completion, "completion")
    for origin in study.server.origins:
        if not origin.startswith(("https://", "http://")) or origin.count("/") != 2:
            refuse("origins", "addresses such as https://lab.example.org, without a path", study.server, "server")
    if study.server.page and not (study.folder / study.server.page / "index.html").is_file():
        refuse("page", "a folder of the study that holds index.html", study.server, "server")
    for name in ("requests_per_second", "new_participants_per_minute"):
        if not getattr(study.server, name) > 0:
            refuse(name, "a number above 0", study.server, "server")


def _check_names(path: Path, study: Study) -> None:
    asked, names = study.questions, {item.name for item in study.items}
    rows = [("catch_questions", row) for row in asked.catch_questions]
    if asked.practice_question:
        rows.append(("practice_question", asked.practice_question))
    for name, row in rows:
        for word in row:
            if word not in names:
                near = closest(word, list(names))
                hint = f"; did you mean {near!r}?" if near else ""
                raise FileFormatError(f"{path}: questions.{name}: {word!r} is no object of the study{hint}")
        wanted = asked.n_items
        if len(row) != wanted or len(set(row)) < wanted:
            raise FileFormatError(
                f"{path}: questions.{name}: got {shown(list(row))}, expected {wanted} different objects"
            )
    if asked.catch_questions and asked.kind == "choose":
        raise FileFormatError(f'{path}: questions.catch_questions: are for "triplet" and "odd", leave it empty')
    if asked.catch_questions and len(set(asked.catch_questions)) < asked.catch:
        raise FileFormatError(
            f"{path}: questions.catch: got {asked.catch}, expected at most {len(set(asked.catch_questions))}, the "
            "number of different catch_questions: nobody is asked the same twice"
        )


def n_questions(asked: Questions, n_items: int) -> int:
    """How many different questions there are."""
    from math import comb

    heads = 1 if asked.kind == "odd" else n_items
    return heads * comb(n_items - (heads > 1), asked.n_shown)


# ---- beginning -------------------------------------------------------------------------------------------------------


def new_study(
    folder: str | Path,
    *,
    images: str | Path | None = None,
    audio: str | Path | None = None,
    words: str | Path | None = None,
    items: str | Path | None = None,
    kind: str = "triplet",
    title: str | None = None,
) -> Study:
    """Begin a study: write study.toml and items.csv, and copy the files to be shown.

    The objects are a folder of images or of audio, a text file with a word on each line, or items as `read_items`
    reads them; the title is the folder's name by default.
    """
    folder = Path(folder)
    given = {"images": images, "audio": audio, "words": words, "items": items}
    told = [name for name, value in given.items() if value is not None]
    if len(told) != 1:
        raise ValueError(f"new: got {' and '.join(told) or 'no objects'}, expected one of {listed(given)}")
    if kind not in KINDS:
        raise ValueError(f"kind: got {kind!r}, expected one of {listed(map(repr, KINDS))}")
    for name in (_CONFIG, _ITEMS):
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name}: exists already; choose another folder")
    text, copies = _gathered(images, audio, words, items)
    fresh = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for source, target in copies:
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / target)
        (folder / _ITEMS).write_text(text, encoding="utf-8")
        (folder / _CONFIG).write_text(_template(title=title or folder.resolve().name, kind=kind), encoding="utf-8")
        _fit_numbers(folder)
        return read_study(folder)
    except BaseException:
        if fresh:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            for name in (_CONFIG, _ITEMS, *(target for _, target in copies)):
                (folder / name).unlink(missing_ok=True)
        raise


def _gathered(
    images: str | Path | None, audio: str | Path | None, words: str | Path | None, items: str | Path | None
) -> tuple[str, list[tuple[Path, str]]]:
    """The text of items.csv, and what is to be copied where."""
    if words is not None:
        return write_items(((word, word) for word in read_words(words)), "text"), []
    if items is not None:
        found = read_items(items)
        base = Path(items).parent.resolve()
        copies = [(item.content, item.content.relative_to(base).as_posix()) for item in found if item.form in ENDINGS]  # type: ignore[union-attr]
        return Path(items).read_text(encoding="utf-8-sig"), copies  # type: ignore[return-value]
    form, source = ("image", images) if images is not None else ("audio", audio)
    files = list_files(source, form)  # type: ignore[arg-type]
    stems = [file.stem for file in files]
    names = stems if len(set(stems)) == len(stems) else [file.name for file in files]
    check_names(source, names)  # type: ignore[arg-type]
    targets = [f"{form}s/{file.name}" for file in files]
    return write_items(zip(names, targets), form), list(zip(files, targets))


def _template(title: str, kind: str) -> str:
    text = _TEMPLATE.read_text(encoding="utf-8")
    question = f"question = {json.dumps(_ASKED[kind])}\n"
    values = {"@title@": json.dumps(title, ensure_ascii=False), "@kind@": json.dumps(kind), "@question@": question}
    for mark, value in values.items():
        text = text.replace(mark, value)
    return text


def _fit_numbers(folder: Path) -> None:
    """With few objects there are few questions: write numbers that can be asked."""
    path = folder / _CONFIG
    text = path.read_text(encoding="utf-8")
    n_items = len(read_items(folder / _ITEMS))
    config = tomllib.loads(text)["questions"]
    options = min(config["options"], max(n_items // 2, 2))
    asked = Questions(kind=config["kind"], options=options)
    number = min(config["number"], n_questions(asked, n_items))
    changes = {
        "number": number, "repeats": min(config["repeats"], number // 4), "catch": min(config["catch"], number // 4),
        "options": options, "choose": min(config["choose"], max(options - 1, 1)),
    }  # fmt: skip
    for name, value in changes.items():
        if value != config[name]:
            old = f"{name} = {config[name]} "
            text = text.replace(old, f"{name} = {value} ".ljust(len(old)), 1)
    path.write_text(text, encoding="utf-8")
