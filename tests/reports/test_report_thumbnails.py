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
        found = load_thumbnails(tmp_path, ["dog", "a cat", "bird", "clear", "éa", "../dog"])
    assert sorted(found.uris) == [0, 1, 3, 4]
    head, image = decode(found.uris[1])
    assert head == "data:image/jpeg;base64"
    assert image.size == (96, 48)
    assert decode(found.uris[3])[0] == "data:image/png;base64"
    assert found.notes == [
        "Pictures: 4 of 6 objects.",
        "Without a picture of their name in the folder: 2 (bird, ../dog).",
    ]


def test_endings_and_cases_do_not_matter_but_an_exact_name_comes_first(tmp_path):
    picture(tmp_path / "Dog.JPG", colour=(10, 200, 30))
    picture(tmp_path / "dog.png", colour=(200, 10, 30))
    picture(tmp_path / "CAT.png")
    found = load_thumbnails(tmp_path, ["dog", "Dog", "Dog.JPG", "dog.jpg", "cat", "cat.PNG"])
    assert sorted(found.uris) == [0, 1, 2, 3, 4, 5]
    assert found.uris[1] == found.uris[2] == found.uris[3] != found.uris[0]
    assert found.uris[4] == found.uris[5]


def test_of_several_that_fit_but_for_case_none_is_taken(tmp_path):
    picture(tmp_path / "DOG.png")
    picture(tmp_path / "Dog.png")
    with pytest.warns(InputWarning, match=r"dog \(DOG.png or Dog.png\)"):
        found = load_thumbnails(tmp_path, ["dog", "Dog"])
    assert sorted(found.uris) == [1]
    assert "Not shown, since several pictures fit: 1 (dog (DOG.png or Dog.png))." in found.notes


def test_what_is_left_out_is_told(tmp_path):
    for name in "abcd":
        picture(tmp_path / f"{name}.png")
    picture(tmp_path / "a.jpg")
    (tmp_path / "e.png").write_bytes(b"not a picture")
    found = load_thumbnails(tmp_path, list("eabcd"), max_count=2)
    assert sorted(found.uris) == [1, 2]
    notes = " ".join(found.notes)
    assert "Left out to keep this file small: 2." in notes
    assert "first in the alphabet was taken: 1." in notes
    assert "Could not be read: 1 (e.png: not PNG, JPEG, GIF or WebP)." in notes
    assert len(load_thumbnails(tmp_path, list("abcd"), max_bytes=1).uris) == 1


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        load_thumbnails(tmp_path / "no", ["a"])


def test_the_content_decides_and_no_program_is_started(tmp_path, monkeypatch):
    def started(*args, **kwargs):
        raise AssertionError("a program was started for a picture")

    monkeypatch.setattr("subprocess.Popen", started)
    monkeypatch.setattr("subprocess.check_call", started)
    (tmp_path / "a.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n")
    picture(tmp_path / "b.tiff")
    picture(tmp_path / "c.bmp")
    Image.new("RGB", (20, 20)).save(tmp_path / "d.png", "GIF")  # named wrongly, but good
    found = load_thumbnails(tmp_path, list("abcd"))
    assert list(found.uris) == [3]
    assert "Could not be read: 3 (a.png: not PNG, JPEG, GIF or WebP" in " ".join(found.notes)


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
    found = load_thumbnails(tmp_path, [str(number) for number in range(60)])
    assert len(found.uris) < 60
    assert f"Pictures: {len(found.uris)} of 60 objects." in found.notes
    assert f"Could not be read: {60 - len(found.uris)} (" in found.notes[-1]


def test_a_picture_too_large_to_open_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("nearer.reports.thumbnails._MAX_PIXELS", 100)
    picture(tmp_path / "a.png")
    found = load_thumbnails(tmp_path, ["a"])
    assert found.uris == {}
    assert "a.png: 300 x 150 pixels" in found.notes[-1]
