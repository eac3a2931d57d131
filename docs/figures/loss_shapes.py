"""The losses of one comparison, as the far object moves away while the near one stays at distance 1."""

from __future__ import annotations

import numpy as np
from _common import PALETTE, panels, save

from nearer.losses import get_loss, loss_names

far = np.linspace(0.0, 4.0, 400)
figure, (ax,) = panels(width=6.4)
for name, colour in zip(loss_names(), PALETTE):
    loss = get_loss(name).resolve(2)
    at_zero = float(loss.terms(0.0, 0.0)[0])  # in units of the loss with all points in one place
    ax.plot(far, loss.terms(np.ones_like(far), far**2)[0] / at_zero, color=colour, linewidth=1.8, label=name)
ax.axvline(1.0, color="#6b7280", linewidth=1, linestyle=":")
ax.text(1.04, 2.65, "both at the same distance", fontsize=8, color="#6b7280")
ax.set(
    xlabel="Distance to the far object (near object at 1)", ylabel="Loss (1: all points in one place)", ylim=(0, 2.8)
)
ax.legend(frameon=False)
save(figure, __file__)
