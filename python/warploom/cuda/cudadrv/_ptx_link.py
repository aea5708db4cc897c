"""Linking of PTX texts into one: declarations meet definitions, names and files of different texts stay apart."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Set, Tuple

# What the device itself provides to kernels.
PROVIDED = frozenset(("vprintf", "malloc", "free", "__assertfail", "__assert_fail"))

_FUNCTION = re.compile(r"\.(?:func|entry)\b\s*(?:\.noreturn\s*)?(?:\((?:[^()]|\([^()]*\))*\)\s*)?([A-Za-z_$%][\w$]*)")
_VARIABLE = re.compile(r"\.(?:global|const|shared|local)\b[^={;]*?([A-Za-z_$%][\w$]*)\s*(?:\[[^;={]*)?\s*[=;]")
_VARIABLE_HEAD = re.compile(r"(?:\.(?:visible|weak|extern|common)\s+)?\.(?:global|const|shared|local)\b")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_ONE_LINE = (".version", ".target", ".address_size", ".file")


class _Item(NamedTuple):
    """One declaration, definition or directive of module scope."""

    kind: str  # version, target, address_size, file, function, variable, section, other
    name: str
    linkage: str  # visible, weak, extern, common or empty
    defined: bool
    text: str


class LinkFailure(Exception):
    """Texts that do not fit together; the message says where."""


def _skip_blank(text: str, at: int) -> int:
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end + 1
        elif text.startswith("/*", at):
            end = text.find("*/", at)
            at = len(text) if end < 0 else end + 2
        else:
            break
    return at


def _end_of_item(text: str, at: int) -> int:
    """One past the end of the item that begins at ``at``."""
    depth = 0
    variable = bool(_VARIABLE_HEAD.match(text, at))
    while at < len(text):
        c = text[at]
        if c == '"':
            at = text.find('"', at + 1)
            if at < 0:
                raise LinkFailure("a string in PTX has no end")
        elif text.startswith("//", at):
            at = text.find("\n", at)
            if at < 0:
                break
        elif text.startswith("/*", at):
            at = text.find("*/", at)
            if at < 0:
                break
            at += 1
        elif c in "({":
            depth += 1
        elif c in ")}":
            depth -= 1
            if depth == 0 and c == "}" and not variable:
                return at + 1
        elif c == ";" and depth == 0:
            return at + 1
        at += 1
    raise LinkFailure("the PTX text ends within a declaration")


def parse(text: str) -> List[_Item]:
    """The items of module scope, in order."""
    items = []
    at = _skip_blank(text, 0)
    while at < len(text):
        directive = next((one for one in _ONE_LINE if text.startswith(one, at)), None)
        if directive:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            items.append(_Item(directive[1:], "", "", True, text[at:end].strip()))
        else:
            end = _end_of_item(text, at)
            items.append(_item(text[at:end]))
        at = _skip_blank(text, end)
    return items


def _item(text: str) -> _Item:
    head = text.split("{", 1)[0]
    linkage = re.match(r"\.(visible|weak|extern|common)\b", text)
    linked = linkage.group(1) if linkage else ""
    if text.startswith(".section"):
        return _Item("section", "", "", True, text)
    if re.match(r"(?:\.\w+\s+)?\.(?:func|entry)\b", text):
        found = _FUNCTION.search(head)
        if found is None:
            raise LinkFailure("a function without a name: %s" % head.strip()[:80])
        return _Item("function", found.group(1), linked, "{" in text, text)
    if re.match(r"(?:\.\w+\s+)?\.(?:global|const|shared|local)\b", text):
        found = _VARIABLE.search(head if head.rstrip().endswith((";", "=")) else head + ";")
        if found is None:
            raise LinkFailure("a variable without a name: %s" % head.strip()[:80])
        return _Item("variable", found.group(1), linked, linked != "extern", text)
    return _Item("other", "", "", True, text)


def _number(text: str) -> Tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def link(texts: List[Tuple[str, str]]) -> str:
    """One PTX text from several, given as (name for messages, text); the first one's target is kept.

    Raises LinkFailure for names that are defined twice (weak ones may be) and for functions that none defines.
    """
    modules = [(name, parse(text)) for name, text in texts]
    definitions: Dict[str, Tuple[int, str]] = {}
    for number, (name, items) in enumerate(modules):
        for item in items:
            if item.kind not in ("function", "variable") or not item.defined or not item.linkage:
                continue
            known = definitions.get(item.name)
            if known is None or (known[1] == "weak" and item.linkage != "weak"):
                definitions[item.name] = (number, item.linkage)
            elif item.linkage not in ("weak", "common"):
                raise LinkFailure("Multiple definition of '%s' in '%s', first defined in '%s'"
                                  % (item.name, name, modules[known[0]][0]))
    taken: Set[str] = set(definitions)
    header = _header(modules)
    files: List[str] = []
    forward: Dict[str, str] = {}
    variables: List[str] = []
    functions: List[str] = []
    shared: Set[str] = set()
    for number, (name, items) in enumerate(modules):
        renamed: Dict[str, str] = {}
        for item in items:
            if item.kind in ("function", "variable") and not item.linkage:
                new = item.name
                while new in taken:
                    new = "%s__%d" % (item.name, number) if new == item.name else new + "_"
                taken.add(new)
                if new != item.name:
                    renamed[item.name] = new
        first_file = len(files)
        for item in items:
            if item.kind == "file":
                files.append(re.sub(r"^\.file\s+\d+", ".file %d" % (len(files) + 1), item.text))
                continue
            if item.kind in ("version", "target", "address_size") or (item.kind == "section" and len(modules) > 1):
                continue
            text = item.text
            if item.kind in ("function", "variable") and item.linkage:
                if not item.defined:
                    owner = definitions.get(item.name)
                    if owner is not None:
                        if item.kind == "function":
                            forward[item.name] = re.sub(r"^\.(extern|weak|visible)\b", ".%s" % owner[1], text)
                        continue
                    if item.kind == "function" and item.linkage == "extern" and item.name not in PROVIDED:
                        raise LinkFailure("Undefined reference to '%s' in '%s'" % (item.name, name))
                    if item.name in shared:
                        continue
                    shared.add(item.name)
                elif definitions[item.name][0] != number:
                    continue
            # Variables come first, since functions of an earlier text may use them.
            (variables if item.kind == "variable" else functions).append(_adapted(text, renamed, first_file))
    order = [header, "\n".join(files), "\n".join(variables), "\n".join(forward.values()), "\n\n".join(functions)]
    return "\n\n".join(part for part in order if part) + "\n"


def _header(modules: List[Tuple[str, List[_Item]]]) -> str:
    version, target = ".version 7.0", ".target sm_70"
    for number, (_, items) in enumerate(modules):
        for item in items:
            if item.kind == "version" and _number(item.text) > _number(version):
                version = item.text
            if item.kind == "target" and number == 0:
                target = item.text
    return "%s\n%s\n.address_size 64" % (version, target.replace(", debug", "") if len(modules) > 1 else target)


def _adapted(text: str, renamed: Dict[str, str], first_file: int) -> str:
    """The text with its own names and file numbers changed to those of the whole."""
    if renamed:
        text = _IDENTIFIER.sub(lambda found: renamed.get(found.group(0), found.group(0)), text)
    if first_file:
        text = re.sub(r"((?:\.loc|inlined_at)\s+)(\d+)",
                      lambda found: found.group(1) + str(int(found.group(2)) + first_file), text)
    return text


def undefined(text: str) -> Optional[str]:
    """The first function that a PTX text calls and neither it nor the device defines, or None."""
    items = parse(text)
    defined = {item.name for item in items if item.kind == "function" and item.defined} | PROVIDED
    return next((item.name for item in items if item.kind == "function" and item.name not in defined), None)
