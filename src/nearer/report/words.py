"""Sentences that say what the numbers mean, for readers who did not make the map."""

from __future__ import annotations

from nearer.report.data import Scores

__all__ = ["PERCENT", "count", "fit_sentences", "headline", "percent"]

# Accuracy points beyond which seen and unseen answers count as clearly different.
_OVERFIT = 0.05
PERCENT = "\u00a0%"


def percent(fraction: float) -> str:
    """0.912 as "91.2 %" with a space that does not break; never rounds up to a perfect score nor down to none."""
    if 0 < fraction < 0.0005:
        return f"under 0.1{PERCENT}"
    if 0.9995 <= fraction < 1:
        return f"over 99.9{PERCENT}"
    text = f"{100 * fraction:.1f}"
    return f"{text.removesuffix('.0') if fraction in (0, 1) else text}{PERCENT}"


def count(number: float, one: str, many: str) -> str:
    """`count(1200, "answer", "answers")` is "1,200 answers"."""
    return f"{number:,.0f} {one if number == 1 else many}"


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
    out: list[str] = []
    held, low, high = scores.held_out, scores.held_out_low, scores.held_out_high
    if held is None:
        if scores.training is not None:
            out.append(
                "How the map does on new answers was not measured. A score on the answers used to make it is always "
                "too hopeful."
            )
    else:
        if held <= 0.5 or (low is not None and low <= 0.5):
            out.append("This cannot be told apart from guessing, which satisfies 50" + PERCENT + ".")
        if scores.training is not None and scores.training - held > _OVERFIT:
            points = 100 * (scores.training - held)
            out.append(
                f"It fits answers it has seen clearly better than new ones (a gap of {points:.0f} points): a sign of "
                "too few answers or too many dimensions."
            )
    out += _ceiling_sentences(scores, held, high)
    return out


def _ceiling_sentences(scores: Scores, held: float | None, high: float | None) -> list[str]:
    if scores.ceiling is None:
        return ["No repeated questions were measured, so how far people agree with each other is unknown."]
    if scores.ceiling_low is None:
        room = f"at most {percent(scores.ceiling)}"
        least = scores.ceiling
    else:
        room = f"between {percent(scores.ceiling_low)} and {percent(scores.ceiling)}"
        least = scores.ceiling_low
    out = [f"People are not fully consistent: going by repeated questions, the best possible map satisfies {room}."]
    if held is not None:
        if (high if high is not None else held) >= least:
            out.append("So this map is about as good as the answers allow.")
        else:
            out.append(f"So this map leaves at least {100 * (least - held):.0f} points to be explained.")
    return out
