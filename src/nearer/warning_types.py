"""Categories of warnings, so that a filter need not know their wording. Imports nothing."""

from __future__ import annotations


class InputWarning(UserWarning):
    """Something in the input is probably not what was intended, or does not suffice for what was asked."""


class UnseenObjectsWarning(UserWarning):
    """Objects occur in no comparison, so the map has no place for them."""


class UnplacedObjectsWarning(UserWarning):
    """Objects without a place on the map are named, and left out."""


class ConvergenceWarning(UserWarning):
    """The solver diverged or did not move, so that the map should not be used."""


class ReproducibilityWarning(UserWarning):
    """A file does not hold everything needed to repeat or resume a fit exactly."""
