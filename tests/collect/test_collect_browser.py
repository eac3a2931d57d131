"""The participant's page in a real Chromium: a study played to its end, whatever happens on the way."""

from __future__ import annotations

import struct
import time
import wave
import zlib

import pytest
import sqlalchemy as sa
from serving import Served, change, make_study

from nearer.collect.store import answers, participants, questions
from nearer.collect.study import new_study, read_study

pytestmark = pytest.mark.browser

LINK = "https://example.org/done?cc=A1"


def stored(served):
    both = questions.join(answers, answers.c.question == questions.c.id)
    with served.store.reading() as connection:
        chosen = sa.select(questions, answers.c.choice, answers.c.seconds).select_from(both)
        return list(connection.execute(chosen.order_by(questions.c.position)))


def until(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.02)


def png(red, green, blue, width=60, height=90):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress((b"\0" + bytes([red, green, blue]) * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_triplets_by_arrow_keys_to_the_completion_link(serve, person):
    served = serve(number=5, break_every=3, link=LINK, code="CODE-7")
    person.open(f"{served.url}?PROLIFIC_PID=abc")
    assert "voluntary" in person.text()
    assert stored(served) == []
    with served.store.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(participants)) == 0  # not before consent
    shown = person.agree()
    for number in range(5):
        assert person.text("#count") == f"{number} of 5"
        person.press("ArrowRight" if number % 2 else "ArrowLeft")
        if number == 2:
            person.wait("!document.getElementById('words').hidden")
            assert "3 of 5 questions" in person.text()
            person.press("Tab")
            person.click("#go")
        if number < 4:
            shown = person.ready(shown)
    person.wait("document.documentElement.dataset.finished === 'yes'")
    assert person.js("return document.getElementById('link').href") == LINK
    assert "CODE-7" in person.text()
    rows = stored(served)
    assert [row.choice for row in rows] == ["[0]", "[1]", "[0]", "[1]", "[0]"]
    assert all(0.2 < row.seconds < 20 for row in rows)
    assert all(url.startswith((served.url, "data:")) for url in person.requests())
    assert person.complaints() == []
    # Who comes back sees the end again.
    person.open(f"{served.url}?PROLIFIC_PID=abc", fresh=False)
    person.wait("document.documentElement.dataset.finished === 'yes'")


def test_odd_one_out_by_touch_on_a_phone(serve, person):
    served = serve(kind="odd", number=4)
    person.size(400, 740, mobile=True)
    person.open(f"{served.url}?workerId=w")
    shown = person.agree()
    for number in range(4):
        assert person.js("return document.documentElement.scrollWidth") <= 400
        assert person.js("return document.documentElement.scrollHeight") <= 740
        person.tap("#options button", number % 3)
        if number < 3:
            shown = person.ready(shown)
    person.wait("document.documentElement.dataset.finished === 'yes'")
    assert [row.choice for row in stored(served)] == ["[0]", "[1]", "[2]", "[0]"]


def test_k_of_n_by_mouse_and_keys(serve, person):
    served = serve(kind="choose", number=3, options=6, choose=2)
    person.open(f"{served.url}?id=x")
    person.click("#go")
    person.wait("document.getElementById('progress').hidden === false")
    person.click("#go")
    person.ready()
    person.choose(0)
    person.choose(1)
    person.wait("!document.getElementById('words').hidden")
    person.click("#go")
    shown = person.ready("practice")
    person.choose(4)
    assert person.text("#more") == "Choose 1 more"
    assert person.js("return document.querySelectorAll('.chosen').length") == 1
    person.click("#undo")
    assert person.text("#more") == "Choose 2 more"
    person.choose(3)
    person.choose(3)  # taken back
    person.choose(5)
    person.choose(1)
    shown = person.ready(shown)
    person.press("ArrowRight")  # to the first option
    person.press("ArrowRight")
    person.press("Enter")
    person.press("ArrowRight")
    person.press(" ")
    shown = person.ready(shown)
    person.press("6")
    person.press("2")
    person.wait("document.documentElement.dataset.finished === 'yes'")
    assert [row.choice for row in stored(served)] == ["[5, 1]", "[1, 2]", "[5, 1]"]


def test_double_click_reload_and_back_answer_once(serve, person):
    served = serve(number=6)
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    person.click("#options button", 1, times=2)
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 1)
    person.driver.refresh()
    assert person.ready() == shown  # the same question, without consent and practice
    person.choose(0)
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 2)
    person.driver.get("about:blank")
    person.driver.back()
    assert person.ready() == shown
    person.choose(0)
    person.ready(shown)
    until(lambda: len(stored(served)) == 3)
    assert [row.choice for row in stored(served)] == ["[1]", "[0]", "[0]"]


def test_network_cut_half_way_keeps_the_answers_and_sends_them(serve, person):
    served = serve(number=6)
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    person.choose(0)
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 1)
    person.offline(True)
    person.choose(1)
    shown = person.ready(shown)  # the next one was loaded before
    person.choose(1)
    person.wait("document.getElementById('status').textContent.includes('No connection')")
    assert len(stored(served)) == 1
    assert len(person.js("return JSON.parse(localStorage.getItem('nearer:/:x:queue'))")) == 2
    person.offline(False)
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 3)
    assert person.text("#status") == ""
    person.choose(0)
    person.ready(shown)
    assert [row.choice for row in stored(served)][:3] == ["[0]", "[1]", "[1]"]


def test_a_closed_laptop_sends_what_is_left_the_next_day(serve, person, tmp_path):
    study = make_study(tmp_path / "s", number=6, requests_per_second=1000, link=LINK)
    served = Served(study)
    port = served.port
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    person.choose(0)
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 1)
    served.stop()  # while the page is open
    person.choose(1)
    person.wait("document.getElementById('asking').hidden === false || true")
    person.driver.get("about:blank")
    served = Served(study, port=port)
    try:
        person.driver.get(f"{served.url}?id=x")
        person.ready()
        until(lambda: len(stored(served)) == 2)
        assert stored(served)[1].choice == "[1]"
        for number in range(2, 6):
            shown = person.ready()
            person.choose(0)
            if number < 5:
                person.ready(shown)
        person.wait("document.documentElement.dataset.finished === 'yes'")
        assert len(stored(served)) == 6
    finally:
        served.stop()


def test_a_server_that_dies_and_comes_back_is_waited_for(serve, person, tmp_path):
    study = make_study(tmp_path / "s", number=6, requests_per_second=1000)
    served = Served(study)
    port = served.port
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    served.stop()
    person.choose(1)
    shown = person.ready(shown)
    person.choose(1)
    person.wait("document.getElementById('status').textContent.includes('No connection')")
    served = Served(study, port=port)
    try:
        person.ready(shown)  # by itself
        assert [row.choice for row in stored(served)] == ["[1]", "[1]"]
    finally:
        served.stop()


def test_two_tabs_take_turns(serve, person):
    served = serve(number=6)
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    first = person.driver.current_window_handle
    person.driver.switch_to.new_window("tab")
    person.driver.get(f"{served.url}?id=x")
    assert person.ready() == shown
    person.choose(0)
    later = person.ready(shown)
    person.driver.switch_to.window(first)
    person.wait("document.getElementById('words').innerText.includes('another tab')")
    person.click("#go")
    assert person.ready(shown) == later
    person.choose(1)
    person.ready(later)
    until(lambda: len(stored(served)) == 2)
    for handle in person.driver.window_handles:
        if handle != first:
            person.driver.switch_to.window(handle)
            person.driver.close()
    person.driver.switch_to.window(first)


def test_cannot_tell_pause_and_resume(serve, person):
    served = serve(number=6, cannot_tell=True, practice=False)
    person.open(served.url)
    shown = person.agree(practice=False)
    person.click("#cannot")
    shown = person.ready(shown)
    person.press("ArrowDown")
    shown = person.ready(shown)
    until(lambda: len(stored(served)) == 2)
    assert [row.choice for row in stored(served)] == [None, None]
    served.store.set_paused(True)
    time.sleep(1.1)
    for _ in range(2):
        if "paused" not in person.text():
            person.choose(0)
            time.sleep(0.4)
    person.wait("document.getElementById('words').innerText.includes('paused')")
    served.store.set_paused(False)
    person.ready(shown)


def test_no_id_is_told_where_one_is_needed(serve, person):
    served = serve(number=6, anonymous=False)
    person.open(served.url)
    assert "lacks a participant's id" in person.text()


@pytest.mark.parametrize("width", [400, 1400])
def test_pictures_sounds_and_html(person, tmp_path, width):
    folder = tmp_path / "source"
    folder.mkdir()
    rows = ["name,image,audio,html,text"]
    for number in range(3):
        (folder / f"p{number}.png").write_bytes(png(60 * number, 120, 200))
        with wave.open(str(folder / f"s{number}.wav"), "wb") as sound:
            sound.setparams((1, 1, 8000, 800, "NONE", ""))
            sound.writeframes(bytes(800))
        (folder / f"h{number}.html").write_text(
            f"<style>b {{ color: red }}</style><b>html {number}</b><script>parent.document.title = 'broken'</script>"
        )
        rows += [f"p{number},p{number}.png,,,", f"s{number},,s{number}.wav,,", f"h{number},,,h{number}.html,"]
    rows.append("word,,,,<img src=x onerror=alert(1)> שלום")
    (folder / "items.csv").write_text("\n".join(rows), encoding="utf-8")
    new_study(tmp_path / "s", items=folder / "items.csv")
    change(tmp_path / "s", number=12, repeats=0, catch=0, practice=False, requests_per_second=1000)
    served = Served(read_study(tmp_path / "s"))
    try:
        person.size(width, 900, mobile=width < 500)
        person.open(f"{served.url}?id=x{width}")
        shown, seen = person.agree(practice=False), set()
        for number in range(12):
            assert person.js("return document.documentElement.scrollWidth") <= width
            seen |= set(
                person.js("return [...document.querySelectorAll('img, audio, iframe, .word')].map(e => e.tagName)")
            )
            broken = person.js("return [...document.images].filter(i => !i.naturalWidth).length")
            assert broken == 0
            (person.tap if width < 500 else person.click)("#options button", number % 2)
            if number < 11:
                shown = person.ready(shown)
        person.wait("document.documentElement.dataset.finished === 'yes'")
        assert seen == {"IMG", "AUDIO", "IFRAME", "SPAN"}
        assert person.driver.title == "s"
        assert len(stored(served)) == 12
        asked = [url for url in person.requests() if not url.startswith(("data:", served.url))]
        assert asked == []
        # The one complaint is that of the browser about the script it did not run.
        assert all("sandbox" in text or "Content Security Policy" in text for text in person.complaints())
    finally:
        served.stop()


def test_a_screen_reader_is_told_everything(serve, person):
    served = serve(number=4, practice=False)
    person.open(served.url)
    person.agree(practice=False)
    tree = person.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(node["role"]["value"], node["name"]["value"]) for node in tree if node.get("name", {}).get("value")}
    buttons = sorted(name for role, name in named if role == "button")
    assert [name[:10] for name in buttons] == ["Option 1: ", "Option 2: "]
    assert any(role == "group" and name.startswith("Compare with: ") for role, name in named)
    assert any(role in ("progressbar", "ProgressIndicator") and name == "0 of 4" for role, name in named)
    assert ("heading", "Which of these two is more like this one?") in named
    assert any("status" in role for role, _ in ((node["role"]["value"], 0) for node in tree))
    focused = person.js("return document.activeElement.getAttribute('aria-label')")
    assert focused.startswith("Which of these two is more like this one? Compare with: ")
    assert person.js("return document.documentElement.lang") == "en"


def test_anonymous_people_are_one_in_a_browser_until_they_finish(serve, person):
    served = serve(number=2, practice=False)
    person.open(served.url)
    shown = person.agree(practice=False)
    person.choose()
    shown = person.ready(shown)
    person.driver.refresh()
    assert person.ready() == shown
    person.choose()
    person.wait("document.documentElement.dataset.finished === 'yes'")
    person.driver.refresh()
    person.wait("document.documentElement.dataset.finished === 'yes'")
    person.js("sessionStorage.clear()")  # as a new tab has it
    person.driver.refresh()
    person.wait("!document.getElementById('words').hidden")
    assert "voluntary" in person.text()
