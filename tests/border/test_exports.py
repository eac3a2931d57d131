"""Files as laboratories' programs export them: read rightly without a word, or refused and then read as told."""

from __future__ import annotations

from pathlib import Path

import pytest

from nearer.io import FileFormatError, read_comparisons

FOLDER = Path(__file__).parent / "exports"


def rows(text):
    """Rows of names, separated by commas."""
    return [" ".join(row.split()) for row in text.split(",")]


TRIALS = rows("""oboe flute drum, gong drum harp, harp flute horn, horn oboe gong, oboe horn drum, drum gong harp,
flute oboe gong, harp oboe drum, gong drum horn""")
NUMBERED = rows("0 1 2, 3 2 4, 4 1 5, 5 0 3, 0 5 2, 2 3 4, 1 0 3, 4 0 2, 3 2 5")
PAIRS = rows("1 2 3 6, 3 4 1 4, 5 6 2 3, 1 6 4 5, 2 5 3 1, 3 4 5 2, 1 2 4 6, 5 1 6 3")
SETS = rows("0 1 2, 3 2 4, 4 5 3, 0 5 2, 1 4 3, 2 3 0, 5 1 2, 4 0 3, 1 5 2")  # two alike, and the odd one
WORDS = ("oboe", "flute", "drum", "gong", "harp", "horn")
CHOSEN = rows("""oboe flute horn, oboe flute drum, oboe flute gong, oboe horn drum, oboe horn gong, gong drum harp,
gong drum flute, gong drum oboe, drum gong harp, drum gong oboe, drum gong flute, drum harp oboe, drum harp flute,
harp flute drum, harp flute gong, harp oboe drum, harp oboe gong, horn oboe flute, horn oboe drum, flute oboe horn,
flute oboe gong, flute horn gong, oboe horn gong, oboe horn drum, gong drum horn, gong drum oboe, gong drum flute,
gong horn oboe, gong horn flute""")


def people(*names, counts=(4, 3, 2)):
    """Each name as often as its count says."""
    return [name for name, count in zip(names, counts) for _ in range(count)]


def png(trials):
    """The same trials with file names."""
    return [" ".join(f"{word}.png" for word in trial.split()) for trial in trials]


def both_ways(sets, spell):
    """Two triplets for each set: the two alike are nearer to each other than either is to the odd one."""
    named = [[spell(int(number)) for number in row.split()] for row in sets]
    return [f"{one} {two} {odd}" for a, b, odd in named for one, two in ((a, b), (b, a))]


P = people("p01", "p02", "p03")
PROLIFIC = people("5f1a0c9e7b2d4a0008c3e111", "60b7d3a1f4c2e9001d5a2222", "615c88e0aa19b3000f7b3333")
KEYS = {"answers": {"f": "a", "j": "b"}}
NO_TRIAL = {"no objects": 5, "no answer": 1}
COLUMNS = {"i": "V1", "j": "V2", "k": "V3", "l": "V4"}

# file -> comparisons, participants, rows left out
READ = {
    "psiz.csv": (CHOSEN, people("p01", "p02", "p03", counts=(13, 9, 7)), {}),  # some of three candidates, not four
    "cblearn.npz": (NUMBERED, None, {}),
    "cblearn_count.npz": (NUMBERED, None, {}),
    "cblearn_order.npy": (NUMBERED, None, {}),
    "cblearn_text.txt": (NUMBERED, None, {}),
    "gorilla_tb2.csv": (TRIALS[:7], people("4810021", "4810077"), {"no objects": 2, "no answer": 1}),
    "jspsych.csv": (TRIALS, P, NO_TRIAL),
    "jspsych_list.json": (TRIALS, P, NO_TRIAL),
    "labjs.csv": (TRIALS[:5], ["p01"] * 5, {"no objects": 2, "no answer": 7}),
    "loe_named.csv": (PAIRS, None, {}),
    "mturk.csv": (TRIALS, people("A1EXAMPLE0001", "A2EXAMPLE0002", "A3EXAMPLE0003"), {"no answer": 1}),
    "next.csv": (TRIALS, people("1100", "1101", "1102"), {}),
    "oddname.csv": (both_ways(SETS, WORDS.__getitem__), people("s0", "s1", "s2", counts=(6, 6, 6)), {}),
    "prolific_gorilla.csv": (
        png(TRIALS[:6]), people("4810021", "4810077", counts=(4, 2)), {"no objects": 1, "no answer": 8},
    ),
    "prolific_jspsych.csv": (TRIALS, PROLIFIC, {"header repeated": 2, "no objects": 12}),
    "psychopy.csv": (TRIALS, ["p02"] * 9, {"no objects": 1, "no answer": 1}),
    "qualtrics.csv": (TRIALS, PROLIFIC, {"further header row": 2, "no answer": 1}),
    "qualtrics_utf16.tsv": (TRIALS, PROLIFIC, {"further header row": 2, "no answer": 1}),
    "salmon.csv": (png(TRIALS), [*P[:8], "unknown"], {}),
}  # fmt: skip
# file -> a part of the refusal, what to tell, and then as above
TOLD = {
    "cat.csv": ("'NA' means missing", {"on_missing": "drop"}, TRIALS, P, {"header repeated": 1, "missing cell": 4}),
    "f_only.csv": (
        "holds 'f': cannot tell which option", KEYS, [TRIALS[spot] for spot in (0, 3, 5, 6, 8)] * 2,
        people("p01", "p02", "p03", counts=(2, 2, 1)) * 2, {},
    ),
    "gorilla_key.csv": (
        "columns 'Response', 'ANSWER' could each be the answer",
        {"columns": {"anchor": "reference", "a": "left", "b": "right", "answer": "Response"}},
        TRIALS, people("4810021", "4810077", "4810103"), {"no objects": 1},
    ),
    "jspsych_button.csv": ("holds '0', '1': cannot tell which option", {"answers": "index0"}, TRIALS, P, NO_TRIAL),
    "jspsych_fj.csv": ("holds 'f', 'j': cannot tell which option", KEYS, TRIALS, P, NO_TRIAL),
    "loe.csv": ("none of these names is known", {"columns": COLUMNS}, PAIRS, None, {}),
    "loe_table.txt": ("none of these names is known", {"columns": COLUMNS}, PAIRS, None, {}),
    "minus.csv": ("holds '-1', '1': cannot tell", {"answers": {"-1": "a", "1": "b"}}, TRIALS, P, {}),
    "psychopy_mouse.csv": (
        "no column for answer",
        {"columns": {"anchor": "reference", "a": "left", "b": "right", "answer": "mouse.clicked_name"},
         "answers": {"['img_left']": "a", "['img_right']": "b", "[]": "skip"}},
        TRIALS, ["p02"] * 9, {"no objects": 1, "answer to be skipped": 1},
    ),
    "things.csv": (
        "no column for anchor",
        {"columns": {"a": "image1", "b": "image2", "c": "image3", "odd": "choice"}, "answers": "index1"},
        both_ways(SETS, lambda number: 17 * (number + 1)), people("s0", "s1", "s2", counts=(6, 6, 6)), {},
    ),
    "tripletlab.csv": (
        "columns 'Center', 'head' could each be the anchor",
        {"columns": {"anchor": "Center", "a": "Left", "b": "Right", "answer": "Answer", "participant": "p_id"}},
        TRIALS, P, {"no answer": 1},
    ),
}  # fmt: skip
# What no option can read: the answers are JSON in one cell, or a row is a person.
NEVER = ("mturk_crowd.csv", "qualtrics_wide.csv")


def check(result, expected, participants, dropped):
    comparisons = result.comparisons
    names = [str(number) for number in range(comparisons.n_objects)]
    if comparisons.labels is not None:
        names = comparisons.labels.tolist()
    found = [[names[number] for number in row] for row in comparisons.index.tolist()]
    expected = [row.split() for row in expected]
    if comparisons.kind == "quadruplets":  # distances are symmetric
        found, expected = ([[*sorted(row[:2]), *sorted(row[2:])] for row in rows] for rows in (found, expected))
    assert found == expected
    people = comparisons.participants
    assert (None if people is None else list(map(str, people.tolist()))) == participants
    assert result.dropped == dropped


def test_every_example_is_tested():
    files = {path.name for path in FOLDER.iterdir()} - {"README.md"}
    assert files == {*READ, *TOLD, *NEVER, "spose.txt"}


@pytest.mark.parametrize("name", READ)
def test_read_without_a_word(name):
    expected, participants, dropped = READ[name]
    check(read_comparisons(FOLDER / name), expected, participants, dropped)


@pytest.mark.parametrize("name", TOLD)
def test_refused_then_read_as_told(name):
    words, told, expected, participants, dropped = TOLD[name]
    with pytest.raises(FileFormatError) as refusal:
        read_comparisons(FOLDER / name)
    assert words in str(refusal.value)
    check(read_comparisons(FOLDER / name, **told), expected, participants, dropped)


@pytest.mark.parametrize("name", NEVER)
def test_refused(name):
    with pytest.raises(FileFormatError, match="a row may be"):
        read_comparisons(FOLDER / name)


def test_counts_of_answers_are_weights():
    weights = read_comparisons(FOLDER / "cblearn_count.npz").comparisons.weights
    assert weights.tolist() == [1, 2, 1, 3, 1, 1, 2, 1, 1]


def test_three_unnamed_columns_are_anchor_near_far_unless_told():
    untold = read_comparisons(FOLDER / "spose.txt")
    assert any("no header: columns taken as anchor, near, far" in note for note in untold.notes)
    check(untold, SETS, None, {})
    check(read_comparisons(FOLDER / "spose.txt", columns="a,b,odd"), both_ways(SETS, str), None, {})


# file -> sides of the first three answers, seconds of the first, its number, how questions were chosen
DETAILS = {
    "jspsych.csv": ([0, 1, 1], 1.011, 3, None),
    "gorilla_tb2.csv": ([0, 1, 1], 0.73, 1, None),
    "prolific_gorilla.csv": ([0, 1, 1], 0.9825, 1, None),
    "psychopy.csv": ([0, 1, 1], 0.8, 0, None),
    "salmon.csv": ([0, 1, 1], 1.2, None, ["random"]),
    "next.csv": ([0, 1, 1], 1.775, None, ["Random", "Test"]),
    "oddname.csv": ([2, 2, 2], None, 1, None),
    "labjs.csv": ([0, 1, 1], None, None, None),
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_of_the_answers_are_kept(name):
    side, seconds, number, ways = DETAILS[name]
    details = read_comparisons(FOLDER / name).comparisons.details
    assert details.side[:3].tolist() == side
    assert (None if details.seconds is None else details.seconds[0]) == seconds
    assert (None if details.order is None else details.order[0]) == number
    assert (None if details.chosen_by is None else details.chosen_by.names.tolist()) == ways
    assert details.catch is None
    assert details.correct is None
