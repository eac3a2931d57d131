"""The participant's page in a real Chromium: a study played to its end, whatever happens on the way."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import threading
import time
import wave
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from benchmarks.collect import Server
from browsing import WORDS_SHOWN, Participant
from serving import SURVEY, change, make_study, stored, until

from browser import start_browser
from nearer.collect.store import Store, answers, participants
from nearer.collect.study import new_study, read_study

pytestmark = pytest.mark.browser

LINK = "https://example.org/done?cc=A1"
SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="90"><circle r="30" cx="30" cy="45"/></svg>'
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jspsych"
FILES = {
    "jspsych@8": {"package/dist/index.browser.min.js": "jspsych.js", "package/css/jspsych.css": "jspsych.css"},
    "@jspsych/plugin-html-button-response@2": {"package/dist/index.browser.min.js": "html-button-response.js"},
}


def choices(store):
    """The answers stored, in the order of the questions."""
    with store.reading() as connection:
        return list(connection.scalars(sa.select(answers.c.choice).order_by(answers.c.question)))


def test_triplets_by_arrow_keys_to_the_completion_link(serve, person):
    served = serve(number=5, break_every=3, link=LINK, code="CODE-7")
    person.open(f"{served.url}?PROLIFIC_PID=abc")
    assert "voluntary" in person.text()
    (row,) = stored(served.store, participants)
    assert (row.step, row.consented) == ("consent", None)  # nothing else before the consent
    shown = person.agree(practice=True)
    for number in range(5):
        assert person.text("#count") == f"{number} of 5"
        person.press("ARROW_RIGHT" if number % 2 else "ARROW_LEFT")
        if number == 2:
            person.wait(WORDS_SHOWN)
            assert "3 of 5 questions" in person.text()
            person.press("TAB")
            person.click("#go")
        shown = person.ready(shown)
    assert shown is None
    assert person.js("return document.getElementById('link').href") == LINK
    assert "CODE-7" in person.text()
    assert choices(served.store) == ["[0]", "[1]", "[0]", "[1]", "[0]"]
    assert all(0.2 < row.seconds < 20 for row in stored(served.store, answers))
    assert all(url.startswith((served.url, "data:")) for url in person.requests())
    assert person.complaints() == []
    # Who comes back sees the end again.
    person.open(f"{served.url}?PROLIFIC_PID=abc", fresh=False)
    assert person.ready() is None


def page_size(person):
    """Width and height of the page; more than those of the window if it scrolls."""
    return person.js("const page = document.documentElement; return [page.scrollWidth, page.scrollHeight]")


def in_tools(*values):
    """Parameters of tests that `make tools` runs, not `make test`."""
    return [pytest.param(value, marks=pytest.mark.tools) for value in values]


@pytest.mark.parametrize("size", [(400, 740), *in_tools((740, 360))])
@pytest.mark.parametrize(("kind", "taps"), [("odd-one-out", [[0], [1], [2]]), ("rankings", [[5, 0, 3], [5, 1, 3]])])
def test_by_touch_on_a_phone(serve, person, kind, taps, size):
    served = serve(kind=kind, number=len(taps), options=6, choose=3, cannot_tell=True, practice=False)
    person.size(*size, mobile=True)
    shown = person.begin(served)
    for options in taps:
        assert page_size(person) == list(size)  # nothing is hidden
        for option in options:
            person.tap("#options button", option)
        shown = person.ready(shown)
    assert shown is None
    assert choices(served.store) == [str(options) for options in taps]


class Ends(BaseHTTPRequestHandler):
    """The site that sends people, and to which they return."""

    def do_GET(self):
        self.send_response(302 if "/complete" in self.path else 200)
        self.send_header("Location", self.path.replace("/complete", "/back"))
        self.end_headers()
        self.wfile.write(b"<p>back")

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    """Address of a recruiting site on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ends)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("size", [(400, 740), *in_tools((320, 700), (740, 360), (1400, 900))])
def test_from_a_recruiting_site_and_back(serve, person, site, database, tmp_path, size):
    """No consent, a screening answer, the whole study, and too late: each ends at its own address."""
    ends = {f"{end}_link": f"{site}/complete?cc={end}" for end in ("declined", "screened_out", "full")}
    changes = {"number": 3, "wanted": 1, "practice": False, "link": f"{site}/complete?cc=done&s={{SESSION_ID}}"}
    changes["debriefing"] = "It was about words."
    served = serve(make_study(tmp_path / "study", tables=SURVEY, **changes, **ends), database)
    person.size(*size, mobile=size[0] < 1000)

    def arrive(name, fresh=True):
        person.open(f"{served.url}?PROLIFIC_PID={name}&STUDY_ID=st&SESSION_ID=se", fresh)
        assert page_size(person)[0] == size[0]

    def leaves(code):
        person.wait("!document.getElementById('link').hidden")
        assert page_size(person) == list(size)
        assert ("about words" in person.text()) == code.startswith("done")
        person.click("#link")
        person.wait("location.pathname === '/back'")
        assert person.js("return location.search") == f"?cc={code}"

    def survey(choice):
        person.click("#form .choice", choice)
        person.driver.find_element("css selector", "#field-age").send_keys("17")
        person.click("#go")
        assert not person.js("return document.getElementById('form').reportValidity()")
        person.driver.refresh()  # what was filled in is still there
        person.wait("document.querySelector('#form :checked') !== null")
        assert page_size(person)[0] == size[0]
        person.driver.find_element("css selector", "#field-age").send_keys("0\n")
        person.wait("document.getElementById('form').hidden")

    arrive("no")
    person.click("#decline")
    leaves("declined")
    arrive("no", fresh=False)
    leaves("declined")  # also when they come back
    arrive("never")
    person.click("#go")
    person.wait("!document.getElementById('form').hidden")
    survey(0)
    leaves("screened_out")
    arrive("yes")
    person.click("#go")
    person.wait("!document.getElementById('form').hidden")
    survey(2)
    person.wait("document.getElementById('text').innerText.includes('arrow keys')")
    person.click("#go")
    shown = person.ready()
    for _ in range(2):
        shown = person.answer(shown, person.choose)
    person.choose()
    person.wait("!document.getElementById('form').hidden")
    person.driver.refresh()
    person.wait("!document.getElementById('form').hidden")
    person.click("#go")
    leaves("done&s=se")
    arrive("late")
    leaves("full")
    person.open(f"{served.url}?PROLIFIC_PID=%7B%7B%25PROLIFIC_PID%25%7D%7D")
    person.wait("document.body.innerText.includes('lacks a participant')")
    rows = {row.name: row for row in stored(served.store, participants)}
    found = {name: row.step for name, row in rows.items()}
    assert found == {"no": "declined", "never": "screened_out", "yes": "finished", "late": "full"}
    assert [json.loads(rows["yes"].replies)[name] for name in ("age", "remarks")] == [170, None]
    assert json.loads(rows["yes"].parameters) == {"SESSION_ID": "se", "STUDY_ID": "st"}


@pytest.mark.parametrize("size", [(740, 360), *in_tools((400, 740), (1400, 900))])
def test_who_runs_out_of_time_goes_back(serve, person, site, size):
    served = serve(number=3, minutes=10, practice=False, timed_out_link=f"{site}/complete?cc=time")
    person.size(*size, mobile=size[0] < 1000)
    person.answer(person.begin(served), person.choose)
    until(lambda: choices(served.store) == ["[0]"])
    with served.store.writing() as connection:
        connection.execute(sa.update(participants).values(consented=participants.c.consented - 600))
    person.choose(1)
    for _ in range(2):  # also when they come back
        person.wait("document.documentElement.dataset.finished")
        assert "time for this study is over" in person.text()
        assert page_size(person) == list(size)
        person.click("#link")
        person.wait("location.search === '?cc=time'")
        person.open(f"{served.url}?id=x", fresh=False)
    assert choices(served.store) == ["[0]"]  # what came too late does not count
    (row,) = stored(served.store, participants)
    assert (row.step, row.ended - row.consented) == ("timed_out", 600)


def test_k_of_n_by_mouse_and_keys(serve, person):
    served = serve(kind="rankings", number=3, options=6, choose=2)
    shown = person.begin(served, practice=True)
    person.choose(4)
    assert person.text("#more") == "Choose 1 more"
    assert person.js("return document.querySelectorAll('.chosen').length") == 1
    person.click("#undo")
    assert person.text("#more") == "Choose 2 more"
    for option in (3, 3, 5, 1):  # the first is taken back
        person.choose(option)
    shown = person.ready(shown)
    person.press("ARROW_RIGHT", "ARROW_RIGHT", "ENTER", "ARROW_RIGHT", "SPACE")  # from the first option on
    shown = person.ready(shown)
    assert person.answer(shown, lambda: person.press("6", "2")) is None
    assert choices(served.store) == ["[5, 1]", "[1, 2]", "[5, 1]"]


def test_double_click_reload_and_back_answer_once(serve, person):
    served = serve(number=6)
    person.hurry(1)  # it is by the time between them that a second click is told
    shown = person.begin(served, practice=True)
    person.click("#options button", 1, times=2)
    shown = person.ready(shown)
    until(lambda: choices(served.store) == ["[1]"])
    person.driver.refresh()
    assert person.ready() == shown  # the same question, without consent and practice
    shown = person.answer(shown, person.choose)
    until(lambda: choices(served.store) == ["[1]", "[0]"])
    person.driver.get("about:blank")
    person.driver.back()
    assert person.ready() == shown
    person.answer(shown, person.choose)
    until(lambda: choices(served.store) == ["[1]", "[0]", "[0]"])


def test_network_cut_half_way_keeps_the_answers_and_sends_them(serve, person):
    served = serve(number=6)
    shown = person.answer(person.begin(served, practice=True), person.choose)
    until(lambda: choices(served.store) == ["[0]"])
    person.offline(True)
    shown = person.answer(shown, lambda: person.choose(1))  # the next one was loaded before
    person.choose(1)
    person.wait("document.getElementById('status').textContent.includes('No connection')")
    assert choices(served.store) == ["[0]"]
    assert len(person.js("return JSON.parse(localStorage.getItem('nearer:/:x:queue'))")) == 2
    person.offline(False)
    shown = person.ready(shown)
    until(lambda: choices(served.store) == ["[0]", "[1]", "[1]"])
    assert person.text("#status") == ""
    person.answer(shown, person.choose)


@pytest.mark.tools
def test_a_closed_laptop_sends_what_is_left_the_next_day(serve, tmp_path):
    served = serve(number=4, practice=False, link=LINK)
    driver = start_browser(tmp_path / "profile")  # one of its own, that can be closed
    try:
        person = Participant(driver)
        shown = person.answer(person.begin(served), person.choose)
        until(lambda: choices(served.store) == ["[0]"])
        served.stop()  # while the page is open
        person.answer(shown, lambda: person.choose(1))  # the next one was loaded before
    finally:
        driver.quit()
    driver = start_browser(tmp_path / "profile")
    served = serve(served.study, port=served.port)
    try:
        person = Participant(driver)
        person.open(f"{served.url}?id=x", fresh=False)
        shown = person.ready()  # without consent and practice
        until(lambda: choices(served.store) == ["[0]", "[1]"])
        assert person.answer(shown, person.choose, person.choose) is None
        assert person.js("return document.getElementById('link').href") == LINK
        assert choices(served.store) == ["[0]", "[1]", "[0]", "[0]"]
    finally:
        driver.quit()


@pytest.mark.tools
def test_a_full_disk_and_killed_servers_are_waited_for(person, tmp_path):
    """The page stays open, tells what it does, and goes on by itself; every answer is there once."""
    study = make_study(tmp_path / "s", number=8, practice=False)
    server = Server(study.folder, None, 1, background=False)
    store = Store(study.database)
    limits = psutil.Process(server.process.pid).rlimit
    calm = "document.getElementById('status').textContent.startsWith('No connection')"
    try:
        person.open(f"http://127.0.0.1:{server.port}/?id=x")
        shown = person.agree(practice=False)
        limits(psutil.RLIMIT_FSIZE, (1, psutil.RLIM_INFINITY))  # no file of the server may grow
        shown = person.answer(shown, lambda: person.choose(1))
        person.choose(1)
        person.wait(calm)
        assert choices(store) == []
        limits(psutil.RLIMIT_FSIZE, (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY))
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
    shown = person.begin(served, practice=True)
    first = person.driver.current_window_handle
    person.driver.switch_to.new_window("tab")
    person.driver.get(f"{served.url}?id=x")
    assert person.ready() == shown
    later = person.answer(shown, person.choose)
    person.driver.close()
    person.driver.switch_to.window(first)
    person.wait("document.getElementById('words').innerText.includes('another tab')")
    person.click("#go")
    assert person.ready(shown) == later
    person.answer(later, lambda: person.choose(1))
    until(lambda: choices(served.store) == ["[0]", "[1]"])


def test_odd_one_out_by_arrow_keys(serve, person):
    served = serve(kind="odd-one-out", number=4, practice=False)
    keys = ("ARROW_RIGHT", "ARROW_DOWN", "ARROW_LEFT", "ARROW_UP")
    assert person.answer(person.begin(served), *(partial(person.press, key) for key in keys)) is None
    assert choices(served.store) == ["[2]", "[1]", "[0]", "[1]"]


def test_cannot_tell_pause_and_resume(serve, person):
    served = serve(number=6, cannot_tell=True, practice=False)
    shown = person.begin(served)
    shown = person.answer(shown, lambda: person.click("#cannot"), lambda: person.press("ARROW_DOWN"))
    until(lambda: choices(served.store) == [None, None])
    served.store.set_paused(True, "page")
    person.choose(0)
    person.wait("document.getElementById('words').innerText.includes('paused')")
    served.store.set_paused(False, "page")
    person.ready(shown)


@pytest.mark.parametrize("size", [(400, 900), *in_tools((740, 360), (1400, 900))])
def test_pictures_sounds_and_html(person, serve, tmp_path, size):
    width, height = size
    folder = tmp_path / "source"
    folder.mkdir()
    rows = ["name,image,audio,html,text"]
    for number in range(3):
        (folder / f"p{number}.svg").write_text(SVG)
        with wave.open(str(folder / f"s{number}.wav"), "wb") as sound:
            sound.setparams((1, 1, 8000, 800, "NONE", ""))
            sound.writeframes(bytes(800))
        (folder / f"h{number}.html").write_text(
            f"<style>b {{ color: red }}</style><b>html {number}</b><script>parent.document.title = 'broken'</script>"
        )
        rows += [f"p{number},p{number}.svg,,,", f"s{number},,s{number}.wav,,", f"h{number},,,h{number}.html,"]
    rows.append("word,,,,<img src=x onerror=alert(1)> שלום")
    (folder / "items.csv").write_text("\n".join(rows), encoding="utf-8")
    new_study(tmp_path / "s", "items", folder / "items.csv")
    change(tmp_path / "s", number=12, repeats=0, catch=0, practice=False)
    served = serve(read_study(tmp_path / "s"))
    person.size(width, height, mobile=width < 1000)
    shown, seen = person.begin(served), set()
    for number in range(12):
        assert page_size(person) == [width, height]
        kinds = "[...document.querySelectorAll('img, audio, iframe, .word')].map(e => e.tagName)"
        seen |= set(person.js(f"return {kinds}"))
        assert person.js("return [...document.images].every(i => i.naturalWidth)")
        (person.tap if width < 1000 else person.click)("#options button", number % 2)
        shown = person.ready(shown)
    assert shown is None
    assert seen == {"IMG", "AUDIO", "IFRAME", "SPAN"}
    assert person.driver.title == "s"
    assert all(url.startswith(("data:", served.url)) for url in person.requests())
    # The one complaint is that of the browser about the script it did not run.
    assert all("sandbox" in text or "Content Security Policy" in text for text in person.complaints())


def test_a_screen_reader_is_told_everything(serve, person):
    served = serve(number=4, practice=False)
    person.begin(served)
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
    person.open(serve(number=6, anonymous=False).url)
    assert "lacks a participant's id" in person.text()
    served = serve(number=2, practice=False)
    person.open(served.url)
    shown = person.answer(person.agree(practice=False), person.choose)
    person.driver.refresh()
    assert person.ready() == shown
    assert person.answer(shown, person.choose) is None
    person.driver.refresh()
    assert person.ready() is None
    person.js("sessionStorage.clear()")  # as a new tab has it
    person.driver.refresh()
    person.wait(WORDS_SHOWN)
    assert "voluntary" in person.text()


@pytest.fixture
def page(tmp_path):
    """The example with jsPsych's files, as its README says."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path / "page"
    shutil.copytree(EXAMPLE, folder)
    for package, files in FILES.items():
        done = subprocess.run(
            ["npm", "pack", "--silent", package], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            pytest.skip(f"npm cannot fetch {package}")
        with tarfile.open(tmp_path / done.stdout.strip().splitlines()[-1]) as archive:
            for source, target in files.items():
                (folder / target).write_bytes(archive.extractfile(source).read())
    return folder


def test_a_study_of_jspsych_from_start_to_end(serve, tmp_path, page, person):
    folder = make_study(tmp_path / "own", number=5).folder
    shutil.move(page, folder / "page")
    change(folder, page="page")
    served = serve(read_study(folder))
    person.driver.get(f"{served.url}?PROLIFIC_PID=abc")
    for number in range(5):
        person.wait(
            "document.querySelectorAll('#jspsych-html-button-response-btngroup button').length === 2 &&"
            " window.seen !== document.querySelector('.jspsych-content').innerText"
        )
        person.js("window.seen = document.querySelector('.jspsych-content').innerText")
        person.click("#jspsych-html-button-response-btngroup button", number % 2)
        person.wait("window.seen !== document.body.innerText.trim()")
    person.wait("document.body.innerText.includes('Thank you')")
    rows = stored(served.store, answers)
    assert [row.choice for row in rows] == ["[0]", "[1]", "[0]", "[1]", "[0]"]
    assert all(0 < row.seconds < 60 for row in rows)
