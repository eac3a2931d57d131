"""The researcher's page, its token, and the description of the interface."""

from __future__ import annotations

import functools
import itertools
import operator
import re

import pytest

from nearer.collect.background import Background
from nearer.io import read_comparisons


def token(served):
    return {"Authorization": f"Bearer {served.store.token}"}


def test_nothing_without_the_token(serve):
    served = serve(number=5)
    served.play("p")
    secret = served.store.token
    for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": secret}, {"Authorization": f"Basic {secret}"}):
        for path in ("/api/researcher/status", "/api/researcher/answers.csv"):
            assert served.call(path, headers=headers)[0] == 401
        assert served.call("/api/researcher/pause", {"paused": True}, headers=headers)[0] == 401
    assert served.call(f"/api/researcher/status?token={secret}")[0] == 401  # addresses end up in logs
    codes = {served.call("/api/researcher/status", headers={"Authorization": "Bearer y"})[0] for _ in range(20)}
    assert 429 in codes
    assert served.call("/api/researcher/status", headers=token(served))[0] == 200


def test_status_download_and_pause(serve, tmp_path):
    served = serve(number=12, repeats=2, catch=2)
    for name in ("a", "b", "c"):
        served.play(name)
    told = served.call("/api/researcher/status", headers=token(served))[1]
    assert (told["status"]["answers"], told["map"]) == (36, None)
    assert [(person["answered"], person["catch_asked"]) for person in told["people"]] == [(12, 2)] * 3
    (tmp_path / "answers.csv").write_bytes(served.call("/api/researcher/answers.csv", headers=token(served))[1])
    assert served.response.headers["content-disposition"] == 'attachment; filename="answers.csv"'
    assert read_comparisons(tmp_path / "answers.csv").n_rows == 36
    assert served.call("/api/researcher/pause", {"paused": 1}, headers=token(served))[0] == 422
    assert served.call("/api/researcher/pause", {"paused": True}, headers=token(served))[1] == {"paused": True}
    assert served.store.known("paused") == {"paused": True}


def _resolve(document, schema):
    while "$ref" in schema:
        schema = functools.reduce(operator.getitem, schema["$ref"].split("/")[1:], document)
    return schema


def _fits(document, schema, value):
    """Whether a value has the properties that a description names, and is one of those it lists."""
    schema = _resolve(document, schema)
    for one in schema.get("oneOf", ()):
        if (one.get("type") == "null") == (value is None):
            _fits(document, one, value)
    parts = [_resolve(document, part) for part in schema.get("allOf", [schema])]
    properties = {name: one for part in parts for name, one in part.get("properties", {}).items()}
    if properties:
        assert {name for part in parts for name in part.get("required", [])} <= set(value) <= set(properties)
        for name, one in value.items():
            _fits(document, properties[name], one)
    for one in value if "items" in schema else ():
        _fits(document, schema["items"], one)
    assert value in schema.get("enum", [value])


@pytest.mark.parametrize("kind", ["triplets", "odd-one-out", "rankings"])
def test_the_description_of_the_interface_is_true(serve, kind):
    served = serve(number=3, kind=kind, link="https://example.org/", code="x")
    document = served.call("/api/openapi.json")[1]

    def checked(method, path, body=None):
        status, value = served.call(path, body)
        described = _resolve(document, document["paths"][path][method]["responses"][str(status)])
        _fits(document, described["content"]["application/json"]["schema"], value)
        return value

    checked("get", "/api/study")
    state = checked("post", "/api/start", {"participant": "p"})
    person = state["participant"]
    checked("post", "/api/next", {"participant": person})
    while not state["finished"]:
        body = {"participant": person, "question": state["questions"][0]["id"], "seconds": 1}
        body["choice"] = list(range(state["questions"][0]["choose"]))
        state = checked("post", "/api/answer", body)
    for body in ({"participant": "x"}, {"participant": person, "question": "x", "choice": [0]}):
        checked("post", "/api/answer", body)
    checked("post", "/api/next", {"participant": "1.x"})
    checked("post", "/api/start", {"participant": ""})
    paths = {route.path for route in served.server.config.app.routes if route.path.startswith(("/api", "/health"))}
    assert paths - {"/api/openapi.json"} == set(document["paths"])


def boxes_of(person, selector):
    """Left, top, right and bottom of all that a selector finds, in pixels."""
    code = """return [...document.querySelectorAll(arguments[0])].map((found) => {
        const { left, top, right, bottom } = found.getBoundingClientRect();
        return [left, top, right, bottom];
    })"""
    return person.js(code, selector)


def covers(one, other):
    """Whether two boxes overlap by more than a fraction of a pixel."""
    return all(min(one[at + 2], other[at + 2]) - max(one[at], other[at]) > 0.5 for at in (0, 1))


@pytest.mark.browser
@pytest.mark.parametrize(
    ("width", "height"),
    [(400, 900), *(pytest.param(*size, marks=pytest.mark.tools) for size in [(740, 360), (1400, 900)])],
)
def test_the_page_shows_the_study(person, serve, width, height):
    words = [f"object number {number}" for number in range(12)]
    served = serve(words=words, number=40, repeats=10, catch=2)
    for name in ("ann", "<b>bob</b>", "cid"):
        served.play(name)
    Background(served.study, served.store).round()
    person.size(width, height)
    person.driver.get("about:blank")
    person.requests()
    person.driver.get(f"{served.url}researcher#{served.store.token}")
    person.wait("document.documentElement.dataset.ready === 'yes'")
    assert person.js("return location.hash") == ""
    text = person.text("#board")
    assert all(part in text for part in ("120\nanswers", "<b>bob</b>", "held-out answers", "computed just now"))
    dots, labels = (boxes_of(person, f"#map {what}") for what in ("circle", "text"))
    without = re.search(r"no room for (\d+) of", text)
    assert (len(dots), len(labels) + (int(without[1]) if without else 0)) == (12, 12)
    assert not any(covers(one, other) for one, other in itertools.combinations(labels, 2))
    assert not any(covers(label, dot) for label in labels for dot in dots)
    (frame,) = boxes_of(person, "#map")
    assert all(frame[0] <= left and frame[1] <= top and right <= frame[2] for left, top, right, _ in labels)
    assert person.js("return document.querySelectorAll('#people tr').length") == 3
    assert person.js("return document.documentElement.scrollWidth") <= width
    (card,), cells = boxes_of(person, "#scroll"), boxes_of(person, "#people td:not(:empty)")
    assert width > 600 or all(card[0] <= left and right <= card[2] for left, _, right, _ in cells)
    assert not person.js("return !document.getElementById('mixed').hidden")  # there are no conditions
    person.click("#pause")
    person.wait("document.getElementById('state').textContent.startsWith('Paused')")
    person.driver.refresh()
    person.wait("document.documentElement.dataset.ready === 'yes'")  # the token is remembered by this tab
    person.js("sessionStorage.clear()")
    person.driver.get("about:blank")
    person.driver.get(f"{served.url}researcher")
    person.wait("!document.getElementById('login').hidden")
    assert all(url.startswith((served.url, "data:", "about:", "blob:")) for url in person.requests())


@pytest.mark.browser
def test_the_page_tells_conditions_apart_and_says_when_enough_have_finished(person, serve):
    quotas = "".join(
        f'[[conditions]]\nname = "{name}"\nwanted = {wanted}\n' for name, wanted in (("red", 2), ("blue", 1))
    )
    served = serve(number=20, catch=2, tables=quotas)

    def shown():
        person.driver.get("about:blank")
        person.driver.get(f"{served.url}researcher#{served.store.token}")
        person.wait("document.documentElement.dataset.ready === 'yes'")
        return person.text("#way"), person.text("#state")

    for name in ("ann", "bob"):
        served.play(name)
    way, state = shown()
    assert ("red 1 of 2, blue 1 of 1" in way, "latecomers" in state) == (True, False)
    served.play("cid")
    Background(served.study, served.store).round()
    way, state = shown()
    assert ("red 2 of 2, blue 1 of 1" in way, "latecomers" in state) == (True, True)
    assert "mix the conditions" in person.text("#mixed")
    cells = person.js("return [...document.querySelectorAll('td[data-name=condition]')].map((one) => one.textContent)")
    assert sorted(cells) == ["blue", "red", "red"]


def test_times_and_sides_are_known_before_there_is_anybody_to_compare_with(serve):
    served = serve(number=20)
    sides = itertools.cycle([[0], [1]])
    for name in ("a", "b"):
        served.play(name, lambda question: next(sides))
    Background(served.study, served.store).round()
    people = served.call("/api/researcher/status", headers=token(served))[1]["people"]
    assert all(one["quality"]["seconds"] > 0 and one["quality"]["first"] == 0.5 for one in people)
    assert [one["quality"]["agreement"] for one in people] == [None, None]
