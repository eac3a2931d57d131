"""Sentences that say what the numbers mean, for readers who did not make the map.

Each is a small function of named figures, and gives plain text. "" means that there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nearer.reporting.studies import Findings, Judgement, Scores
    from nearer.selection import DimensionSelection

__all__ = [
    "answer_sentence", "check_facts", "convergence_sentence", "count", "dimension_lines", "dimensions_sentence",
    "distances_sentence", "fit_sentences", "headline", "interval", "judgement_lines", "learning_sentence",
    "map_sentence", "percent", "scores_line", "violations_sentence",
]  # fmt: skip

# Accuracy points beyond which seen and unseen answers count as clearly different.
_OVERFIT = 0.05


def percent(fraction: float) -> str:
    """0.912 as "91.2 %"; never rounded up to a perfect score or down to none."""
    if 0 < fraction < 0.0005:
        return "under 0.1 %"
    if 0.9995 <= fraction < 1:
        return "over 99.9 %"
    text = f"{100 * fraction:.1f}"
    return f"{text.removesuffix('.0') if fraction in (0, 1) else text} %"


def count(number: float, one: str, many: str) -> str:
    """`count(1200, "answer", "answers")` is "1,200 answers"."""
    return f"{number:,.0f} {one if number == 1 else many}"


def interval(low: float, high: float) -> str:
    """Two fractions as "88.1 to 93.0 %"."""
    return f"{100 * low:.1f} to {100 * high:.1f} %"


# How well the map fits.


def headline(scores: Scores) -> str:
    """The one sentence to remember."""
    if scores.held_out is not None:
        text = f"The map satisfies {percent(scores.held_out)} of answers it has not seen"
        if scores.ceiling is not None:
            return (
                f"{text}; where a question was repeated, {percent(scores.ceiling)} of answers side with the majority."
            )
        return text + "."
    if scores.training is not None:
        return f"The map satisfies {percent(scores.training)} of the answers it was made from."
    return "A map of the objects, made from comparisons."


def fit_sentences(scores: Scores) -> list[str]:
    """What the scores say together, and what they cannot say."""
    said = (_unmeasured(scores), _guessing(scores), _gap(scores), _agreement(scores), _room(scores))
    return [sentence for sentence in said if sentence]


def _unmeasured(scores: Scores) -> str:
    if scores.held_out is not None or scores.training is None:
        return ""
    return (
        "How the map does on new answers was not measured. A score on the answers used to make it is always "
        "too hopeful."
    )


def _guessing(scores: Scores) -> str:
    least = scores.held_out if scores.held_out_low is None else scores.held_out_low
    if scores.held_out is None or least is None or least > 0.5:
        return ""
    return "This cannot be told apart from guessing, which satisfies 50 %."


def _gap(scores: Scores) -> str:
    if scores.held_out is None or scores.training is None or scores.training - scores.held_out <= _OVERFIT:
        return ""
    points = 100 * (scores.training - scores.held_out)
    return (
        f"It fits answers it has seen clearly better than new ones (a gap of {points:.0f} points): a sign of "
        "too few answers or too many dimensions."
    )


def _agreement(scores: Scores) -> str:
    if scores.ceiling is None:
        return "No repeated questions were measured, so how far people agree with each other is unknown."
    room = f"at most {percent(scores.ceiling)}"
    if scores.ceiling_low is not None:
        room = f"between {percent(scores.ceiling_low)} and {percent(scores.ceiling)}"
    return f"People are not fully consistent: going by repeated questions, the best possible map satisfies {room}."


def _room(scores: Scores) -> str:
    if scores.ceiling is None or scores.held_out is None:
        return ""
    least = scores.ceiling if scores.ceiling_low is None else scores.ceiling_low
    most = scores.held_out if scores.held_out_high is None else scores.held_out_high
    if most >= least:
        return "So this map is about as good as the answers allow."
    return f"So this map leaves at least {100 * (least - scores.held_out):.0f} points to be explained."


def scores_line(found: Findings) -> str:
    """The scores in one line; "" if there are none."""
    parts = []
    if found.training is not None:
        parts.append(f"{percent(found.training)} of the answers satisfied")
    held_out = found.cross_validation
    if held_out is not None:
        how = f"{held_out.n_folds}-fold cross-validation, {100 * held_out.level:g} % interval"
        parts.append(
            f"{percent(held_out.accuracy)} of held-out answers ({how} {interval(held_out.low, held_out.high)})"
        )
    if found.check is not None and found.check.noise_ceiling is not None:
        parts.append(f"noise ceiling {percent(found.check.noise_ceiling)}")
    return "; ".join(parts)


def judgement_lines(found: Judgement) -> str:
    """How well a map satisfies some answers, in a line or two."""
    weighted = ", by weight" if found.is_weighted else ""
    text = (
        f"{percent(found.accuracy)} satisfied{weighted}: {found.n_satisfied:,} of {found.n_comparisons:,} comparisons"
    )
    if found.log_loss is not None and found.calibration_error is not None:
        text += f"\nlog-loss {found.log_loss:.4f} (guessing: 0.6931)"
        text += f"; probabilities are off by {percent(found.calibration_error)} on average"
    return text


# The other parts of the report.


def map_sentence(n_objects: int, n_components: int) -> str:
    """How to read the map."""
    how = {
        1: "Objects close to each other on the line were judged similar.",
        2: "Objects close to each other were judged similar; directions and absolute size mean nothing.",
        3: "Drag to turn the map. Objects close to each other in space were judged similar.",
    }
    text = how.get(
        n_components,
        f"The map has {n_components} dimensions; two are shown at a time. Choose them here or in the pair plot below.",
    )
    return f"{count(n_objects, 'object', 'objects')}. {text}"


def dimensions_sentence(chosen: int | None) -> str:
    """What the chart of dimensions shows."""
    told = "How well maps of different dimension satisfy answers they have not seen. Bars are one standard error."
    return told if chosen is None else f"{told} The chosen dimension is marked: {chosen}."


def dimension_lines(found: DimensionSelection) -> str:
    """Accuracy by dimension as a small table, and the verdict."""
    lines = ["dimensions   held-out answers satisfied"]
    for d, mean, error in zip(found.dims.tolist(), found.accuracy.tolist(), found.accuracy_se.tolist()):
        mark = "   <- chosen" if d == found.chosen else ""
        lines.append(f"{d:>10}   {percent(mean)} ± {100 * error:.1f}{mark}")
    return "\n".join([*lines, found.verdict])


def learning_sentence() -> str:
    """What the learning curve shows."""
    return "Accuracy on answers not seen, by the number of answers used. The dashed part is extrapolated."


def convergence_sentence() -> str:
    """What the chart of the computation shows."""
    return "How the objective came down. A flat end means that the computation had finished."


def violations_sentence(n_violated: int, n_comparisons: int, n_unplaced: int) -> str:
    """How many answers the map contradicts."""
    told = f"The map contradicts {n_violated:,} of {count(n_comparisons, 'comparison', 'comparisons')}."
    if n_unplaced:
        told += f" {n_unplaced:,} more {'concerns' if n_unplaced == 1 else 'concern'} objects without a position."
    return told


def answer_sentence(objects: Sequence[str]) -> str:
    """What people said: (anchor, near, far), or (i, j, l, k) for "i and j are nearer to each other than l and k"."""
    if len(objects) == 3:
        return "{} is nearer to {} than to {}".format(*objects)
    return "{} and {} are nearer to each other than {} and {}".format(*objects)


def distances_sentence(near: float, far: float, width: float) -> str:
    """Two distances: their ratio, and each in percent of the map's width, since the scale of a map is arbitrary."""
    shares = [f"{100 * distance / width if width else 0:.3g}" for distance in (near, far)]
    told = f"({shares[0]} against {shares[1]} % of the map's width)"
    if near == far:
        return f"equally far {told}"
    if near >= 1000 * far:
        return f"much farther {told}"
    return f"{near / far:.3g} times as far {told}"


def check_facts(check: Mapping[str, Any]) -> dict[str, str]:
    """The numbers of a check of the answers that readers ask for, by name."""
    facts: dict[str, str] = {}
    if "n_comparisons" in check:
        facts["Comparisons"] = f"{check['n_comparisons']:,} {check.get('kind', '')}".strip()
    for reason, number in (check.get("dropped") or {}).items():
        facts[f"Left out: {reason}"] = f"{number:,}"
    if "n_objects" in check:
        facts["Objects"] = f"{check['n_objects']:,}"
    if check.get("unseen"):
        facts["Objects in no comparison"] = f"{len(check['unseen']):,}"
    if "n_questions" in check:
        facts["Distinct questions"] = f"{check['n_questions']:,}"
    if "n_repeated_questions" in check:
        facts["Asked more than once"] = f"{check['n_repeated_questions']:,}"
    if "contradictions" in check:
        facts["Answered both ways"] = f"{len(check['contradictions']):,}"
    if "components" in check:
        facts["Connected groups of objects"] = f"{len(check['components']):,}"
    if check.get("participants") is not None:
        people = check["participants"]
        doubtful = sum(bool(person.get("suspicious")) for person in people)
        facts["Participants"] = f"{len(people):,}, of whom {doubtful:,} disagree with the rest"
    return facts
