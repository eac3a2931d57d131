"""Pictures of the objects."""

from __future__ import annotations

import base64
import io
import unicodedata

import numpy as np
import pytest
from PIL import Image

from nearer.reports.thumbnails import load_thumbnails
from nearer.warning_types import InputWarning


def picture(path, size=(300, 150), colour=(200, 30, 40), mode="RGB"):
    Image.new(mode, size, colour).save(path)


def decode(uri):
    head, body = uri.split(",")
    return head, Image.open(io.BytesIO(base64.b64decode(body)))


def test_pictures_are_found_by_name_and_shrunk(tmp_path):
    picture(tmp_path / "a cat.png")
    picture(tmp_path / "dog.JPG")
    picture(tmp_path / "clear.png", colour=(1, 2, 3, 0), mode="RGBA")
    picture(tmp_path / f"{unicodedata.normalize('NFD', 'éa')}.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    with pytest.warns(InputWarning, match=r"bird, \.\./dog"):
        uris, notes = load_thumbnails(tmp_path, ["dog", "a cat", "bird", "clear", "éa", "../dog"])
    assert sorted(uris) == [0, 1, 3, 4]
    head, image = decode(uris[1])
    assert head == "data:image/jpeg;base64"
    assert image.size == (96, 48)
    assert decode(uris[3])[0] == "data:image/png;base64"
    assert "4 of 6" in notes[0]
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        load_thumbnails(tmp_path / "no", ["a"])


def test_endings_and_cases_do_not_matter_but_an_exact_name_comes_first(tmp_path):
    picture(tmp_path / "Dog.JPG", colour=(10, 200, 30))
    picture(tmp_path / "dog.png", colour=(200, 10, 30))
    picture(tmp_path / "CAT.png")
    uris, _ = load_thumbnails(tmp_path, ["dog", "Dog", "Dog.JPG", "dog.jpg", "cat", "cat.PNG"])
    assert sorted(uris) == [0, 1, 2, 3, 4, 5]
    assert uris[1] == uris[2] == uris[3] != uris[0]
    assert uris[4] == uris[5]


def test_the_content_decides_and_no_program_is_started(tmp_path, monkeypatch):
    def started(*args, **kwargs):
        raise AssertionError("a program was started for a picture")

    monkeypatch.setattr("subprocess.Popen", started)
    monkeypatch.setattr("subprocess.check_call", started)
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
    picture(tmp_path / "b.tiff")
    picture(tmp_path / "c.bmp")
    Image.new("RGB", (20, 20)).save(tmp_path / "d.png", "GIF")  # named wrongly, but good
    uris, notes = load_thumbnails(tmp_path, list("abcd"))
    assert list(uris) == [3]
    assert "Could not be read as PNG, JPEG, GIF, WebP or SVG: 3 (a.png: " in notes[1]


def test_svg_pictures_are_kept_as_they_are(tmp_path, monkeypatch):
    drawn = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="3"/></svg>'
    (tmp_path / "a.SVG").write_text(drawn)
    picture(tmp_path / "b.png")
    (tmp_path / "b.png").rename(tmp_path / "b.svg")
    uris, notes = load_thumbnails(tmp_path, list("ab"))
    head, body = uris[0].split(",")
    assert (head, base64.b64decode(body).decode()) == ("data:image/svg+xml;base64", drawn)
    assert list(uris) == [0]
    assert "b.svg" in notes[1]
    monkeypatch.setattr("nearer.reports.thumbnails._MAX_SVG", 10)
    assert load_thumbnails(tmp_path, ["a"])[0] == {}


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_damaged_pictures_are_left_out_and_told(tmp_path, form):
    buffer = io.BytesIO()
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (40, 40, 3), dtype=np.uint8)).save(buffer, form)
    whole = buffer.getvalue()
    for number in range(60):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 1 + number % 4):
            data[place] = rng.integers(256)
        (tmp_path / f"{number}.png").write_bytes(data[: rng.integers(1, len(data) + 1)] if number % 3 else data)
    uris, notes = load_thumbnails(tmp_path, [str(number) for number in range(60)])
    assert len(uris) < 60
    assert f"{len(uris)} of 60" in notes[0]
    assert f": {60 - len(uris)} (" in notes[1]


def test_pictures_too_large_to_open_or_together_are_left_out(tmp_path, monkeypatch):
    for name in "abc":
        picture(tmp_path / f"{name}.png")
    with monkeypatch.context() as patch:
        patch.setattr("nearer.reports.thumbnails._MAX_BYTES", 1)
        uris, notes = load_thumbnails(tmp_path, list("abc"))
    assert list(uris) == [0]
    assert notes[1].endswith(": 2.")
    monkeypatch.setattr("nearer.reports.thumbnails._MAX_PIXELS", 100)
    assert "a.png: 300 x 150 pixels" in load_thumbnails(tmp_path, ["a"])[1][1]
