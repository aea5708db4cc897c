"""The stub of warploom._core names what the module has, with the parameters it has."""
from __future__ import annotations

import ast
import pathlib
import re

import pytest

from warploom import _core

STUB = pathlib.Path(__file__).parents[2] / "python" / "warploom" / "_core.pyi"


def declared():
    """Public names of the stub: functions and classes with their members, each with its AST."""
    names = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names[node.name] = node
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    names[f"{node.name}.{member.name}"] = member
    return names


def present():
    names = set()
    for name, value in vars(_core).items():
        if name.startswith("__") or name == "version":
            continue
        names.add(name)
        if isinstance(value, type) and value is not _core.Error:
            names |= {f"{name}.{member}" for member in vars(value) if not member.startswith("__")}
    return names


def test_stub_and_module_have_the_same_names():
    if not STUB.exists():
        pytest.skip("the tests of an installed package have no stub beside them")
    stub = {name for name in declared() if ".__" not in name}
    assert stub == present()


def test_stub_and_module_have_the_same_parameters():
    compared = 0
    for name, node in declared().items():
        if not isinstance(node, ast.FunctionDef) or any(ast.unparse(d) == "property" for d in node.decorator_list):
            continue
        owner = _core
        for part in name.split("."):
            owner = getattr(owner, part)
        signature = getattr(owner, "__nb_signature__", None)
        if signature is None:
            continue
        text = signature[0][0]
        inside = text[text.index("(") + 1:text.rindex(")")] if "->" not in text else re.search(
            r"\((.*)\) ->", text, re.S).group(1)
        module = [part.split(":")[0].strip() for part in re.split(r",(?![^\[]*\])", inside)]
        stub = [a.arg for a in node.args.args] + (["*"] if node.args.kwonlyargs else [])
        stub += [a.arg for a in node.args.kwonlyargs]
        assert [part for part in module if part and part != "/"] == stub, name
        compared += 1
    assert compared > 20
