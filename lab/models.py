"""Programs by name: a file of HLO text, or `model.py:function` with the shapes of its arguments.

A function of a Python file is imported, traced by JAX or PyTorch, and becomes a module like any
other. Whatever the file raises is reported with the line of the file where it happened.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from compiler.hlo.module import Module
from isas.errors import HobError, InputError
from lab import arrays, road
from lab.argument_shapes import Tree, read_argument

EXAMPLE = "hob run model.py:function --args 'f32[8,128]' 'f32[128]'"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A module, and the arrays that its last parameters always take (a model's weights)."""

    module: Module
    weights: tuple[np.ndarray, ...] = ()

    def data(self, path: str | Path | None = None, seed: int = 0) -> road.Data:
        """The arrays of an npz file (or seeded ones), followed by the weights unless the file holds
        those too."""
        shapes = arrays.parameter_shapes(self.module)
        free = len(shapes) - len(self.weights)
        if path is None:
            drawn = arrays.seeded_inputs(self.module, seed)[:free]
            return road.Data((*drawn, *self.weights))
        found = arrays.read_npz(path)
        inputs = arrays.numbered(found, "in", str(path))
        if not self.weights or len(inputs) != free:
            return road.read_data(self.module, path)
        given = arrays.checked(inputs, shapes[:free], "in", str(path))
        expected = arrays.numbered(found, "out", str(path))
        results = road.flat_results(self.module)
        checked = arrays.checked(expected, results, "out", str(path)) if expected else None
        return road.Data((*given, *self.weights), checked)


def is_python(name: str) -> bool:
    """True of a Python file and of something in one."""
    return name.endswith(".py") or name.rpartition(":")[0].endswith(".py")


def load_program(name: str, shapes: Sequence[str] = ()) -> Program:
    """The program in a file, or the traced function of `FILE.py:NAME`.

    `shapes` are the argument shapes of such a function, as in HLO text, or trees of them
    (`{w: f32[8,4], b: f32[4]}`). Raises InputError for what
    does not exist or does not fit, with file and line where the file itself fails.
    """
    file, colon, function = name.rpartition(":")
    if colon and is_python(file):
        return _traced(Path(file), function, [read_argument(text) for text in shapes])
    if is_python(name):
        raise InputError("names no function of the file", where=name, hint=f"write {EXAMPLE}")
    if shapes:
        raise InputError(
            "only functions of Python files take shapes; the program has its own",
            where="--args", hint=f"write {EXAMPLE}",
        )  # fmt: skip
    return Program(road.load(name))


def _traced(path: Path, name: str, shapes: Sequence[Tree]) -> Program:
    found = find(import_file(path), name, path)
    with blamed_on(path):
        if _is_torch_model(found):
            from lab.torch_models import export

            return export(found, shapes, f"{path}:{name}")
        return _trace_jax(found, shapes, f"{path}:{name}")


def _trace_jax(found: Any, shapes: Sequence[Tree], place: str) -> Program:
    from compiler.frontend import jax as frontend
    from lab.jit import Jitted
    from lab.jit_stages import refuse_callbacks

    function = found.function if isinstance(found, Jitted) else found
    if not callable(function):
        raise InputError(f"is a {type(found).__name__}, not a function", where=place)
    frontend.check_count(function, shapes, place)
    return Program(refuse_callbacks(frontend.trace_shapes(function, shapes).module))


def _is_torch_model(found: Any) -> bool:
    """True of torch.nn.Module classes and instances, and of functions whose file uses PyTorch and
    not JAX. PyTorch is not imported to find out."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    module = torch.nn.Module
    if isinstance(found, module) or (isinstance(found, type) and issubclass(found, module)):
        return True
    names = getattr(found, "__globals__", {}).values()
    used = {value.__name__.partition(".")[0] for value in names if isinstance(value, ModuleType)}
    return "torch" in used and "jax" not in used


def import_file(path: Path) -> ModuleType:
    """The Python module in a file, imported under a name of its own. Raises InputError with the
    line where the import fails."""
    if not path.is_file():
        raise InputError("no such file", where=str(path))
    name = f"hob_program_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InputError("is not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    sys.modules[name] = module
    sys.path.insert(0, folder)
    with blamed_on(path):
        spec.loader.exec_module(module)
    return module


def find(module: ModuleType, name: str, path: Path) -> Any:
    """What a dotted name stands for in a module. Raises InputError with the names there are."""
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = (n for n, v in vars(module).items() if callable(v) and not n.startswith("_"))
            known = ", ".join(sorted(names)) or "none"
            raise InputError(f"has no '{name}'; functions and classes: {known}", where=str(path))
        found = getattr(found, part)
    return found


@contextmanager
def blamed_on(path: Path) -> Iterator[None]:
    """Turns whatever the user's code raises into InputError with its file and line; what it prints
    goes to standard error, out of the way of reports."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except HobError:
        raise
    except SyntaxError as error:
        place = f"{error.filename or path}:{error.lineno or 1}"
        raise InputError(f"SyntaxError: {error.msg}", where=place) from None
    except (Exception, SystemExit) as error:
        raise InputError(_told(error), where=_place(error, path)) from None


def _told(error: BaseException) -> str:
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _place(error: BaseException, path: Path) -> str:
    """The deepest line of the user's file on the way to an error."""
    target = path.resolve()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).resolve() == target:
            return f"{path}:{frame.lineno}"
    return str(path)
