"""The jsPsych example, with the real jsPsych, in a real browser."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from serving import change, make_study, stored

from nearer.collect.store import answers
from nearer.collect.study import read_study

pytestmark = pytest.mark.browser
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "jspsych"
FILES = {
    "jspsych@8": {"package/dist/index.browser.min.js": "jspsych.js", "package/css/jspsych.css": "jspsych.css"},
    "@jspsych/plugin-html-button-response@2": {"package/dist/index.browser.min.js": "html-button-response.js"},
}


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
