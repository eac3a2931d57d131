"""Sentences of report and terminal, as plain text, from named figures; "" if there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from nearer.data.messages import counted, listed
from nearer.people.participants import FEWEST, SIGNIFICANT
from nearer.selection.dimension import flat_from
from nearer.selection.thresholds import CLEAR, WORTHWHILE

if TYPE_CHECKING:
    from nearer.alignment import Alignment
    from nearer.data import Flow
    from nearer.metrics import WorstComparisons
    from nearer.people import ExclusionRules
    from nearer.selection import DimensionSelection, Evaluation


def percent(fraction: float) -> str:
    """0.912 as "91.2 %"; never rounded up to a perfect score or down to none."""
    if 0 < fraction < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= fraction < 1:
        return "over 99.9 %"
    text = f"{100 * fraction:.1f}"
    return f"{text.removesuffix('.0') if fraction in (0, 1) else text} %"


def points(fraction: float) -> str:
    """A difference of two fractions: 0.081 as "8 points"."""
    whole = round(100 * fraction)
    return "less than 1 point" if whole < 1 else counted(whole, "point")


def interval(low: float, high: float) -> str:
    """Two fractions as "88.1 to 93.0 %"."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def preferred_dimension(shown: int, chosen: int | None, accuracy: Mapping[int, float]) -> str | None:
    """Whether "fewer" dimensions do about as well as this number, "another" does better, or neither ("this").

    None where the held-out accuracy of the dimension shown or chosen is not known.
    """
    if chosen is None or not {shown, chosen} <= accuracy.keys():
        return None
    gain = accuracy[chosen] - accuracy[shown]
    if chosen < shown and gain > -WORTHWHILE:
        return "fewer"
    return "another" if chosen != shown and gain >= WORTHWHILE else "this"


def headline(found: Evaluation) -> str:
    """The one sentence to remember."""
    if found.held_out is not None and not _is_stuck(found):
        text = f"The map satisfies {percent(found.held_out)} of answers it has not seen ({guessing(found)})"
        if found.ceiling is not None and not found.ceiling_is_rough:
            return f"{text}; where a question was repeated, {percent(found.ceiling)} of answers side with the majority."
        return text + "."
    if found.training is not None:
        return f"The map satisfies {percent(found.training)} of the answers it was made from ({guessing(found)})."
    return "A map of the objects, made from comparisons."


def fit_sentences(found: Evaluation, preferred: str | None = None) -> list[str]:
    """What the scores say together, and what they cannot say; `preferred` is of `preferred_dimension`."""
    held_out, training, said = found.held_out, found.training, []
    if held_out is None and training is not None:
        why = "was not measured" if not found.declined else f"is not reported: {_declined(found)}"
        said.append(
            f"Accuracy on new answers {why}. Accuracy on the answers that the map was made from is always too "
            "optimistic."
        )
    elif held_out is not None and training is not None and _is_stuck(found):
        said.append(
            f"Maps made in the same way from a part of the answers satisfy {percent(held_out)} of the rest, more than "
            f"the {percent(training)} that this map satisfies of its own: the optimiser stopped in a poor local "
            "minimum. More random starts (n_init) usually help."
        )
    if _is_guessing(found):
        said.append(f"This cannot be distinguished from guessing, which satisfies {chance_text(found)}.")
    if held_out is not None and training is not None and training - held_out > CLEAR:
        said.append(_gap(training - held_out, preferred))
    said += [_agreement(found), _room(found, preferred)]
    return [sentence for sentence in said if sentence]


def _is_stuck(found: Evaluation) -> bool:
    """Whether maps made from a part of the answers do clearly better than this one, which should be the best."""
    return found.held_out is not None and found.training is not None and found.held_out - found.training > CLEAR


def _is_guessing(found: Evaluation) -> bool:
    return found.held_out_low is not None and found.held_out_low <= found.chance


def _gap(gap: float, preferred: str | None) -> str:
    text = f"It fits answers it has seen clearly better than new ones (a gap of {points(gap)}): "
    if preferred is None:
        return text + (
            "there are too few answers for this dimension, or the dimension is wrong. Either more or fewer "
            "dimensions may do better; `nearer dims` tries several."
        )
    return text + ("a sign of too many dimensions." if preferred == "fewer" else "a sign of too few answers.")


def _agreement(found: Evaluation) -> str:
    if found.ceiling is None:
        return "No question was answered more than once, so the best possible accuracy is unknown."
    if found.ceiling <= 0.5:
        return "Answers to repeated questions are evenly divided, so the best possible accuracy is unknown."
    if found.ceiling_is_rough and found.ceiling_questions is not None:
        questions = counted(found.ceiling_questions, "question was", "questions were")
        return f"Only {questions} repeated, too few to estimate the best possible accuracy."
    if found.ceiling == 1 and found.ceiling_low in (None, 1):
        return "Wherever a question was repeated, all answers were the same, so a map could satisfy 100 %."
    return f"Answers to the same question differ: going by them, {best_possible(found)}."


def _room(found: Evaluation, preferred: str | None) -> str:
    least, bound, most = found.ceiling_least, found.ceiling_bound, found.held_out_high
    if preferred == "another" and not _is_stuck(found):
        return "A map with another number of dimensions predicts new answers better, see below."
    if least is None or bound is None or most is None or found.ceiling_is_rough or _is_stuck(found):
        return ""
    held_out = found.held_out or 0
    below, above = least - held_out, (found.ceiling or 0) - held_out
    if below <= 0:
        if above > CLEAR:
            return f"Whether a better map is possible is not known: it may satisfy up to {points(above)} more, or none."
        if _is_guessing(found):
            return "People agree with each other so little that no map can do better."
        # If fewer dimensions do as well, this map should not be praised.
        return "So this map is about as good as the answers allow." if preferred in (None, "this") else ""
    if most >= bound:
        return f"This map is {points(below)} short of that, which chance may explain."
    return f"So this map leaves {points(below)} to be explained."


def held_out_source(found: Evaluation) -> str:
    """What the held-out accuracy was measured on, and its interval."""
    return f"answers it has not seen{', to random questions' if found.random_only else ''}; {_bounds(found)}"


def _bounds(found: Evaluation) -> str:
    return f"{100 * found.level:g} % interval {interval(found.held_out_low or 0, found.held_out_high or 0)}"


def ceiling_text(found: Evaluation) -> str:
    """The noise ceiling: "88.8 %", or "78.0 to 88.8 %"."""
    high = found.ceiling or 0
    low = high if found.ceiling_low is None else found.ceiling_low
    return percent(high) if percent(low) == percent(high) else interval(low, high)


def best_possible(found: Evaluation) -> str:
    """The noise ceiling as the end of a sentence."""
    high = found.ceiling or 0
    low = high if found.ceiling_low is None else found.ceiling_low
    if round(100 * low) == round(100 * high):
        return f"the best possible accuracy is about {100 * high:.0f} %"
    return f"the best possible accuracy lies between about {100 * low:.0f} % and {100 * high:.0f} %"


def ceiling_source(found: Evaluation) -> str:
    """What the noise ceiling was estimated from."""
    return f"noise ceiling, from {counted(found.ceiling_questions or 0, 'repeated question')}"


def scores_line(found: Evaluation) -> str:
    """The scores in one line; "" if there are none."""
    parts = []
    if found.training is not None:
        parts.append(f"{percent(found.training)} of the answers satisfied ({guessing(found)})")
    if found.fold_accuracy:
        parts.append(cross_validation_text(found))
        parts += [f"of these, {unplaced_answers(found)}"] if found.n_unplaced else []
    elif found.declined:
        parts.append(f"accuracy on new answers not reported: {_declined(found)}")
    if found.ceiling is not None and not found.ceiling_is_rough:
        parts.append(f"noise ceiling {percent(found.ceiling)}")
    return "; ".join(parts)


def cross_validation_text(found: Evaluation, what: str = "answers") -> str:
    """The held-out accuracy, and how it was measured."""
    which = " to random questions" if found.random_only else ""
    how = f"{len(found.fold_accuracy)}-fold cross-validation, {_bounds(found)}"
    return f"{percent(found.held_out or 0)} of held-out {what}{which} ({how})"


def chance_text(found: Evaluation) -> str:
    """The chance level: "50 %" or "33.3 %"."""
    return percent(found.chance).replace(".0 %", " %")


def guessing(found: Evaluation) -> str:
    """What a map made without the answers satisfies."""
    return f"guessing: {chance_text(found)}"


def unplaced_answers(found: Evaluation) -> str:
    """How many held-out answers were not evaluated."""
    they = "it names" if found.n_unplaced == 1 else "they name"
    was = "was" if found.n_unplaced == 1 else "were"
    return f"{found.n_unplaced:,.0f} {was} left out: {they} an object that no other answer names"


def _declined(found: Evaluation) -> str:
    return found.declined.removeprefix("comparisons: ")


def score_lines(found: Mapping[str, Any]) -> str:
    """How well a map satisfies some answers, in a line or two; the figures are those of `score_map`."""
    rows = counted(found["n_comparisons"], "comparison")
    of = f"{found['n_satisfied']:,} of {rows}"
    if found.get("weights_are_votes"):
        of = f"{found['weight_satisfied']:,.0f} of {counted(found['weight'], 'answer')}, the votes on {rows}"
    elif "weight" in found:
        of = f"{found['weight_satisfied']:,.1f} of {found['weight']:,.1f} by weight, {of} without weights"
    text = f"{percent(found['accuracy'])} satisfied: {of}"
    if "log_loss" in found:
        text += f"\nlog-loss {found['log_loss']:.4f} (guessing: 0.6931)"
        text += f"; probabilities are off by {percent(found['calibration_error'])} on average"
    return text


_COMPARED = {
    "cosine": "compared by cosine", "euclidean": "compared by Euclidean distance", "dot": "compared by dot product",
    "distances": "given as distances", "similarities": "given as similarities",
}  # fmt: skip


def alignment_lines(found: Alignment) -> list[str]:
    """Which share of the answers models predict, what they gain by a transform, and which differ."""
    width = max(len(score.name) for score in found.scores)
    lines = [f"{'':{width}}  answers predicted, with 95 % interval by question (by participant)"]
    for score in found.scores:
        line = f"{score.name:{width}}  {percent(score.accuracy):>7}  {interval(*score.by_question)}"
        if score.by_participant is not None:
            line += f"  ({interval(*score.by_participant)})"
        lines.append(line)
    lines += alignment_facts(found)
    for one in found.differences:
        excess = f"{one.name} - {one.other}: {signed_points(one.difference)} points"
        lines.append(f"{excess} (95 % interval {signed_points(*one.by_question)})")
    return lines + alignment_gains(found)


def alignment_facts(found: Alignment) -> list[str]:
    """How many answers there are and how far they can be predicted, how models were compared, what they lack."""
    limits = [f"guessing: {percent(found.chance)}"]
    if found.ceiling is not None and found.ceiling_low is not None:
        limits.append(f"noise ceiling: {interval(found.ceiling_low, found.ceiling)}")
    lines = ["; ".join([counted(found.n_answers, "answer"), *limits])]
    for measure in dict.fromkeys(found.compared.values()):
        names = [name for name, by in found.compared.items() if by == measure]
        lines.append(f"{_COMPARED[measure]}: {listed(names, 9)}")
    if len(found.scores) > len(found.compared):
        lines.append("the best map is made from the answers to other questions")
    missing = "; ".join(
        f"{name} lacks {counted(len(names), 'object')}: {listed(names)}" for name, names in found.missing.items()
    )
    if missing:
        lines.append(f"{counted(found.n_left_out, 'answer is', 'answers are')} left out: {missing}")
    return lines


def alignment_gains(found: Alignment) -> list[str]:
    """What a linear transform of each model gains on unseen objects."""
    return [
        f"linear transform of {gain.name}, about unseen objects: {percent(gain.before)} to {percent(gain.after)} of "
        f"{counted(gain.n_answers, 'answer')} ({signed_points(gain.gain)} points, 95 % interval "
        f"{signed_points(gain.low, gain.high)})"
        for gain in found.gains
    ]


def signed_points(*fractions: float) -> str:
    """Differences of fractions: "+2.8", or "-1.2 to +6.8"."""
    return " to ".join(f"{100 * fraction:+.1f}" for fraction in fractions)


def map_sentence(n_objects: int, n_components: int) -> str:
    """How to read the map."""
    how = {
        1: "Objects close to each other on the line are similar, by these answers.",
        2: "Objects close to each other are similar, by these answers; directions and absolute size mean nothing.",
        3: "Drag to turn the map. Objects close to each other in space are similar, by these answers.",
    }
    more = f"Of its {n_components} dimensions, two are shown at a time. Choose them here or in the pair plot below."
    return f"{counted(n_objects, 'object')}. {how.get(n_components, more)}"


def few_answers_sentence(n_few: int, n_components: int) -> str:
    """What hollow markers mean."""
    objects = counted(n_few, "object that is", "objects that are")
    return f"Hollow: {objects} in fewer than {n_components + 1} questions, too few to fix a position."


def unplaced_sentence(n_unplaced: int, n_objects: int) -> str:
    """How many objects the map does not show."""
    return f"Without a position, and so not shown: {n_unplaced:,} of {n_objects:,} objects."


def data_sentence(check: Mapping[str, Any]) -> str:
    """What the map was made from: "1,200 answers to 900 questions about 40 objects, by 12 participants"."""
    answers = counted(check["n_answers"], "answer")
    questions = counted(check["n_questions"], "question")
    text = f"{answers} to {questions} about {counted(check['n_objects'], 'object')}"
    people = check.get("participants")
    return text if people is None else f"{text}, by {counted(len(people), 'participant')}"


_ASKED = {
    "triplets": "which of two objects is nearer to a third one",
    "quadruplets": "in which of two pairs the objects are nearer to each other",
    "odd-one-out": "which of three objects is the odd one out",
    "most-central": "which of three objects is the most central one",
    "rankings": "which of several objects are nearest to another one",
}


def flow_sentences(flow: Flow, kinds: Sequence[str], check: Mapping[str, Any]) -> list[str]:
    """From the answers collected to those analysed; `check` is of the latter, from `CheckResult.to_dict`."""
    what = "trial" if "no answer" in flow.dropped else "answer"
    people = "" if flow.participants is None else f" from {counted(flow.participants, 'participant')}"
    asked = " or ".join(_ASKED[kind] for kind in kinds)
    were = counted(flow.collected, f"{what} was", f"{what}s were")
    said = [f"{were} collected{people}; the question was {asked}."]
    if flow.checks:
        were = counted(flow.checks, "answer was an attention check", "answers were attention checks")
        unjudged = f"; {flow.unjudged:,.0f} had no right answer" if flow.unjudged else ""
        said.append(f"{were}, of which {flow.passed:,.0f} passed and {flow.failed:,.0f} failed{unjudged}.")
    analysed = None if check.get("participants") is None else len(check["participants"])
    for one in flow.excluded:
        which = "rules set in advance" if one.preregistered else "these rules"
        if not one.participants:
            said.append(f"No participant was excluded by {which} (nobody {' or '.join(one.rules)}).")
            continue
        who = counted(one.participants, "participant")
        rules = listed([f"{n:,} {words}" for words, n in one.rules.items()], 9)
        several = "; some broke more than one rule" if sum(one.rules.values()) > one.participants else ""
        answers = counted(one.answers, "answer")
        were = "was" if one.participants == 1 else "were"
        said.append(f"{who} ({answers}) {were} excluded by {which}: {rules}{several}.")
    if flow.dropped:
        why = listed([f"{count:,.0f} ({reason})" for reason, count in flow.dropped.items()], 9)
        were = counted(sum(flow.dropped.values()), f"{what} was", f"{what}s were")
        said.append(f"{were} not used: {why}.")
    if flow.rows:
        why = listed([f"{count:,} ({reason})" for reason, count in flow.rows.items()], 9)
        said.append(f"Rows of the file that are not counted: {why}.")
    if flow.participants is not None and analysed is not None:
        lost = flow.participants - sum(one.participants for one in flow.excluded) - analysed
        if lost > 0 and check["n_answers"] == flow.analysed:
            said.append(f"No answer was left from {counted(lost, 'participant')}.")
    of = "" if check["n_answers"] == flow.analysed else f" (of {flow.analysed:,.0f} that were left)"
    several = "" if check["answers_are_rows"] else f", which give {check['n_comparisons']:,} comparisons"
    said.append(f"Analysed were {data_sentence(check)}{of}{several}.")
    if len(check["components"]) > 1:
        groups, apart = counted(len(check["components"]), "group"), counted(check["n_apart"], "answer")
        said.append(
            f"The objects fall into {groups} that were never compared with each other ({apart} to questions about the "
            "smaller ones), so the relative positions of the groups are arbitrary."
        )
    return said


_PICTURES = "PNG, JPEG, GIF, WebP or SVG"


def picture_sentences(
    n_shown: int, n_objects: int, missing: Sequence[str], unreadable: Sequence[str], n_over: int
) -> list[str]:
    """How many objects have a picture, and why the others have none."""
    said = [f"Pictures: {n_shown:,} of {n_objects:,} objects."]
    if missing:
        said.append(f"No {_PICTURES} file of this name in the folder: {len(missing):,} ({listed(missing, 5)}).")
    if unreadable:
        said.append(f"Could not be read as {_PICTURES}: {len(unreadable):,} ({listed(unreadable, 5)}).")
    if n_over:
        said.append(f"Left out to keep this file small: {n_over:,}.")
    return said


NO_SCORES = "No score was computed for this map."
OWN_ANSWERS = "answers the map was made from"
NO_PROBLEM = "No problem was found in the answers."
NO_PROBLEM_BUT_PEOPLE = "No problem was found in the answers as a whole, but some people stand out, see below."
WORST = "The worst, by the difference of the two distances:"
STEP_SIZES = "For the curious: the step sizes"
REPEAT = "This command gives the same map again:"
CONVERGENCE = (
    "The objective during the computation. With the solver auto, the first stages use only some of the answers, or "
    "another loss, so it may jump between them. A flat end means that it has converged."
)
CLUSTERS = (
    "Colours: clusters found on the map, not given with the answers. Their stability is the mean overlap with the most "
    "similar cluster on maps of resampled answers and objects; 1 is always the same objects."
)
CLUSTERED_REGIONS = (
    "The objects lie in clusters. Where these are tight or of very unequal size, regions may be too small: they hold "
    "the true position less often than they say."
)
ALIGNMENT = (
    "The share of the answers that each model predicts. Black lines are 95 % intervals for other questions about these "
    "objects. The dashed line is guessing, the green band the noise ceiling, where it is known."
)
LEARNING = "Accuracy on comparisons not seen, by the number of comparisons used. The dashed part is extrapolated."
PEOPLE_TITLES = {
    "participant": "Person", "answers": "Answers", "seconds": "Seconds", "first": "First option",
    "same_side": "Same side", "streak": "Longest streak", "repeats": "Repeats", "repeats_alike": "Alike",
    "catch": "Catch questions", "catch_passed": "Passed", "agreement": "Agreement", "opposite": "Opposite",
    "guesses": "Guesses",
    "p_chance": "p (only guesses)", "p_decline": "p (no decline)",
}  # fmt: skip


def people_table_title(n_people: int, most: int) -> str:
    which = f"the {most} most doubtful of {n_people:,}" if n_people > most else "the most doubtful first"
    return f"Table of people, {which}"


PEOPLE_LEGEND = {
    "seconds": "median response time",
    "first": "share of answers that chose the first option",
    "same_side": "share of answers on the side chosen most",
    "streak": "longest run of answers on one side",
    "repeats": "questions answered more than once",
    "repeats_alike": "how far answers to one of these agree",
    "catch": "attention checks",
    "catch_passed": "share of them passed",
    "agreement": "share of answers satisfied by a map made without the person",
    "opposite": "share of answers that this map contradicts in every comparison",
    "guesses": "estimated share of guesses (95 % interval)",
    "p_chance": "p-value of the agreement, clear answers counting more, if all were guesses",
    "p_decline": "p-value of a decline of agreement during the session",
}
_NAMED = 50  # maximum number of inverted people listed
_ONE_SIDED, _PASSED = 0.9, 0.8  # above and below these shares, people are named unless rules have others


def people_sentences(people: Mapping[str, Any], rules: ExclusionRules | None = None) -> list[str]:
    """How many answers people gave, how far they agree with the others, and who stands out, and why.

    Where `rules` have a limit for sides or attention checks, people are named by it.
    """
    n_people, answers = len(people["participant"]), sorted(people["answers"])
    each = f"{answers[0]:,}" if answers[0] == answers[-1] else f"{answers[0]:,} to {answers[-1]:,}"
    text = [f"{counted(n_people, 'person', 'people')} gave {each} answers each."]
    agreement = sorted(value for value in people["agreement"] if _is_known(value))
    if agreement:
        text.append("Each was compared with a map made without them.")
        low, high = percent(agreement[0]), percent(agreement[-1])
        text.append(f"They agree with it in {percent(median(agreement))} of answers (median; {low} to {high}).")
    elif n_people < FEWEST:
        text.append(f"To compare each with the others takes at least {FEWEST}.")
    found = people_standing_out(people, rules)
    if _guessing(people) or _where(people, "inverted", bool) or not agreement:
        return text + found
    return [*text, "All agree with it better than somebody who only guesses.", *found]


def _is_known(value: Any) -> bool:
    return value is not None and value == value


def inverted_sentence(people: Mapping[str, Any]) -> str:
    """Who answered the other way round, the evidence, and what can be done about it; "" if nobody."""
    shown = []
    for row in _where(people, "inverted", bool):
        agrees, n_answers = percent(people["agreement"][row]), counted(people["answers"][row], "answer")
        opposite = f", the opposite in {percent(people['opposite'][row])}" if "opposite" in people else ""
        shown.append(f"{people['participant'][row]} (agrees in {agrees}{opposite}, of {n_answers})")
    if not shown:
        return ""
    seem = counted(len(shown), "person seems", "people seem")
    return (
        f"{seem} to have answered the other way round, by the map of the others: {listed(shown, _NAMED)}. Ask "
        "them, exclude them or reverse their answers; nothing was changed."
    )


def _guessing(people: Mapping[str, Any]) -> list[int]:
    """Rows of people who may only guess."""
    inverted = set(_where(people, "inverted", bool))
    return [row for row in _where(people, "p_chance", lambda p: not p < SIGNIFICANT) if row not in inverted]


def people_standing_out(people: Mapping[str, Any], rules: ExclusionRules | None = None) -> list[str]:
    """The people whose answers are inverted, or may be careless for other reasons."""
    text = [inverted] if (inverted := inverted_sentence(people)) else []
    one_sided = _ONE_SIDED if rules is None or rules.max_same_side is None else rules.max_same_side
    passed = _PASSED if rules is None or rules.catch_passed is None else rules.catch_passed
    if guessing := _guessing(people):
        some = counted(len(guessing), "person", "people")
        shown = _people_with(people, guessing, "agreement", lambda value: f"agrees in {percent(value)}")
        text.append(f"{some} cannot be distinguished from somebody who only guesses: {shown}.")
    if fast := _where(people, "fast", bool):
        usual = median(filter(_is_known, people["seconds"]))
        some = counted(len(fast), "person was", "people were")
        shown = _people_with(people, fast, "seconds", lambda value: f"median {value:.2f} s")
        text.append(f"{some} much faster than the others (median {usual:.2f} s): {shown}.")
    if sided := _where(people, "same_side", lambda value: value > one_sided):
        some, shown = counted(len(sided), "person", "people"), _people_with(people, sided, "same_side", percent)
        text.append(f"{some} chose one side in over {100 * one_sided:g} % of answers: {shown}.")
    if failing := _where(people, "catch_passed", lambda value: value < passed):
        # A fraction alone would not say that one slip of four is already below it.
        counts = [(round(people["catch_passed"][row] * people["catch"][row]), people["catch"][row]) for row in failing]
        shown = listed(f"{people['participant'][row]} ({n} of {of})" for row, (n, of) in zip(failing, counts))
        some = counted(len(failing), "person", "people")
        text.append(f"{some} passed under {100 * passed:g} % of attention checks: {shown}.")
    return text


def _where(people: Mapping[str, Any], name: str, holds: Callable[[Any], bool]) -> list[int]:
    """The rows of a table of people where a value is known and satisfies a condition."""
    return [row for row, value in enumerate(people.get(name) or ()) if _is_known(value) and holds(value)]


def _people_with(people: Mapping[str, Any], rows: Sequence[int], name: str, shown: Callable[[Any], str]) -> str:
    """Names of people, each with a figure where it is known."""
    values = [(people["participant"][row], people[name][row]) for row in rows]
    return listed(f"{who} ({shown(value)})" if _is_known(value) else str(who) for who, value in values)


def people_legend(columns: Iterable[str]) -> str:
    """What the columns of a table of people mean, a line each."""
    return "\n".join(f"{name}: {PEOPLE_LEGEND[name]}" for name in columns if name in PEOPLE_LEGEND)


def dimensions_sentence(chosen: int | None, shown: int, accuracy: Mapping[int, float]) -> str:
    """What the chart of dimensions shows; `shown` is the dimension of the map on the page, `accuracy` is charted."""
    text = (
        "How well maps of different dimension satisfy answers they have not seen. Bars are one standard error over the "
        "folds."
    )
    if chosen is None:
        return f"{text} The computation was interrupted: some maps are missing, and no dimension is chosen."
    marked = f"{text} The ring marks {counted(chosen, 'dimension')}, the fewest that no larger number clearly beats"
    marked += "; this map has as many." if chosen == shown else f"; this map has {shown}."
    return " ".join(filter(None, (marked, _largest(chosen, accuracy), _choice(chosen, accuracy))))


def _largest(chosen: int, accuracy: Mapping[int, float]) -> str:
    """What larger dimensions may do, if none was tried; "" otherwise."""
    if len(accuracy) < 2 or chosen < max(accuracy):
        return ""
    if (flat := flat_from(accuracy, chosen)) < chosen:
        return f"It is the largest that was tried, but going beyond {flat} gains less than {points(WORTHWHILE)}."
    return "It is the largest that was tried: larger ones may do better still."


def _choice(chosen: int, accuracy: Mapping[int, float]) -> str:
    """Why a chart of accuracies does not show by itself that a dimension was chosen; "" if it does."""
    shown = {d: round(value, 3) for d, value in accuracy.items()}
    if any(
        value >= shown[chosen] if d < chosen else value > shown[chosen] for d, value in shown.items() if d != chosen
    ):
        return "Dimensions are compared by maps of the softplus loss, made for that purpose, not by those in the chart."
    if any(value == shown[chosen] for d, value in shown.items() if d > chosen):
        return "Where more dimensions predict equally well, the smallest number is chosen."
    return ""


def dimension_lines(found: DimensionSelection) -> str:
    """Accuracy by dimension as a small table, and the verdict."""
    lines = ["dimensions   held-out answers satisfied"]
    of = len(found.fold_accuracy)
    columns = (found.dims, found.accuracy, found.accuracy_se, found.n_folds)
    for d, mean, error, folds in zip(*(column.tolist() for column in columns)):
        mark = "   <- chosen" if d == found.chosen else "" if folds == of else f"   ({folds} of {of} folds)"
        known = "unknown" if not folds else percent(mean) + (f" ± {100 * error:.1f}" if folds > 1 else "")
        lines.append(f"{d:>10}   {known}{mark}")
    if found.chosen is not None:
        lines += filter(None, [_choice(found.chosen, dict(zip(found.dims.tolist(), found.accuracy.tolist())))])
    return "\n".join([*lines, found.verdict])


def violations_sentence(found: WorstComparisons, what: str = "answer") -> str:
    """How many answers (or comparisons) the map contradicts."""
    weighed = "" if found.share is None else f", {percent(found.share)} by weight"
    text = f"The map contradicts {found.n_violated:,.0f} of {counted(found.n_comparisons, what)}{weighed}."
    if found.n_unplaced:
        concern = "concerns" if found.n_unplaced == 1 else "concern"
        text += f" {found.n_unplaced:,.0f} more {concern} objects without a position."
    return text


def distances_sentence(near: float, far: float, width: float) -> str:
    """Two distances: their ratio, and each in percent of the map's width, since the scale of a map is arbitrary."""
    shares = [f"{100 * distance / width if width else 0:.3g}" for distance in (near, far)]
    ratio = "equally far" if near == far else "much farther"
    if far < near < 1000 * far:
        ratio = f"{near / far:.3g} times as far"
    return f"{ratio} ({shares[0]} against {shares[1]} % of the map's width)"
