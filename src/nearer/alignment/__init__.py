"""How well models, such as networks or maps, predict people's answers."""

from nearer.alignment.align import Alignment, Difference, ModelScore, align
from nearer.alignment.object_models import Distances, Features, ObjectModel, Similarities, read_model
from nearer.alignment.transform import Gain

__all__ = [
    "Alignment", "Difference", "Distances", "Features", "Gain", "ModelScore", "ObjectModel", "Similarities", "align",
    "read_model",
]  # fmt: skip
