"""study.toml and items.csv: begun, read, and refused with file and key."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from serving import WORDS, change, make_study

from nearer.collect.server import served_files
from nearer.collect.study import n_questions, new_study, read_items, read_study
from nearer.data.messages import FileFormatError


@pytest.fixture
def study(tmp_path):
    make_study(tmp_path / "study")
    return tmp_path / "study"


def test_what_new_writes_are_the_defaults_of_the_library(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("\n".join(f"word {number}" for number in range(40)))
    made = new_study(tmp_path / "s", "words", words)
    assert (made.title, made.items[0].name) == ("s", "word 0")
    text = (tmp_path / "s" / "study.toml").read_text()
    for section in (made.questions, made.participants, made.completion, made.payments, made.server):
        assert section == type(section)()
        assert all(f"\n{field.name} = " in text for field in dataclasses.fields(section))


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_few_objects_make_few_questions(tmp_path, kind):
    made = make_study(tmp_path / "s", words=WORDS[:4], kind=kind)
    assert 1 <= made.questions.number <= n_questions(made.questions, 4)
    assert made.questions.kind == kind
    assert "{" not in made.texts["question"]
    with pytest.raises(FileExistsError, match="exists already"):
        new_study(tmp_path / "s", "words", tmp_path / "s.txt")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": 0}, "questions.number: got 0, expected a number from 1 to 100000"),
        ({"number": 1000}, "questions.number: got 1000, expected at most"),
        ({"number": True}, "questions.number: got True, expected a whole number"),
        ({"kind": "quartet"}, "questions.kind: got 'quartet', expected one of 'triplets'"),
        ({"kind": "rankings", "options": 3, "adaptive": True}, "questions.adaptive: got True, expected false"),
        ({"repeats": 200}, "questions.number: got 100, expected at least 204, as catch and repeats"),
        ({"number": 12, "catch": 20, "repeats": 2}, "questions.number: got 12, expected at least 22"),
        ({"kind": "rankings", "options": 8}, "questions.options: got 8, expected a number from 2 to 7"),
        ({"kind": "rankings", "options": 5, "choose": 5}, "questions.choose: got 5, expected a number from 1 to 4"),
        ({"random_share": 1.5}, "questions.random_share: got 1.5, expected a number from 0 to 1"),
        ({"catch_questions": [["cat", "tulpi", "bus"]]}, "got ['cat', 'tulpi', 'bus'], expected 3 different objects"),
        ({"catch_questions": [["cat", "dog", "bus"]]}, "questions.catch: got 4, expected at most 1"),
        ({"practice_question": ["cat", "cat", "bus"]}, "expected 3 different objects"),
        ({"link": "javascript:alert(1)"}, "completion.link: got 'javascript:alert(1)', expected an address"),
        ({"full_link": "example.org"}, "completion.full_link: got 'example.org', expected an address"),
        ({"parameters": ["age", "participant"]}, "got ['participant'], expected different names"),
        ({"minutes": -1}, "participants.minutes: got -1, expected a number from 0"),
        ({"reject_catch_passed": 80}, "payments.reject_catch_passed: got 80, expected a number from 0 to 1"),
        ({"id": ["PID", ""]}, "participants.id: got ('PID', ''), expected names that are not empty"),
        ({"origins": "lab"}, "server.origins: got 'lab', expected a list"),
        ({"page": "own"}, "server.page: got 'own', expected a folder inside that of the study, with index.html"),
        ({"agree": 3}, "texts.agree: got 3, expected a text"),
    ],
)
def test_wrong_values_are_refused_by_file_and_key(study, changes, message):
    change(study, **changes)
    with pytest.raises(FileFormatError) as error:
        read_study(study)
    assert str(study) in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ("before = 3", "texts.before: unknown"),
        ("[before]\nid = 'x'", "before: got {'id': 'x'}, expected a list"),
        ("[[before]]\nid = 'age'", "age: text: got '', expected a question"),
        ("[[before]]\nid = 'a b'\ntext = '?'", "id: got 'a b', expected letters, digits and underscores"),
        ("[[before]]\nid = 'status'\ntext = '?'", "got ['status'], expected different names"),
        ("[[before]]\nid = 'x'\ntext = '?'\n[[after]]\nid = 'x'\ntext = '?'", "got ['x'], expected different names"),
        ("[[after]]\nid = 'x'\ntext = '?'\nkind = 'date'", "x: kind: got 'date', expected one of 'text'"),
        ("[[after]]\nid = 'x'\ntext = '?'\nkind = 'choice'\nchoices = ['a']", "x: choices: got ('a',), expected two"),
        ("[[after]]\nid = 'x'\ntext = '?'\nchoices = ['a', 'b']", "x: choices: got ('a', 'b'), expected two"),
        ("[[after]]\nid = 'x'\ntext = '?'\nscreen_out = ['a']", "x: screen_out: got ('a',), expected none"),
        ("[[before]]\nid = 'x'\ntext = '?'\nkind = 'number'\nscreen_out = ['a']", "expected none, as kind is not"),
        ("[[after]]\nid = 'x'\ntext = '?'\nleast = 2\nmost = 1", "x: least and most: got (2, 1), expected least <="),
        ("[[after]]\nid = 'x'\ntitle = '?'", "after.title: unknown"),
        ("[[conditions]]\nitems = ['cat', 'dog']", "items: got ('cat', 'dog'), expected three or more"),
        ("[[conditions]]\nname = 'a'\n[[conditions]]\nname = 'a'", "name: got ['a', 'a'], expected different names"),
        ("[[conditions]]\nname = 'a'\n[[conditions]]\nwanted = 1", "name: got ['a', ''], expected different names"),
        ("[[conditions]]\nname = 'a'\nwanted = 1\n[[conditions]]\nname = 'b'", "wanted: got [1, 0], expected a number"),
        ("[[conditions]]\nname = 'a'\nitems = ['cat', 'dog', 'bus']", "number: got 100, expected at most"),
        ("[[conditions]]\nname = 'a'\nquestions = [['cat', 'dog', 'x']]", "conditions a: got ['cat', 'dog', 'x']"),
        ("[[conditions]]\nname = 'a'\nquestions = [['cat', 'dog', 'bus']]", "number: got 100, expected at most 5"),
    ],
)
def test_wrong_tables_are_refused(study, tables, message):
    with (study / "study.toml").open("a") as file:
        file.write(f"\n{tables}\n")
    with pytest.raises(FileFormatError) as error:
        read_study(study)
    assert message in str(error.value)


def test_the_examples_can_be_used(tmp_path):
    """Those in the comments of study.toml, and those of the documentation."""
    folder = make_study(tmp_path / "study", ["apple", "pear", "plum", "cherry", "carrot", "leek"], number=5).folder
    text = (folder / "study.toml").read_text()
    lines = [line.removeprefix("# ") for line in text.split("\n") if re.match(r"# (\[\[\w+\]\]|\w+ = )", line)]
    page = (Path(__file__).parents[2] / "docs" / "collecting.md").read_text(encoding="utf-8")
    for tables in ("\n".join(lines), *re.findall(r"```toml.*?\n(\[\[.*?)```", page, re.S)):
        (folder / "study.toml").write_text(f"{text}\n{tables}")
        read = read_study(folder)
        assert read.before or read.conditions[0].name
    settings = re.search(r"```toml.*?\n(\[participants.*?)```", page, re.S)[1]
    (folder / "study.toml").write_text(f"[questions]\nnumber = 5\nrepeats = 0\ncatch = 0\n{settings}")
    assert read_study(folder).participants.wanted == 60


def test_unknown_keys_are_refused(study):
    path = study / "study.toml"
    for line, message in [
        ("titel = 'x'\n", "titel: unknown; did you mean 'title'?"),
        ("[questions]\nnumbre = 3\n", "questions.numbre: unknown; did you mean 'number'?"),
        ("[texts]\nhello = 'x'\n", "texts.hello: unknown; known are consent"),
        ("questions = 3\n", "questions: got 3, expected a table"),
        ("x = [1\n", "study.toml: "),
    ]:
        path.write_text(line)
        with pytest.raises(FileFormatError, match=r"study\.toml") as error:
            read_study(study)
        assert message in str(error.value)


def test_what_is_left_out_has_its_default(study):
    (study / "study.toml").write_text("[questions]\nkind = 'odd-one-out'\nnumber = 5\nrepeats = 0\ncatch = 0\n")
    read = read_study(study)
    assert read.texts["question"] == "Which of these three is the odd one out?"
    assert read.server.requests_per_second == 10


def test_pictures_are_copied_and_named_by_their_files(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in ("b.png", "a.jpg", "c.WEBP", "notes.txt", ".hidden.png"):
        (folder / name).write_bytes(b"x")
    made = new_study(tmp_path / "s", "images", folder)
    assert [item.name for item in made.items] == ["a", "b", "c"]
    respond = served_files(made)
    sent = [respond(SimpleNamespace(path_params={"path": item.address})).headers["content-type"] for item in made.items]
    assert sent == ["image/jpeg", "image/png", "image/webp"]
    assert all(item.content.is_relative_to(tmp_path / "s") for item in made.items)
    with pytest.raises(FileFormatError, match="got 0 files"):
        new_study(tmp_path / "t", "audio", folder)
    (folder / "d.png").touch()
    with pytest.raises(FileFormatError, match=r"line 5: image: photos/d\.png: is empty"):
        new_study(tmp_path / "t", "images", folder)
    assert not (tmp_path / "t").exists()


def test_items_of_all_forms(tmp_path):
    (tmp_path / "a.svg").write_text("<svg/>")
    (tmp_path / "b.mp3").write_bytes(b"x")
    (tmp_path / "c.html").write_text("<b>c</b>")
    (tmp_path / "i.csv").write_text(
        "name,text,image,audio,html,alt\na,,a.svg,,,a circle\nb,,,b.mp3,,\nc,,,,c.html,\nd,four,,,,\n"
    )
    found = read_items(tmp_path / "i.csv")
    assert [item.form for item in found] == ["image", "audio", "html", "text"]
    assert [item.alt for item in found] == ["a circle", "b", "c", "four"]
    made = new_study(tmp_path / "s", "items", tmp_path / "i.csv").items
    assert [(item.name, item.form, item.alt) for item in made] == [(item.name, item.form, item.alt) for item in found]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,text\na,a\nb,b\n", "got 2 objects, expected 3 or more"),
        ("label,text\na,a\n", "line 1: got the columns label, text, expected name"),
        ("", "line 1: got the columns none"),
        ("name,text\na,a\na,b\nc,c\n", "the name 'a' occurs twice"),
        ("name,text\n,a\n", "line 2: name: got ''"),
        ("name,text\na,b,c\n", "line 2: got 3 cells, expected 2"),
        ("name,text,image\na,b,c.png\n", "line 2: got text and image to show"),
        ("name,image\na,../../etc/passwd\n", "expected a file below"),
        ("name,image\na,a.exe\n", "expected an ending of .png"),
        ("name,image\na,a.png\n", "a.png: no such file"),
        ("name,image\na,empty.png\n", "line 2: image: empty.png: is empty"),
        ("\udcff\udcfe\0", "not a UTF-8 CSV file"),
    ],
)
def test_wrong_items_are_refused_by_line(tmp_path, text, message):
    (tmp_path / "i.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
    (tmp_path / "empty.png").touch()
    with pytest.raises(FileFormatError) as error:
        read_items(tmp_path / "i.csv")
    assert message in str(error.value)
    assert "i.csv" in str(error.value)
