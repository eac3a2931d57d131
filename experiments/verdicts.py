"""The claims of the paper and what became of each, by the rule in `experiments.decision`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from experiments import claims_retrieval as retrieval
from experiments import claims_synthetic as synthetic
from experiments.decision import Case, verdict

Folder = Callable[[str], Path]
"""Gives the results of an experiment."""
Rule = Callable[[Folder], tuple[list[Case], str]]
"""The cases of a claim that an experiment decides, and a sentence with its figures."""


@dataclass(frozen=True)
class Claim:
    """A claim in the paper's words, and the rules that look for its cases."""

    name: str
    words: str
    rules: tuple[Rule, ...]


CLAIMS = (
    Claim("C1", "SBB_0's steps vary dramatically, SBB_ε's only at first; "
          "SBB_0 is unstable in the initial epochs, then stable.", (synthetic.step_sizes,)),
    Claim("C2", "Stochastic methods beat batch in the initial epochs.", (synthetic.first_epochs,)),
    Claim("C3", "SBB_ε converges fastest and achieves almost the best generalisation error.", (synthetic.fastest,)),
    Claim("C4", "The speed-up of SBB_ε over SVRG is about 4 times for all three models.", (synthetic.four_times,)),
    Claim("C5", "Convex methods could be effective when n is small.", (synthetic.convex_scaling,)),
    Claim("C6", "SBB gives superior MAP and Precision@40 at 0, 5, 10 % noise.", (retrieval.best_retrieval,)),
    Claim("C7", "SBB_ε gives superior Recall@K at 10 % noise.", (retrieval.best_recall,)),
    Claim("C8", "SBB steps keep their bounds; SVRG-SBB converges at a rate of O(1/T).", (synthetic.theory,)),
    Claim("C9", "The non-convex form beats the convex one in accuracy.",
          (synthetic.non_convex, retrieval.non_convex, retrieval.non_convex_on_music)),
    Claim("C10", "SBB_0 and SBB_ε end almost the same for all three models.", (synthetic.same_end,)),
    Claim("C11", "With small noise all methods achieve reasonable retrieval results.", (retrieval.reasonable,)),
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """A claim, what became of it, and what decided it."""

    claim: Claim
    verdict: str
    cases: list[Case]
    figures: str


def judge_all(folder: Folder) -> list[Verdict]:
    """Verdicts on all claims, from the tables there are; a claim without any is not judged."""
    return [_judge(claim, folder) for claim in CLAIMS]


def _judge(claim: Claim, folder: Folder) -> Verdict:
    cases: list[Case] = []
    figures: list[str] = []
    for rule in claim.rules:
        try:
            found, told = rule(folder)
        except FileNotFoundError:
            continue
        cases += found
        figures.append(told)
    return Verdict(claim, verdict(cases), cases, " ".join(figures))


def tally(cases: list[Case]) -> str:
    """How many cases come out as the claim says, and how all of them come out."""
    counts = ", ".join(f"{count} {outcome}" for outcome, count in Counter(case.outcome for case in cases).items())
    return f"{sum(case.as_claimed for case in cases)} of {len(cases)} as claimed ({counts})"
