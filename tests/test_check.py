"""The data check: every planted fault is found, and nothing else."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.stats import norm

from nearer.check import CheckResult, check, components, suspicions
from nearer.data import Comparisons
from nearer.metrics.agreement import noise_ceiling, sum_of_binomials_tail


def test_clean_data_is_ok():
    X = np.random.default_rng(0).normal(size=(12, 2))
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    report = check(Comparisons.from_distances(D), n_components=2)
    assert isinstance(report, CheckResult)
    assert report.ok
    assert report.n_questions == report.n_comparisons == 12 * 11 * 10 // 2
    assert (report.noise_ceiling, report.noise_ceiling_low, report.participants) == (None, None, None)
    assert report.components == [12]
    assert repr(report) == "CheckResult: 660 triplets over 12 objects, no problem found"
    assert "<td>none</td>" in report._repr_html_()


def test_every_planted_fault_is_found():
    repeated, contradicting = [(0, 1, 2), (0, 1, 2), (0, 2, 1)], [(1, 2, 3), (1, 3, 2)]
    island, checks = [(4, 5, 6)], [(2, 2, 1), (4, 5, 5)]
    rows = [*repeated, *contradicting, (2, 3, 0), (3, 0, 1), *island, *checks]
    labels = ["zero", "one", "two", "three", "four", "five", "six", "seven"]
    cmp = Comparisons.from_triplets(rows, labels=labels, on_degenerate="drop")
    report = check(cmp, n_components=2)
    assert repr(report) == "CheckResult: 8 triplets over 8 objects, 3 problems found"
    assert (report.n_attention_checks, report.n_attention_failed) == (2, 0)  # of (4, 5, 5) no answer is right
    assert (report.n_questions, report.n_repeated_questions, report.n_repeated_answers) == (5, 2, 5)
    found = [(c.row, c.votes_for, c.votes_against) for c in report.contradictions]
    assert found == [(("one", "two", "three"), 1, 1), (("zero", "one", "two"), 2, 1)]
    assert report.noise_ceiling == pytest.approx(3 / 5)
    assert report.unseen == ["seven"]
    assert report.components == [4, 3]
    assert report.islands == [["four", "five", "six"]]
    # questions: 012, 123, 203, 301 -> zero 3, one 3, two 3, three 3; the island 1 each
    assert report.too_few == {"four": 1, "five": 1, "six": 1}
    assert check(cmp, n_components=3).too_few == dict.fromkeys(labels[4:7], 1) | dict.fromkeys(labels[:4], 3)
    assert check(cmp).too_few is None
    assert not report.ok
    assert all(problem in str(report) for problem in report.problems)
    assert json.loads(json.dumps(report.to_dict()))["too_few"][0] == {"object": "four", "n_questions": 1}


def test_quadruplets_answered_both_ways_in_any_spelling():
    cmp = Comparisons([[0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1], [0, 1, 1, 2], [2, 1, 0, 1]])
    report = check(cmp, n_components=1)
    assert report.n_questions == 2
    assert [(c.row, c.votes_for, c.votes_against) for c in report.contradictions] == [
        ((0, 1, 1, 2), 1, 1),
        ((0, 1, 2, 3), 2, 1),
    ]
    once = check(Comparisons([[0, 1, 1, 2]]), n_components=1)
    assert once.too_few == {0: 1, 1: 1, 2: 1}  # 1 occurs twice, in one question
    assert report.too_few == {3: 1}  # 0, 1, 2 occur in both questions, 1 twice in one of them


def test_what_is_called_most_divided_is_divided():
    """A question that nearly all answered alike is not, however many do not."""
    asked = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]]
    votes = Comparisons.from_answers(asked, [[139, 4], [4, 3], [1, 1], [20, 25]])
    found = [(c.votes_for, c.votes_against) for c in check(votes).contradictions]
    assert found == [(25, 20), (4, 3), (1, 1), (139, 4)]
    assert "most divided" in check(votes).facts()
    # Two rankings that put two objects in different orders are not a question asked twice.
    rankings = check(Comparisons.from_rankings([0, 0], [[1, 2, 3], [2, 1, 4]]))
    assert rankings.contradictions
    assert rankings.n_repeated_questions == 0
    assert "most divided" not in rankings.facts()


def test_votes_are_answers_and_weights_are_not():
    votes = check(Comparisons.from_answers([[0, 1, 2], [1, 2, 0]], [[3, 1], [0, 0]]))
    assert votes.weights_are_votes
    assert (votes.n_answers, votes.n_questions, votes.n_repeated_questions) == (4, 1, 1)
    assert votes.noise_ceiling == 0.75
    for weights in ([3, 1, 2], [0.5, 0.1, 1.0]):
        parts = check(Comparisons([[0, 1, 2], [0, 2, 1], [1, 2, 0]], weights=weights))
        assert not parts.weights_are_votes
        assert (parts.n_answers, parts.n_questions, parts.noise_ceiling) == (3, 2, 0.5)


def odd_one_out(n=300, n_people=6, n_objects=12, seed=0, **more):
    """Odd-one-out answers by positions, some of them to the same sets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_objects, 2))
    sets = np.array([rng.permutation(n_objects)[:3] for _ in range(n // 2)])[rng.integers(n // 2, size=n)]
    apart = [[np.linalg.norm(X[s[(k + 1) % 3]] - X[s[(k + 2) % 3]]) for k in range(3)] for s in sets]
    odd = sets[np.arange(n), np.argmin(apart + 0.2 * rng.normal(size=(n, 3)), axis=1)]
    return Comparisons.from_odd_one_out(sets, odd, participants=np.arange(n) % n_people, **more)


def test_answers_of_several_rows_count_once():
    data = odd_one_out()
    report = check(data)
    assert (report.n_comparisons, report.n_answers, report.answers_are_rows) == (600, 300, False)
    assert [p.n_answers for p in report.participants] == [50] * 6
    assert all(p.n_shared <= 50 for p in report.participants)
    assert report.n_questions == len(np.unique(np.sort(data.index, axis=1), axis=0))
    assert report.n_repeated_answers <= 300
    chosen = ["random"] * 100 + ["predictive"] * 200
    assert check(odd_one_out(details={"chosen_by": chosen})).n_adaptive == 200


def test_the_p_value_does_not_take_rows_for_answers():
    # Everybody answers by the same law: p-values below 0.05 are as rare as they should be, whatever the kind.
    p_values = [p.p_value for seed in range(60) for p in check(odd_one_out(600, 10, 6, seed)).participants]
    assert np.mean(np.array(p_values) < 0.05) < 0.06


class TestSuspicions:
    @staticmethod
    def _data(n=1200, n_people=10, seed=0, **more):
        rng = np.random.default_rng(seed)
        made = Comparisons.from_points(rng.normal(size=(20, 2)), n, random_state=seed, noise=0.1)
        return Comparisons(made.index, n_objects=20, participants=np.arange(n) % n_people, **more)

    def test_nothing_is_suspected_of_good_answers(self):
        data = self._data(details={"order": np.arange(1200) // 10, "seconds": np.random.default_rng(1).random(1200)})
        column = np.random.default_rng(2).choice(["left", "right"], 1200)
        assert suspicions(data, {"key": column, "age": np.arange(1200) % 10}) == []
        assert suspicions(odd_one_out(), {"key": column[:300]}) == []

    def test_a_column_that_says_how_answers_are_meant(self):
        data, asked = self._data(), np.random.default_rng(0).choice(["most", "least"], 1200)
        columns = {"asked": asked, "trial": np.arange(1200).astype(str), "site": np.full(1200, "x")}
        found = suspicions(data.flipped(asked == "least"), columns)
        assert [(one.kind, one.names) for one in found] == [("column", ("asked",))]
        assert re.search("--where asked=(most|least)", found[0].text)  # it may as well be a condition

    def test_answers_that_are_there_twice(self):
        rng = np.random.default_rng(3)
        for details in ({"seconds": rng.gamma(2.0, size=1200).round(3)}, {"order": np.arange(1200) // 10}):
            data = self._data(details=details)
            assert [one.kind for one in suspicions(data.concat([data]))] == ["doubled"]
        assert suspicions(self._data().concat([self._data()])) == []  # without a time or a trial number nobody knows
        # The same list of questions asked again is answered differently here and there.
        again = data.flipped(np.arange(1200) % 10 == 0)
        assert suspicions(data.concat([again])) == []

    def test_names_that_differ_only_in_spelling(self):
        labels = [f"object {k}" for k in range(19)] + ["OBJECT  0"]
        apart = self._data()
        index = apart.index[~(np.isin(apart.index, [0, 19]).sum(axis=1) == 2)]
        found = suspicions(Comparisons(index, labels=labels))
        assert [(one.kind, one.names) for one in found] == [("names", ("object 0", "OBJECT  0"))]
        # Shown together, they are different objects.
        assert suspicions(Comparisons(np.concatenate([index, [[0, 19, 1]]]), labels=labels)) == []
        people = np.array(["p1", "P1", "p2"])[np.arange(len(index)) % 3]
        assert [one.kind for one in suspicions(Comparisons(index, participants=people))] == ["names"]


def _leave_one_out(answers):
    right = 0.0
    for k, answer in enumerate(answers):
        others = answers[:k] + answers[k + 1 :]
        top = [one for one in set(others) if others.count(one) == max(map(others.count, others))]
        right += (answer in top) / len(top)
    return right


QUESTIONS = ((2, 0), (1, 1), (2, 1), (3, 1), (2, 2), (5, 4), (0, 7), (2, 1, 1), (3, 3, 1), (3, 2, 2), (4, 2, 0, 2))


@pytest.mark.parametrize("counts", [[one] for one in QUESTIONS] + [QUESTIONS])
def test_noise_ceiling(counts):
    answers = [[k for k, n in enumerate(one) for _ in range(n)] for one in counts]
    question = np.repeat(np.arange(len(answers)), list(map(len, answers)))
    alone = [len(answers)], [0]  # a question with one answer says nothing
    given = np.append(question, alone[0]), np.concatenate([*answers, alone[1]])
    upper, lower = noise_ceiling(*given, np.ones(len(given[0])))
    assert upper == sum(map(max, counts)) / len(question)
    assert lower == pytest.approx(sum(map(_leave_one_out, answers)) / len(question))


def test_agreement_is_that_of_answers_not_of_their_comparisons():
    """Two of three name the same odd one out; of their six comparisons, five agree with the majority."""
    made = Comparisons.from_odd_one_out([[0, 1, 2]] * 3 + [[0, 1, 3]], [2, 2, 1, 3])
    found = check(made)
    assert found.noise_ceiling == pytest.approx(2 / 3)
    assert (found.n_repeated_questions, found.n_repeated_answers, found.n_divided_questions) == (1, 3, 1)


@pytest.mark.parametrize(
    ("rows", "known"),
    [([[0, 1, 2], [0, 2, 1]], False), ([[0, 1, 2]] * 3, False), ([[0, 1, 2], [1, 2, 3]], False),
     ([[0, 1, 2]] * 9 + [[i, i + 1, i + 2] for i in range(60)] * 3, True)],
)  # fmt: skip
def test_a_ceiling_of_few_questions_is_not_given(rows, known):
    report = check(Comparisons(rows))
    assert report.facts()["noise ceiling"].startswith("unknown") == (not known)
    assert report.ceiling_is_rough == (not known)


def test_components_match_a_slow_union_of_sets():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permuted(np.tile(np.arange(5) + 5 * g, (6, 1)), axis=1)[:, :3] for g in range(8)])
    rows = rng.permutation(rows).astype(np.int32)
    seen = Comparisons(rows, n_objects=50).seen
    groups: list[set] = []
    for row in rows.tolist():
        touching = [group for group in groups if group & set(row)]
        groups = [group for group in groups if not group & set(row)] + [set(row).union(*touching)]
    assert sorted(map(sorted, groups)) == sorted(group.tolist() for group in components(rows, 50, seen))


class TestParticipants:
    @staticmethod
    def _data(flip, seed=0, n_questions=60, n_people=8):
        """Everyone answers every question; `flip` gives for some the fraction of answers turned, 5 % for the rest."""
        rng = np.random.default_rng(seed)
        truth = Comparisons.from_points(rng.normal(size=(15, 2)), 4 * n_questions, random_state=seed).aggregate()
        questions = rng.permutation(truth.index)[:n_questions]
        parts = []
        for person in range(n_people):
            part = Comparisons(questions, n_objects=15, participants=np.full(n_questions, f"p{person}"))
            parts.append(part.flipped(rng.random(n_questions) < flip.get(f"p{person}", 0.05)))
        return Comparisons.concat(parts)

    def test_those_who_disagree_are_found(self):
        report = check(self._data({"p2": 0.5, "p5": 1.0}))
        assert [p.participant for p in report.participants if p.suspicious] == ["p5", "p2"]
        assert report.participants[0].agreement < 0.1
        json.dumps(report.to_dict())

    def test_a_small_difference_is_no_reason_to_act(self):
        # Ten of 40 people err more often than the others: significantly, yet most of their answers are no guesses.
        report = check(self._data({f"p{k}": 0.15 for k in range(10)}, n_questions=1000, n_people=40))
        worst = report.participants[0]
        assert worst.p_value < 0.01 / 40
        assert worst.agreement < worst.expected
        assert not report.problems

    def test_counts_against_a_slow_loop(self):
        cmp = self._data({"p1": 0.4}, n_questions=20, n_people=4)
        cmp = cmp[np.random.default_rng(0).random(len(cmp)) < 0.7]
        rows, people = cmp.index.tolist(), cmp.participants.tolist()
        for person in check(cmp).participants:
            shared = agree = expected = in_minority = 0
            chances = []
            for (a, near, far), who in zip(rows, people):
                if who != person.participant:
                    continue
                others = [row for row, other in zip(rows, people) if other != who]
                same, opposite = others.count([a, near, far]), others.count([a, far, near])
                if same + opposite == 0:
                    continue
                shared += 1
                agree += 1.0 if same > opposite else 0.5 if same == opposite else 0.0
                # every answer to the question might be this person's
                every = [1] * (same + 1) + [-1] * opposite
                leads = [own * (sum(every) - own) for own in every]
                expected += np.mean([1.0 if lead > 0 else 0.5 if lead == 0 else 0.0 for lead in leads])
                if opposite and same + 1 != opposite:
                    chances.append(min(same + 1, opposite) / len(every))
                    in_minority += same + 1 < opposite
            draws = np.random.default_rng(0).random((20_000, len(chances))) < chances
            assert person.n_answers == people.count(person.participant)
            assert person.n_shared == shared
            assert person.agreement == pytest.approx(agree / shared)
            assert person.expected == pytest.approx(expected / shared)
            if person.p_value is not None:
                assert person.p_value == pytest.approx(np.mean(draws.sum(axis=1) >= in_minority), abs=0.015)

    def test_harder_questions_make_nobody_suspicious(self):
        # Five of twenty get the hardest quarter of the questions, where answers are close to coin tosses.
        accused = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            easy = Comparisons.from_points(rng.normal(size=(30, 2)), 800, random_state=seed).index
            wrong = np.concatenate([rng.uniform(0.35, 0.5, 200), rng.uniform(0.0, 0.2, 600)])
            people = np.repeat(np.arange(20), 150)
            asked = rng.integers(np.where(people < 5, 200, 800))
            answers = Comparisons(easy[asked], participants=people).flipped(rng.random(len(people)) < wrong[asked])
            report = check(answers).participants
            accused += sum(person.suspicious for person in report)
            hard = [person for person in report if int(person.participant) < 5]
            assert all(person.expected < 0.75 for person in hard)
        assert accused <= 1

    def test_many_answers_and_large_votes_take_the_normal_law(self):
        n, p = np.array([4000.0, 300.0]), np.array([0.4, 0.25])
        exact = [sum_of_binomials_tail(n / 4, p, least) for least in (419, 440, 460)]
        close = [norm.sf((least - 0.5 - n @ p / 4) / np.sqrt(n @ (p * (1 - p)) / 4)) for least in (419, 440, 460)]
        np.testing.assert_allclose(exact, close, atol=0.01)
        assert sum_of_binomials_tail(n, p, round(n @ p)) == pytest.approx(0.5, abs=0.02)
        assert sum_of_binomials_tail(np.array([10.0]), np.array([0.5]), 10) == pytest.approx(0.5**10)
