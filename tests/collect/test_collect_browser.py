"""The participant's page in a real Chromium: a study played to its end, whatever happens on the way."""

from __future__ import annotations

import socket
import struct
import time
import wave
import zlib

import psutil
import pytest
import sqlalchemy as sa
from benchmarks.collect import Server
from browsing import Participant
from click.testing import CliRunner
from serving import WORDS, Served, change, make_study, until

from browser import start_browser
from nearer.cli.app import cli
from nearer.collect.store import Store, answers, participants, questions
from nearer.collect.study import new_study, read_study

pytestmark = pytest.mark.browser

LINK = "https://example.org/done?cc=A1"


def stored(store):
    both = questions.join(answers, answers.c.question == questions.c.id)
    with store.reading() as connection:
        chosen = sa.select(questions, answers.c.choice, answers.c.seconds).select_from(both)
        return list(connection.execute(chosen.order_by(questions.c.position)))


def choices(store):
    return [row.choice for row in stored(store)]


def nearer(*args):
    done = CliRunner().invoke(cli, [str(arg) for arg in args], prog_name="nearer")
    assert done.exit_code == 0, done.output
    return done


def mapped(study, n_rows):
    """Export and fit, as a user would, without a flag."""
    table, fitted = study / "answers.csv", study / "map"
    assert f"{n_rows} " in nearer("collect", "export", study, "-o", table).output
    nearer("fit", table, "-o", fitted)
    assert len(table.read_text().splitlines()) == 1 + n_rows
    assert (fitted / "embedding.csv").is_file()


def png(red, green, blue, width=60, height=90):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress((b"\0" + bytes([red, green, blue]) * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_from_nothing_to_a_map(person, tmp_path):
    """The commands, the page at its own pace, the completion link, and the map of what was answered."""
    words, study = tmp_path / "words.txt", tmp_path / "words"
    words.write_text("\n".join(WORDS))
    nearer("collect", "new", study, "--words", words)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    link = f"http://127.0.0.1:{port}/health?cc=A1&who="
    change(study, number=8, repeats=0, catch=1, break_every=5, link=f"{link}{{participant}}")
    server = Server(study, None, 1, port, background=False)
    person.hurry(1)
    try:
        person.open(f"http://127.0.0.1:{port}/?PROLIFIC_PID=a%20b")
        shown = person.agree()
        for number in range(8):
            person.press("ArrowRight" if number % 2 else "ArrowLeft")
            if number == 4:
                person.wait("!document.getElementById('words').hidden")
                person.click("#go")
            if number < 7:
                shown = person.ready(shown)
        person.wait("document.documentElement.dataset.finished === 'yes'")
        person.click("#link")
        person.wait("location.href === arguments[0]", f"{link}a%20b")
        mapped(study, 8)
    finally:
        server.stop()


def test_triplets_by_arrow_keys_to_the_completion_link(serve, person):
    served = serve(number=5, break_every=3, link=LINK, code="CODE-7")
    person.open(f"{served.url}?PROLIFIC_PID=abc")
    assert "voluntary" in person.text()
    assert stored(served.store) == []
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
    rows = stored(served.store)
    assert [row.choice for row in rows] == ["[0]", "[1]", "[0]", "[1]", "[0]"]
    assert all(0.2 < row.seconds < 20 for row in rows)
    assert all(url.startswith((served.url, "data:")) for url in person.requests())
    assert person.complaints() == []
    # Who comes back sees the end again.
    person.open(f"{served.url}?PROLIFIC_PID=abc", fresh=False)
    person.wait("document.documentElement.dataset.finished === 'yes'")


def test_odd_one_out_by_touch_on_a_phone(serve, person):
    served = serve(kind="odd-one-out", number=4)
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
    assert choices(served.store) == ["[0]", "[1]", "[2]", "[0]"]
    mapped(served.study.folder, 4)


def test_odd_one_out_by_arrow_keys(serve, person):
    served = serve(kind="odd-one-out", number=4, practice=False)
    person.open(f"{served.url}?id=x")
    shown = person.agree(practice=False)
    for number, key in enumerate(["ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"]):
        person.press(key)
        if number < 3:
            shown = person.ready(shown)
    person.wait("document.documentElement.dataset.finished === 'yes'")
    assert choices(served.store) == ["[2]", "[1]", "[0]", "[1]"]


def test_k_of_n_by_touch_on_a_phone(serve, person):
    served = serve(kind="rankings", number=2, options=6, choose=3, practice=False)
    person.size(400, 740, mobile=True)
    person.open(f"{served.url}?id=x")
    shown = person.agree(practice=False)
    for number in range(2):
        assert person.js("return document.documentElement.scrollWidth") <= 400
        for option in (5, number, 3):
            person.tap("#options button", option)
        if number < 1:
            shown = person.ready(shown)
    person.wait("document.documentElement.dataset.finished === 'yes'")
    assert choices(served.store) == ["[5, 0, 3]", "[5, 1, 3]"]


def test_k_of_n_by_mouse_and_keys(serve, person):
    served = serve(kind="rankings", number=3, options=6, choose=2)
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
    assert choices(served.store) == ["[5, 1]", "[1, 2]", "[5, 1]"]
    mapped(served.study.folder, 3)


def test_double_click_reload_and_back_answer_once(serve, person):
    served = serve(number=6)
    person.hurry(1)  # it is by the time between them that a second click is told
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    person.click("#options button", 1, times=2)
    shown = person.ready(shown)
    until(lambda: len(stored(served.store)) == 1)
    person.driver.refresh()
    assert person.ready() == shown  # the same question, without consent and practice
    person.choose(0)
    shown = person.ready(shown)
    until(lambda: len(stored(served.store)) == 2)
    person.driver.get("about:blank")
    person.driver.back()
    assert person.ready() == shown
    person.choose(0)
    person.ready(shown)
    until(lambda: len(stored(served.store)) == 3)
    assert choices(served.store) == ["[1]", "[0]", "[0]"]


def test_network_cut_half_way_keeps_the_answers_and_sends_them(serve, person):
    served = serve(number=6)
    person.open(f"{served.url}?id=x")
    shown = person.agree()
    person.choose(0)
    shown = person.ready(shown)
    until(lambda: len(stored(served.store)) == 1)
    person.offline(True)
    person.choose(1)
    shown = person.ready(shown)  # the next one was loaded before
    person.choose(1)
    person.wait("document.getElementById('status').textContent.includes('No connection')")
    assert len(stored(served.store)) == 1
    assert len(person.js("return JSON.parse(localStorage.getItem('nearer:/:x:queue'))")) == 2
    person.offline(False)
    shown = person.ready(shown)
    until(lambda: len(stored(served.store)) == 3)
    assert person.text("#status") == ""
    person.choose(0)
    person.ready(shown)
    assert choices(served.store)[:3] == ["[0]", "[1]", "[1]"]


@pytest.mark.tools
def test_a_closed_laptop_sends_what_is_left_the_next_day(browser, tmp_path):
    study = make_study(tmp_path / "s", number=4, practice=False, requests_per_second=1000, link=LINK)
    served = Served(study)
    port, address = served.port, f"{served.url}?id=x"
    driver = start_browser(tmp_path / "profile")  # one of its own, that can be closed
    try:
        person = Participant(driver)
        person.open(address)
        shown = person.agree(practice=False)
        person.choose(0)
        shown = person.ready(shown)
        until(lambda: len(stored(served.store)) == 1)
        served.stop()  # while the page is open
        person.choose(1)
        person.ready(shown)  # the next one was loaded before
    finally:
        driver.quit()
    driver = start_browser(tmp_path / "profile")
    served = Served(study, port=port)
    try:
        person = Participant(driver)
        person.open(address, fresh=False)
        shown = person.ready()  # without consent and practice
        until(lambda: len(stored(served.store)) == 2)
        person.choose(0)
        shown = person.ready(shown)
        person.choose(0)
        person.wait("document.documentElement.dataset.finished === 'yes'")
        assert person.js("return document.getElementById('link').href") == LINK
        assert choices(served.store) == ["[0]", "[1]", "[0]", "[0]"]
    finally:
        driver.quit()
        served.stop()


@pytest.mark.tools
def test_a_full_disk_and_killed_servers_are_waited_for(person, tmp_path):
    """The page stays open, tells what it does, and goes on by itself; every answer is there once."""
    study = make_study(tmp_path / "s", number=8, practice=False, requests_per_second=1000)
    server = Server(study.folder, None, 1, background=False)
    store = Store(study.database)
    calm = "document.getElementById('status').textContent.startsWith('No connection')"
    try:
        person.open(f"http://127.0.0.1:{server.port}/?id=x")
        shown = person.agree(practice=False)
        # No file of the server may grow.
        psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_FSIZE, (1, psutil.RLIM_INFINITY))
        person.choose(1)
        shown = person.ready(shown)
        person.choose(1)
        person.wait(calm)
        assert choices(store) == []
        psutil.Process(server.process.pid).rlimit(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
        shown = person.ready(shown)
        until(lambda: choices(store) == ["[1]", "[1]"])
        for number in range(2):
            person.wait("localStorage.getItem('nearer:/:x:queue') === '[]'")
            person.choose(0)
            time.sleep(0.01 * number)  # killed before or after the answer is stored, and before it is told
            server.process.kill()
            server.process.wait()
            shown = person.ready(shown)
            person.choose(1)
            person.wait(calm)
            server = Server(study.folder, None, 1, server.port, background=False)
            shown = person.ready(shown)
        until(lambda: choices(store) == ["[1]", "[1]", "[0]", "[1]", "[0]", "[1]"])
        person.wait("document.getElementById('status').textContent === ''")
        assert person.text("#count") == "6 of 8"
    finally:
        server.stop()
        store.close()


def test_two_tabs_take_turns(serve, person):
    served = serve(number=6)
    person.hurry(1)
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
    until(lambda: len(stored(served.store)) == 2)
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
    until(lambda: len(stored(served.store)) == 2)
    assert choices(served.store) == [None, None]
    served.store.set_paused(True)
    person.choose(0)
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
        assert len(stored(served.store)) == 12
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
