"""Parameters by name, as scikit-learn asks for them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import fields, replace
from typing import Any, TypeVar

__all__ = ["Parameters"]

Self = TypeVar("Self", bound="Parameters")


class Parameters:
    """Base of dataclasses whose fields are parameters.

    With it an estimator that holds a solver can be cloned, and a search can reach ``solver__max_epochs`` and
    ``solver__step__epsilon``.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Also those of parameters that have some themselves, as ``name__inner``.
        """
        params = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Parameters):
                    params |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return params

    def set_params(self: Self, **params: Any) -> Self:
        """Change parameters by name.

        Parameters
        ----------
        **params : Any
            New values; ``name__inner=value`` changes a parameter of a parameter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            A name is not known, or the constructor refuses a value.
        """
        values = self.get_params(deep=False)
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in values:
                owner = type(self).__name__
                raise ValueError(f"{owner}: got parameter {name!r}, expected one of: {', '.join(values)}")
            if inner:
                nested[name][inner] = value
            else:
                values[name] = value
        for name, own in nested.items():
            if not isinstance(values[name], Parameters):
                names = ", ".join(f"{name}__{inner}" for inner in own)
                raise ValueError(f"{type(self).__name__}: got {names}, but {name} is {values[name]!r}")
            values[name].set_params(**own)
        replace(self, **values)  # type: ignore[type-var]  # refuses what the constructor refuses, before any change
        for name, value in values.items():
            setattr(self, name, value)
        return self
