"""Which loss finds the truth best: answers turned around at random, and answers that are hard where it is close."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save, write_table

from nearer import Comparisons, OrdinalEmbedding
from nearer.losses import loss_names

N, D, ANSWERS, REPEATS = 60, 3, 4_000, 6
LEVELS = {"at random": (0.0, 0.1, 0.2, 0.3), "where it is close": (0.0, 0.15, 0.3, 0.6)}


def hesitating(points: np.ndarray, spread: float, rng: np.random.Generator) -> Comparisons:
    """Answers of somebody who sees each distance a little wrong: a factor of exp(spread * normal)."""
    true = Comparisons.from_points(points, ANSWERS, random_state=rng)
    i, j, k = true.index.T
    near, far = (np.linalg.norm(points[i] - points[o], axis=1) for o in (j, k))
    seen_near, seen_far = (distance * np.exp(spread * rng.normal(size=ANSWERS)) for distance in (near, far))
    return true.flipped(seen_near > seen_far)


def study(kind: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Fraction of true answers to new questions, (levels, repeats) for each loss; and of wrong answers given."""
    found = {name: np.empty((len(LEVELS[kind]), REPEATS)) for name in loss_names()}
    wrong = np.empty((len(LEVELS[kind]), REPEATS))
    for repeat in range(REPEATS):
        for row, level in enumerate(LEVELS[kind]):
            rng = np.random.default_rng([repeat, row])
            points = rng.normal(size=(N, D))
            if kind == "at random":
                answers = Comparisons.from_points(points, ANSWERS, random_state=rng, noise=level)
            else:
                answers = hesitating(points, level, rng)
            i, j, k = answers.index.T
            wrong[row, repeat] = np.mean(
                np.linalg.norm(points[i] - points[j], axis=1) > np.linalg.norm(points[i] - points[k], axis=1)
            )
            test = Comparisons.from_points(points, 20_000, random_state=rng)
            for name in loss_names():
                model = OrdinalEmbedding(D, loss=name, n_init=2, random_state=repeat).fit(answers)
                found[name][row, repeat] = model.score(test)
    return found, wrong.mean(axis=1)


figure, axes = panels(2, width=4.6, sharey=True)
rows = []
for ax, kind in zip(axes, LEVELS):
    found, wrong = study(kind)
    for name, colour in zip(found, PALETTE):
        mean, half = found[name].mean(axis=1), found[name].std(axis=1, ddof=1) / np.sqrt(REPEATS)
        ax.errorbar(100 * wrong, 100 * mean, 100 * half, color=colour, marker="o", markersize=4, capsize=2, label=name)
    ax.set(title=f"Wrong {kind}", xlabel="Wrong answers, %")
    for row, share in enumerate(wrong):
        cells = [f"{100 * found[name][row].mean():.1f}" for name in found]
        rows.append([f"{kind}, {100 * share:.0f} % wrong" if share else f"{kind}: none wrong", *cells])
axes[0].set_ylabel("True answers to new questions, %")
axes[0].legend(frameon=False)
save(figure, __file__)
write_table(__file__, ["answers", *loss_names()], rows)
