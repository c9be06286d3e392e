"""Reads values of a model's config.json, under whichever of their names they stand there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from floor.errors import FloorError

_MOST = 1 << 40  # of any number there
MOST_LAYERS = 1000  # the largest models have 126
INNER = ("text_config", "llm_config", "language_config")  # where models that also see or hear keep their language model


class Keys:
    """A config.json's values. `where` names it in errors."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    @property
    def family(self) -> str:
        """Its model_type. Raise FloorError where there is none."""
        return str(self.need("model_type", kind=str))

    def has(self, name: str) -> bool:
        """Whether it has a value that is not null."""
        return self.values.get(name) is not None

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """A value that is true or false."""
        found = self.values.get(name)
        return found if isinstance(found, bool) else otherwise

    def whole(self, *names: str, otherwise: int | None = None) -> int:
        """Return the first of these that is there, a number that is not negative. Raise FloorError without any."""
        for name in names:
            found = self.values.get(name)
            if found is None or found == []:
                continue
            if isinstance(found, list):  # some give the number of experts of each layer; one that is the same for all
                if len(set(map(str, found))) > 1:
                    raise FloorError(f"{self.where}: found {name} that differs between layers; this is not known")
                found = found[0]
            if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST:
                raise FloorError(f"{self.where}: found {found!r} for {name}; it is to be a whole number")
            return found
        if otherwise is None:
            raise FloorError(
                f"{self.where}: found none of {', '.join(names)}; without it the layout cannot be computed"
            )
        return otherwise

    def some(self, *names: str, otherwise: int | None = None) -> int:
        """Return what `whole` does. Raise FloorError for 0 as well."""
        found = self.whole(*names, otherwise=otherwise)
        if not found:
            raise FloorError(
                f"{self.where}: found 0 for {' or '.join(names)}; without it the layout cannot be computed"
            )
        return found

    def items(self, name: str) -> list[Any]:
        """Return a list, empty where there is none. Raise FloorError for what is no list."""
        found = self.values.get(name)
        if found is not None and not isinstance(found, list):
            raise FloorError(f"{self.where}: found {found!r} for {name}; it is to be a list")
        return found or []

    @property
    def layers(self) -> int:
        """How many layers it has. Raise FloorError for none, and for more than any model has."""
        found = self.whole("num_hidden_layers", "n_layers", "n_layer")
        return self.bounded(found)

    def bounded(self, layers: int) -> int:
        """Given how many layers there are, return it. Raise FloorError for none, and for more than any model has."""
        if not 1 <= layers <= MOST_LAYERS:
            raise FloorError(f"{self.where}: found {layers} layers; it is to be 1 to {MOST_LAYERS}")
        return layers

    def need(self, name: str, kind: type) -> Any:
        """Return a value of that type. Raise FloorError without it."""
        found = self.values.get(name)
        if not isinstance(found, kind):
            raise FloorError(f"{self.where}: found {found!r} for {name}; without it the layout cannot be computed")
        return found

    def texts(self, name: str) -> list[str] | None:
        """Return a list of texts, None where there is none."""
        found = self.values.get(name)
        if not isinstance(found, list):
            return None
        return [str(one) for one in found]


def language(values: Mapping[str, Any], where: str) -> Keys:
    """Given a config.json's values and its name, return those of its language model."""
    for name in INNER:
        inner = values.get(name)
        if isinstance(inner, Mapping) and inner:
            outer = {key: values[key] for key in ("model_type", "tie_word_embeddings") if key in values}
            return Keys({**outer, **inner}, f"{where}: {name}")
    return Keys(values, where)
