"""Which question is asked: random and balanced, with a known answer, or again."""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from nearer.collect.study import Questions, n_questions

_T = TypeVar("_T")


@dataclass(frozen=True)
class Asked:
    """A question that can be handed out."""

    items: tuple[int, ...]  # numbers of the objects: the head (not for "odd"), then the options from left to right
    key: str  # the same for the same question in another order
    chosen_by: str  # "random", "catch", "repeat", or the name of a strategy
    expected: int | None = None  # the right option of a catch question


def parted(kind: str, items: Sequence[_T]) -> tuple[list[_T], list[_T]]:
    """The head of a question, in a list ("odd" has none), and its options."""
    start = 0 if kind == "odd" else 1
    return list(items[:start]), list(items[start:])


def question_key(kind: str, items: Sequence[int], catch: bool = False) -> str:
    """A text that two questions share if they ask the same; those with a known answer do not count among the others."""
    head, options = parted(kind, items)
    return ("c" if catch else kind[0]) + "-".join(map(str, head + sorted(options)))


class Deck:
    """Deals objects so that each comes as often as any other, up to one."""

    def __init__(self, cards: Sequence[int], rng: random.Random):
        self._cards, self._rng = list(cards), rng
        self._left: list[int] = []

    def deal(self, without: Sequence[int] = ()) -> int:
        """The next object that is not among `without`."""
        for spot in range(len(self._left) - 1, -1, -1):
            if self._left[spot] not in without:
                return self._left.pop(spot)
        # All cards left are excluded: they stay on top of the next pack.
        fresh = list(self._cards)
        self._rng.shuffle(fresh)
        self._left = fresh + self._left
        return self.deal(without)


class Dealer:
    """Makes questions about the objects of a study, given by number.

    `catches` are the study's own catch questions, as numbers: head, right, wrong, or with the odd one last.
    """

    def __init__(
        self,
        asked: Questions,
        numbers: Sequence[int],
        catches: Sequence[tuple[int, ...]] = (),
        seed: int | None = None,
    ):
        self.asked, self.numbers, self.catches = asked, list(numbers), list(catches)
        self.rng = random.Random(seed)
        self._heads, self._options = Deck(self.numbers, self.rng), Deck(self.numbers, self.rng)

    def random(self) -> Asked:
        """A question in which every object is as likely as any other, and comes as often."""
        items = [] if self.asked.kind == "odd" else [self._heads.deal()]
        return self.shown(self._with_options(items), "random")

    def other_than(self, keys: set[str]) -> Asked | None:
        """A random question whose key is not among `keys`: slow and sure, for studies that ask nearly everything."""
        asked, left = self.asked, []
        if n_questions(asked, len(self.numbers)) > 2 * asked.number + len(keys):
            return self.random()
        for head in [None] if asked.kind == "odd" else self.numbers:
            others = [number for number in self.numbers if number != head]
            for options in itertools.combinations(others, asked.n_shown):
                items = options if head is None else (head, *options)
                if question_key(asked.kind, items) not in keys:
                    left.append(items)
        return self.shown(self.rng.choice(left), "random") if left else None

    def catch(self, seen: Collection[str] = ()) -> Asked | None:
        """A question with a known answer; of the study's own, one that is not among the keys `seen`, or None."""
        odd = self.asked.kind == "odd"
        if self.catches:
            left = [row for row in self.catches if question_key(self.asked.kind, row, catch=True) not in seen]
            if not left:
                return None
            items = list(self.rng.choice(left))
        else:
            head = self._heads.deal()
            items = [head, head, self._options.deal([head])] if odd else self._with_options([head, head])
        right = items[2 if odd else 1]
        made = self.shown(items, "catch")
        return replace(made, expected=parted(self.asked.kind, made.items)[1].index(right))

    def _with_options(self, items: list[int]) -> list[int]:
        while len(items) < self.asked.n_items:
            items.append(self._options.deal(items))
        return items

    def shown(self, items: Sequence[int], chosen_by: str) -> Asked:
        """A question about some objects, the head first; its options change places."""
        head, options = parted(self.asked.kind, items)
        self.rng.shuffle(options)
        shown = (*head, *options)
        return Asked(shown, question_key(self.asked.kind, shown, chosen_by == "catch"), chosen_by)


def plan(asked: Questions, total: int, seed: str) -> list[str]:
    """What each question of a participant is: "random", "repeat", "catch" or "ready" (chosen by the answers so far).

    The same seed gives the same plan, on any server.
    """
    rng = random.Random(seed)
    slots = ["random"] * total
    # The first questions are plain ones: nobody is on guard, or bored, yet.
    later = list(range(min(2, total - 1), total))
    special = rng.sample(later, min(len(later), asked.catch + asked.repeats))
    for number, spot in enumerate(special):
        slots[spot] = "catch" if number < asked.catch else "repeat"
    if asked.adaptive:
        for spot, slot in enumerate(slots):
            if slot == "random" and rng.random() >= asked.random_share:
                slots[spot] = "ready"
    return slots
