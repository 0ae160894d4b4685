"""Finds every English template in the source: what a complete catalogue has to translate.

Errors are calls of classes of the error tree with a text or an f-string, whose places become
{0}, {1}, ... in order, which is how the catalogues write them.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
ROOMS = ("isas", "compiler", "vm", "lab", "tui")
_SAYING = ("words", "say", "sentence")
"""Functions whose first argument is a template."""


@cache
def sources() -> tuple[tuple[Path, ast.Module], ...]:
    """Every file of the product, parsed."""
    paths = [path for room in ROOMS for path in sorted((TOP / room).rglob("*.py"))]
    gc.disable()  # it would walk over the growing trees again and again
    try:
        return tuple((path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths)
    finally:
        gc.enable()


@cache
def calls() -> tuple[tuple[Path, ast.Call], ...]:
    """Every call in the product."""
    return tuple(
        (path, node)
        for path, module in sources()
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
    )


@cache
def functions() -> tuple[tuple[ast.FunctionDef, tuple[ast.Call, ...]], ...]:
    """Every function of the product with the calls in it."""
    return tuple(
        (node, tuple(each for each in ast.walk(node) if isinstance(each, ast.Call)))
        for _, module in sources()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
    )


def template_of(node: ast.expr) -> list[str]:
    """The templates that an expression can give: constants, f-strings, both arms of a choice."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return template_of(node.body) + template_of(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return [_numbered(node)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = template_of(node.left), template_of(node.right)
        return [a + b for a in left for b in right]
    return []


def _numbered(node: ast.JoinedStr) -> str:
    text, count = "", 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value).replace("{", "{{").replace("}", "}}")
        else:
            text, count = f"{text}{{{count}}}", count + 1
    return text


@cache
def error_classes() -> set[str]:
    """Names of all classes of the error tree."""
    found = {"HobError"}
    bases: dict[str, set[str]] = {}
    for _, module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                names = {base.id for base in node.bases if isinstance(base, ast.Name)}
                bases.setdefault(node.name, set()).update(names)
    grown = True
    while grown:
        fresh = {name for name, above in bases.items() if above & found} - found
        grown = bool(fresh)
        found |= fresh
    return found


def error_templates() -> dict[str, Path]:
    """Messages and hints of errors, with the file that says them."""
    classes = error_classes()
    found: dict[str, Path] = {}
    for path, call in calls():
        if _name(call.func) in classes:
            for part in (*call.args[:1], *(k.value for k in call.keywords if k.arg == "hint")):
                found.update(dict.fromkeys(template_of(part), path))
    return {text: path for text, path in found.items() if any(c.isalpha() for c in text)}


def wrapped_templates() -> dict[str, Path]:
    """Texts given to functions that hand one of their parameters to an error as its message."""
    wrappers = _wrappers()
    found: dict[str, Path] = {}
    for path, call in calls():
        place = wrappers.get(_name(call.func))
        if place is not None:
            given = [k.value for k in call.keywords if k.arg == place[1]]
            for part in (*given, *call.args[place[0] : place[0] + 1]):
                found.update(dict.fromkeys(template_of(part), path))
    return {text: path for text, path in found.items() if any(c.isalpha() for c in text)}


def _wrappers() -> dict[str, tuple[int, str]]:
    """Functions by name: the place (behind self) and name of the parameter that is a message."""
    classes = error_classes()
    found: dict[str, tuple[int, str]] = {}
    known: set[str] = set(classes)
    for _ in range(3):
        for function, inside in functions():
            if function.name != "__init__":
                place = _message_parameter(function, inside, known, found)
                if place is not None:
                    found[function.name] = place
        known |= set(found)
    return found


def _message_parameter(
    function: ast.FunctionDef,
    inside: tuple[ast.Call, ...],
    known: set[str],
    found: dict[str, tuple[int, str]],
) -> tuple[int, str] | None:
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    for call in inside:
        if _name(call.func) in known and call.args:
            index = found.get(_name(call.func), (0, ""))[0]
            part = call.args[index] if index < len(call.args) else None
            if isinstance(part, ast.Name) and part.id in names:
                return names.index(part.id), part.id
    return None


NOTATION = frozenset({
    "compiler/buffers/svg.py", "compiler/buffers/text.py", "compiler/emit/assembly.py",
    "compiler/frontend/stablehlo/printing/structured.py", "compiler/hlo/rules/attributes.py",
    "compiler/hlo/text/tokens.py", "compiler/llvm/pipeline.py", "compiler/llvm/text.py",
    "compiler/llvm/types.py",
})  # fmt: skip
"""Files whose texts are notations, such as assembly, and lists of names."""
_PROSE = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")
_CODE = re.compile(r"hob |<|\.|  |.*%s")
"""Texts that are no prose: commands, markup, representations, lines for the log."""


def prose_templates() -> dict[str, Path]:
    """Every text of two words and more below the screens that is no docstring: reasons, errors and
    the parts that they are put together from. Texts whose places touch join optional parts."""
    found: dict[str, Path] = {}
    for path, module in sources():
        place = path.relative_to(TOP)
        if place.parts[0] != "tui" and place.as_posix() not in NOTATION:
            for text in _texts(module):
                is_prose = _PROSE.search(re.sub(r"\{\w*\}", "", text)) is not None
                if is_prose and not _CODE.match(text) and "}{" not in text:
                    found[text] = path
    return found


def _texts(module: ast.Module) -> Iterator[str]:
    """The text of every constant and f-string that is a value; statements of their own are
    docstrings, and what an f-string is made of is not looked at twice."""
    skipped = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(inner) for inner in ast.walk(node) if inner is not node}
        elif isinstance(node, ast.FunctionDef) and node.name == "__repr__":
            skipped |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in skipped:
            yield from template_of(node)


def word_templates() -> dict[str, Path]:
    """First arguments of calls that say a template."""
    found: dict[str, Path] = {}
    for path, call in calls():
        if _name(call.func) in _SAYING and call.args:
            found.update(dict.fromkeys(template_of(call.args[0]), path))
    return found


def decision_templates() -> dict[str, Path]:
    """What `template` properties return."""
    found: dict[str, Path] = {}
    for path, module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.FunctionDef) and node.name == "template":
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and each.value is not None:
                        found.update(dict.fromkeys(template_of(each.value), path))
    return found


def option_helps() -> dict[str, Path]:
    """Help texts of the command line: of options, arguments and commands, each on one line."""
    found: dict[str, Path] = {}
    for path, module in sources():
        if "commands" not in path.parts:
            continue
        for text in keyword_templates_in(module, "help"):
            found[" ".join(text.split())] = path
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and _is_command(path, node):
                found[" ".join((ast.get_docstring(node) or "").split())] = path
    return found


def keyword_templates_in(module: ast.Module, name: str) -> Iterator[str]:
    """Texts given to one keyword in a file."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg == name:
                    yield from template_of(keyword.value)


def _is_command(path: Path, node: ast.FunctionDef) -> bool:
    return path.stem != "main" and (node.name == path.stem or node.name in ("check", "_isa"))


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
