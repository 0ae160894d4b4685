"""The backend itself: on machines, its settings, what it refuses and how it says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hob
from isas.errors import InputError
from lab.models import load_program

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from tests.frontend_torch.harness import as_list, close  # noqa: E402

nn = torch.nn
REFUSED = torch._dynamo.exc.BackendCompilerFailed


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(2)


@pytest.mark.parametrize("machine", ["x86/zen3", "arm/cortex-a53", "simt/volta"])
def test_a_model_trains_on_a_machine(machine: str) -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
    backend = hob.TorchBackend(machine=machine)
    compiled, x = torch.compile(model, backend=backend), torch.randn(2, 4)
    found = compiled(x)
    close(found, model(x), 1e-5, 1e-6, "result")
    found.sum().backward()
    gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model(x).sum().backward()
    for one, other in zip(gradients, model.parameters()):
        close(one, other.grad, 1e-5, 1e-6, "gradient")
    assert [graph.kind for graph in backend.graphs] == ["forward", "backward"]
    for graph in backend.graphs:
        assert graph.last is not None and graph.last.matches and graph.last.cycles > 0
        assert "cycles" in str(graph.report())


def test_an_lstm_cell_runs_on_a_machine() -> None:
    cell, x = nn.LSTMCell(4, 5), torch.randn(2, 4)
    with torch.no_grad():
        found = torch.compile(cell, backend=hob.torch_backend)(x)
        for one, other in zip(as_list(found), as_list(cell(x))):
            close(one, other, 1e-5, 1e-6, "state")


def test_the_entry_point_names_the_backend() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    named = project["project"]["entry-points"]["torch_dynamo_backends"]["hob"]
    assert named == "lab.torch_backend:torch_backend"
    assert hob.torch_backend.__module__ == "lab.torch_backend"
    if "hob" in torch.compiler.list_backends():
        x = torch.randn(3)
        found = torch.compile(lambda x: x + 1, backend="hob", options={"mode": "evaluate"})(x)
        close(found, x + 1, 0, 0, "result")


def test_options_of_torch_compile_are_settings() -> None:
    x = torch.randn(4)
    options = {"mode": "evaluate"}
    compiled = torch.compile(lambda x: x.sort()[0], backend=hob.torch_backend, options=options)
    close(compiled(x), x.sort()[0], 0, 0, "result")
    for wrong, words in (({"mod": 1}, "no option 'mod'"), ({"mode": "fast"}, "no mode 'fast'")):
        with pytest.raises(REFUSED, match=words):
            torch.compile(lambda x: x + 1, backend=hob.torch_backend, options=wrong)(x)


def test_what_has_no_code_generation_is_named_and_not_run_elsewhere() -> None:
    words = r'(?s)test_backend.py:\d+: sort.*code generation does not cover.*mode="evaluate"'
    with pytest.raises(REFUSED, match=words):
        torch.compile(lambda x: x.sort()[0], backend=hob.torch_backend)(torch.randn(4))


def test_an_operator_without_a_lowering_is_named_with_node_and_line() -> None:
    def function(x: Any) -> Any:
        y = x + 1
        return torch.special.bessel_j0(y)

    line = function.__code__.co_firstlineno + 2
    with pytest.raises(REFUSED) as caught:
        torch.compile(function, backend=hob.torch_backend)(torch.randn(3, 3))
    told = str(caught.value)
    assert "prims.bessel_j0 has no lowering" in told and "node bessel_j0" in told
    assert f"{Path(__file__).name}:{line}" in told


def test_branches_of_graphs_are_refused_by_name() -> None:
    def branch(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (x,))

    backend = hob.TorchBackend(mode="evaluate")
    assert repr(backend) == "hob.TorchBackend(mode='evaluate', machine='x86/zen3')"
    with pytest.raises(REFUSED, match=r"test_backend.py:\d+, node cond: the operator cond has no"):
        torch.compile(branch, backend=backend)(torch.randn(3))


def test_dynamic_shapes_and_numbers_become_a_version_each(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def rows(x: Any, count: int) -> Any:
        return (x.view(x.shape[0] * 2, -1)[:count] * count).sum(0)

    backend = hob.TorchBackend(mode="evaluate")
    for options in ({}, {"dynamic": True}):
        compiled = torch.compile(rows, backend=backend, **options)
        for extent, count in ((2, 1), (4, 3), (6, 2), (4, 3)):
            x, y = torch.randn(extent, 4, requires_grad=True), torch.randn(extent, 4)
            close(compiled(x, count), rows(x, count), 1e-6, 1e-6, "result")
            close(compiled(y, count), rows(y, count), 1e-6, 1e-6, "result")
            found = torch.autograd.grad(compiled(x, count).sum(), x)[0]
            close(found, torch.autograd.grad(rows(x, count).sum(), x)[0], 0, 0, "gradient")
    assert "the shapes of a graph vary: compiling version 2" in caplog.text
    assert "float32[6,4]" in caplog.text


def test_every_instruction_knows_its_node_and_line() -> None:
    backend = hob.TorchBackend(mode="evaluate")
    torch.compile(lambda x: torch.sin(x) * 2, backend=backend)(torch.randn(3))
    sine = next(i for i in backend.graphs[0].module.entry_computation if i.opcode.text == "sine")
    assert sine.metadata is not None and sine.metadata.op_type == "aten.sin"
    assert sine.metadata.source_file == __file__


def test_seeded_random_numbers_are_those_of_eager() -> None:
    def draw(x: Any) -> Any:
        noisy = x + torch.rand_like(x) + torch.randn(3, 4) * torch.randint(0, 5, (4,))
        return nn.functional.dropout(noisy, 0.4)

    x = torch.randn(3, 4)
    compiled = torch.compile(draw, backend=hob.TorchBackend(mode="evaluate"))
    results = []
    for function in (compiled, draw, compiled):
        torch.manual_seed(9)
        results.append(function(x))
    close(results[0], results[1], 1e-6, 1e-6, "drawn")
    assert torch.equal(results[0], results[2])
    assert not torch.equal(compiled(x), compiled(x))


MODEL = """import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.layer(x)))

net = Net().eval()
training = Net()

def plain(x, y):
    return x.view(3, -1) + y

def tree(pair):
    return pair["a"] * pair["b"][0]

def unknown(x):
    return torch.special.bessel_j0(x)

def picks(x):
    return x[x > 0]
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_modules_and_functions_of_a_file_are_programs_with_their_weights(model: Path) -> None:
    program = load_program(f"{model}:net", ["f32[2,8]"])
    data = program.data()
    assert data.inputs[0].shape == (2, 8)
    net = sys.modules["hob_program_model"].net
    found = hob.evaluate(program.module, *data.inputs)[0]
    close(torch.from_numpy(found), net(torch.from_numpy(data.inputs[0])), 1e-5, 1e-6, "result")
    assert load_program(f"{model}:Net", ["f32[3,8]"]).weights
    plain = load_program(f"{model}:plain", ["f32[6]", "f32[2]"])
    assert hob.evaluate(plain.module, np.arange(6, dtype=np.float32), np.zeros(2, np.float32))[
        0
    ].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_functions_take_trees_and_are_refused_with_their_own_line(model: Path) -> None:
    program = load_program(f"{model}:tree", ["{a: f32[3], b: [f32[3]]}"])
    two = np.full(3, 2, np.float32)
    assert hob.evaluate(program.module, two, two)[0].tolist() == [4, 4, 4]
    for name, words in (
        ("unknown", r"model.py:\d+, node bessel_j0: .* has no lowering"),
        ("picks", r"model.py:\d+, node index: the shape of index depends on values"),
    ):
        with pytest.raises(hob.HobError, match=words):
            load_program(f"{model}:{name}", ["f32[3]"])


def test_an_npz_file_needs_the_arguments_only(model: Path, tmp_path: Path) -> None:
    program = load_program(f"{model}:net", ["f32[2,8]"])
    np.savez(tmp_path / "x.npz", in0=np.ones((2, 8), np.float32))
    data = program.data(tmp_path / "x.npz")
    assert len(data.inputs) == len(program.weights) + 1
    assert data.inputs[0].min() == 1


@pytest.mark.parametrize(
    ("name", "shapes", "words"),
    [
        ("training", ["f32[2,8]"], r"(?s)changes its buffers.*\.eval\(\)"),
        ("net", [], r"0 shapes are given for forward"),
        ("net", ["f32[2,5]"], r"model.py:10: RuntimeError"),
        ("plain", ["f32[4]", "f32[4]"], r"model.py:16: RuntimeError"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(
    model: Path, name: str, shapes: list[str], words: str
) -> None:
    with pytest.raises(hob.HobError, match=words):
        load_program(f"{model}:{name}", shapes)


def test_the_command_that_installs_pytorch_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from lab.torch_backend import import_torch

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r"(?s)PyTorch is not installed.*pip install torch"):
        import_torch()
