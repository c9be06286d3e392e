"""What the model looks like: which keys there are at a path, and what each of them is for."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from floor.config.model import Config
from floor.config.problem import KeyPath
from floor.config.values import Says

ANY = "*"  # stands for a name under boxes or models, and for an item of a list


def part(annotation: Any) -> Any:
    """Given a field's annotation, return it bare: a model, dict[...], list[...] or a plain type."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        some = [choice for choice in get_args(annotation) if choice is not type(None)]
        return part(some[0]) if len(some) == 1 else annotation
    return annotation


def is_model(annotation: Any) -> bool:
    """Given a type, tell whether it is a part of the configuration with keys of its own."""
    return inspect.isclass(annotation) and issubclass(annotation, BaseModel)


def at(path: KeyPath) -> Any:
    """Given a path, return the type that belongs there, Any where the model holds none."""
    here: Any = Config
    for key in path:
        if is_model(here) and key in here.model_fields:
            here = part(here.model_fields[key].annotation)
        elif get_origin(here) in (dict, list):
            here = part(get_args(here)[-1])
        else:
            return Any
    return here


def keys(path: KeyPath) -> list[str]:
    """Given a path, return the keys that the model knows there; none where any key can stand."""
    here = at(path)
    return list(here.model_fields) if is_model(here) else []


def write(path: KeyPath) -> str:
    """Given the path of a value, return what an error tells to write there."""
    parent, here = at(path[:-1]), at(path)
    said: tuple[Any, ...] = ()
    if is_model(parent) and path[-1] in parent.model_fields:
        field = parent.model_fields[path[-1]]
        said = (*field.metadata, *_inner(field.annotation))
    elif get_origin(parent) in (dict, list):
        said = tuple(_inner(get_args(parent)[-1]))
    for one in said:
        if isinstance(one, Says):
            return one.text
    if is_model(here) or get_origin(here) is dict:
        return "keys with their values below it"
    if get_origin(here) is list:
        return "a list, such as [a, b]"
    return "a value of another kind"


def _inner(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
    elif get_origin(annotation) in (Union, UnionType):
        for choice in get_args(annotation):
            yield from _inner(choice)


@cache
def sayings(model: type[BaseModel]) -> dict[str, str]:
    """Given a part's class, return the text that stands below each of its fields in the source.

    Read only for documents: pydantic's own use_attribute_docstrings costs every command 20 ms.
    """
    [body] = [
        node for node in ast.parse(textwrap.dedent(inspect.getsource(model))).body if isinstance(node, ast.ClassDef)
    ]
    found = {}
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            found[field.target.id] = " ".join(str(ast.literal_eval(text.value)).split())
    return found


def fields(model: type[BaseModel] = Config, path: KeyPath = ()) -> Iterator[tuple[KeyPath, FieldInfo, type[BaseModel]]]:
    """Given a part's class and its path, yield each option below it: path (with ANY for names), field, its class."""
    for name, field in model.model_fields.items():
        yield (*path, name), field, model
        here, below = part(field.annotation), (*path, name)
        while get_origin(here) in (dict, list):
            here, below = part(get_args(here)[-1]), (*below, ANY)
        if is_model(here):
            yield from fields(here, below)
