"""What the answers of each person say, and who is left out by rules."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from simulated_people import answers_of

from nearer import Comparisons
from nearer.data.coded import Coded
from nearer.lapse_rates import SHARES, log_likelihoods
from nearer.metrics.answer_law import logistic_slopes
from nearer.people import ExclusionRules, exclude, participants
from nearer.people.participants import _CERTAINTY, _over_certainty, _share_of_guesses

DOES = ["random", "left", "inverted", "tired"] + ["careful"] * 26


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 2)) * 1.5
    seconds = np.where(np.arange(30) == 29, 0.2, 1.5)
    return answers_of(X, 30, 60, rng, DOES, seconds=seconds)


@pytest.fixture(scope="module")
def table(study):
    return participants(study)


def test_better_than_chance_needs_about_thirty_answers():
    def excluded(n_answers, seed):
        rng = np.random.default_rng(seed)
        data = answers_of(rng.normal(size=(20, 2)), 40, n_answers, rng, ["random"] * 4 + ["careful"] * 36)
        who = exclude(data, {"better_than_chance": True})[1].participants
        return sum(person >= 4 for person in who) / 36

    assert np.mean([excluded(10, seed) for seed in range(3)]) > 0.1
    assert np.mean([excluded(30, seed) for seed in range(3)]) < 0.05


def test_the_careless_are_found_each_in_their_way(table):
    at = {name: place for place, name in enumerate(table.participant.tolist())}
    careful = [at[person] for person in range(4, 30)]
    random, left, inverted, tired = (at[person] for person in range(4))
    assert inverted == 0
    assert {random, left} <= {1, 2, 3}
    assert table.guesses_high[random] == 1.0
    assert np.flatnonzero(table.inverted).tolist() == [inverted]
    assert np.isnan(table.guesses[inverted])  # the answers are no guesses
    assert table.agreement[inverted] < 0.4 < 0.7 < np.median(table.agreement[careful])
    assert np.flatnonzero(table.fast).tolist() == [at[29]]
    assert table.same_side[left] == table.first[left] == 1.0
    assert table.streak[left] == 60
    assert table.p_decline[tired] < 0.05
    assert np.mean(table.guesses_low[careful] == 0.0) > 0.8
    assert table.seconds[at[29]] == pytest.approx(0.2)
    assert table.answers.tolist() == [60] * 30
    known = ~table.inverted
    assert (table.guesses_low <= table.guesses)[known].all()
    assert (table.guesses <= table.guesses_high)[known].all()
    assert table.in_order


def test_the_result_does_not_depend_on_the_threads(study, table):
    for n_jobs in (1, 2):
        np.testing.assert_equal(participants(study, n_jobs=n_jobs).table(), table.table())


def test_it_is_shown_short_and_given_whole(table):
    assert "30 people" in repr(table)
    assert str(table).startswith("participant  answers  seconds")
    assert len(str(table).splitlines()) == 31
    assert table.to_frame().shape == (30, 16)
    assert str(table).splitlines()[1].split()[:2] == ["2", "60"]  # who inverted the task
    assert "inverted" in str(table).splitlines()[1]
    assert sum("inverted" in line for line in str(table).splitlines()) == 1


def test_the_order_of_the_objects_does_not_matter(study, table):
    names = np.array([f"o{number:02d}" for number in range(25)])
    order = np.random.default_rng(0).permutation(25)
    shuffled = study.replaced(index=np.argsort(order)[study.index].astype(np.int32), labels=names[order])
    np.testing.assert_equal(participants(shuffled).table(), table.table())


def test_nobody_helps_to_make_the_map_they_are_held_to():
    """Somebody whose answers alone decide about an object agrees with that by a map of their own only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 2))
    others = answers_of(X[:14], 6, 40, rng)
    own = np.array([[14, a, b] for a in range(6) for b in range(7, 14)])
    data = Comparisons.concat([
        Comparisons(others.index, n_objects=15, participants=others.participants),
        Comparisons(own, participants=np.full(len(own), 6)),
    ])  # fmt: skip
    table = participants(data, n_folds=7)
    alone = table.participant.tolist().index(6)
    assert np.isnan(table.agreement[alone])
    assert (table.guesses_low[alone], table.guesses_high[alone]) == (0.0, 1.0)


def test_answers_of_several_rows_count_once():
    sets, odd = np.tile([[0, 1, 2], [3, 4, 5], [1, 2, 3]], (10, 1)), np.tile([2, 3, 1], 10)
    data = Comparisons.from_odd_one_out(sets, odd, participants=np.repeat(range(5), 6))
    table = participants(data)
    assert table.answers.tolist() == [6] * 5
    assert table.repeats.tolist() == [3] * 5
    assert table.repeats_alike.tolist() == [1.0] * 5
    thrice = Comparisons.concat([data[data.participants == 0]] + [data] * 2)
    assert dict(zip(*[participants(thrice).table()[name] for name in ("participant", "repeats")]))[0] == 3
    order = np.random.default_rng(0).permutation(len(data))  # rows of one answer need not stand together
    again = participants(data[order], random_state=0)
    assert again.answers.tolist() == [6] * 5
    kept, gone = exclude(data, {"min_answers": 7} | {"min_answers": 6}, table)
    assert (gone.n_answers, kept.n_answers) == (30, 30)


def test_slopes_are_those_of_the_likelihood():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(4000, 2))
    sign = np.where(rng.random(4000) < 1 / (1 + np.exp(-F @ [1.0, -0.5])), 1.0, -1.0)
    assert logistic_slopes(F * sign[:, None], np.ones(4000), np.zeros(2)) == pytest.approx([1.0, -0.5], abs=0.12)


def test_the_interval_holds_what_is_likely():
    logs = -((SHARES - 0.5) ** 2)[None] * 100.0
    middle, low, high = _share_of_guesses(logs)
    assert middle[0] == 0.5
    assert low[0] <= 0.5 - (1.92 / 100) ** 0.5 < 0.5 + (1.92 / 100) ** 0.5 <= high[0]


@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_who_is_less_certain_than_others_does_not_guess(spread):
    """Nobody guesses; the truth is in the intervals whether or not people are equally certain."""
    rng = np.random.default_rng(5)
    person = Coded(np.repeat(np.arange(40), 300).astype(np.int32), np.arange(40))
    odds = 2.0 * rng.normal(size=len(person))
    right = rng.random(len(odds)) < expit(np.exp(spread * rng.normal(size=40))[person.codes] * odds)
    signed = np.where(right, odds, -odds)
    logs = np.array([log_likelihoods(expit(times * signed), person) for times in _CERTAINTY])
    alike = logs[len(_CERTAINTY) // 2]
    held = [np.mean(_share_of_guesses(one)[1] == 0.0) for one in (alike, _over_certainty(logs))]
    assert held[1] > 0.9
    assert (held[0] > 0.85) == (spread == 0.0)
    if not spread:
        np.testing.assert_allclose(_over_certainty(logs), alike, atol=1e-9)


def test_without_participants_it_says_so(study):
    with pytest.raises(ValueError, match="not known; declare the column with their names"):
        participants(Comparisons(study.index))


def test_two_people_are_described_but_not_compared():
    two = participants(answers_of(np.random.default_rng(0).normal(size=(9, 2)), 2, 30, np.random.default_rng(1),
                                  seconds=np.array([1.0, 2.0])))  # fmt: skip
    assert (two.seconds.tolist(), two.n_folds) == ([1.0, 2.0], 0)
    assert ((two.first > 0) & (two.first < 1)).all()
    assert np.isnan(two.agreement).all()
    assert "agreement" not in str(two)
    with pytest.raises(ValueError, match="better_than_chance cannot be applied"):
        ExclusionRules(better_than_chance=True).broken(two)


def test_a_program_that_stores_the_chosen_option_first_says_nothing_about_sides(study):
    rows = np.where(study.answers.side[:, None] == 0, study.index, study.index[:, [0, 1, 2]])
    stored = Comparisons.from_answers(rows, np.ones(len(rows), dtype=bool), participants=study.participants)
    table = participants(stored)
    assert (table.first, table.same_side, table.streak) == (None, None, None)


def test_who_names_the_least_central_one_inverts_the_task():
    rng = np.random.default_rng(0)
    X, who = rng.normal(size=(20, 2)), np.repeat(np.arange(12), 40)
    sets = np.argsort(rng.random((len(who), 20)), axis=1)[:, :3]
    apart = np.linalg.norm(X[sets][:, :, None] - X[sets][:, None], axis=-1).sum(axis=2)
    central = np.where(who == 3, apart.argmax(axis=1), apart.argmin(axis=1))
    table = participants(Comparisons.from_most_central(sets, sets[np.arange(len(who)), central], participants=who))
    assert table.participant[table.inverted].tolist() == [3]
    assert table.opposite[0] > 0.8 > 0.1 > table.agreement[0]
    assert np.median(table.agreement) > 0.7


def test_rules_leave_out_count_and_tell(study, table, tmp_path):
    path = tmp_path / "rules.toml"
    path.write_text("min_seconds = 0.5\nmax_same_side = 0.9\nbetter_than_chance = 0.001\n")
    kept, gone = exclude(study, path, table)
    assert {0, 1, 2, 29} <= set(gone.participants)
    assert set(np.unique(kept.participants)) == set(range(30)) - set(gone.participants)
    assert len(kept) == gone.n_kept_answers == 60 * (30 - len(gone.participants))
    text = str(gone)
    assert text.startswith(f"Of 30 participants, {len(gone.participants)} (")
    assert "1 took less than 0.5 s for an answer (median), 1 chose the same side in more than 90 % of answers" in text
    assert "some broke more than one rule" in text
    path.write_text("min_answers: 3")
    with pytest.raises(ValueError, match=r"rules\.toml: "):
        ExclusionRules.read(path)
    with pytest.raises(FileNotFoundError):
        ExclusionRules.read(tmp_path / "none.toml")


def test_without_rules_nobody_is_left_out(study, table):
    kept, gone = exclude(study, {}, table)
    assert kept == study
    assert str(gone) == "No exclusion rules were set; all 30 participants were kept (1,800 answers)."
    _, gone = exclude(study, {"min_answers": 10, "better_than_chance": False}, table)
    assert str(gone).startswith("Of 30 participants, none was excluded by these rules (nobody gave")


def test_attention_checks_have_no_comparisons_but_count(study):
    number = np.arange(len(study))
    details = {
        "catch": number % 10 == 0, "correct": np.where(number % 10, -1, (number // 60 < 15).astype(int)),
    }  # fmt: skip
    data = Comparisons(study.index, participants=study.participants, details=details)
    assert len(data) == 0.9 * len(study)
    table = participants(data)
    assert table.answers.tolist() == [54] * 30
    assert table.catch.tolist() == [6] * 30
    assert {person for person, passed in zip(table.participant, table.catch_passed) if passed == 1} == set(range(15))
    kept, gone = exclude(data, {"catch_passed": 0.5}, table)
    assert set(gone.participants) == set(range(15, 30))
    assert "15 passed fewer than 50 % of attention checks" in str(gone)
    # The checks of those who remain are still there, so that the same rules find nobody else.
    assert int(kept.answers.is_check().sum()) == 6 * 15
    assert exclude(kept, {"catch_passed": 0.5})[1].participants == []


def test_a_question_that_shows_its_anchor_is_an_attention_check(study):
    shown = np.concatenate([study.index, [[0, 0, 1], [0, 1, 0], [2, 2, 3]]])
    who = np.concatenate([study.participants, [0, 0, 1]])
    table = participants(Comparisons(shown, participants=who, on_degenerate="drop"))
    found = dict(zip(table.participant.tolist(), zip(table.catch.tolist(), table.catch_passed.tolist())))
    assert (found[0], found[1], found[2][0]) == ((2, 0.5), (1, 1.0), 0)
    assert table.answers.tolist() == [60] * 30


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"min_answer": 3}, "rules: got {'min_answer': 3}, expected a file, or values of min_answers, "),
        (7, "rules: got 7"),
        ({"max_same_side": 90}, "max_same_side: got 90, expected a number from 0 to 1"),
        ({"min_answers": True}, "min_answers: got True"),
        ({"better_than_chance": 2}, "better_than_chance: got 2"),
        ({"catch_passed": 0.8}, "catch_passed cannot be applied"),
        ({"min_answers": 1000}, "nobody is left"),
    ],
)
def test_wrong_rules_are_refused(rules, message, study, table):
    with pytest.raises(ValueError, match=message):
        exclude(study, rules, table)
