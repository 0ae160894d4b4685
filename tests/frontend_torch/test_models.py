"""`torch.compile(model, backend=...)` in the evaluator: forward and training equal to eager."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import hob

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from tests.frontend_torch.harness import as_list, close  # noqa: E402

nn = torch.nn


class ConvNet(nn.Module):
    """Convolutions, batch norm, both kinds of pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2, bias=False), nn.BatchNorm2d(6),
            nn.SiLU(), nn.AvgPool2d(2, ceil_mode=True), nn.Flatten(), nn.Linear(6, 3),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.body(x)


class Embedded(nn.Module):
    """An embedding, a position table and an output projection."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 4, padding_idx=0)
        self.places = nn.Parameter(torch.randn(5, 4))
        self.out = nn.Linear(4, 7)

    def forward(self, indices: Any) -> Any:
        return self.out(self.words(indices) + self.places)


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3), nn.LogSoftmax(-1))


def encoder(dropout: float = 0.0) -> Any:
    return nn.TransformerEncoderLayer(8, 2, 16, dropout=dropout, batch_first=True)


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "mlp": (mlp, lambda: torch.randn(2, 4)),
    "conv net": (ConvNet, lambda: torch.randn(2, 2, 6, 6)),
    "transformer encoder block": (encoder, lambda: torch.randn(2, 3, 8)),
    "transformer encoder block with dropout": (lambda: encoder(0.2), lambda: torch.randn(2, 3, 8)),
    "lstm cell": (lambda: nn.LSTMCell(4, 5), lambda: torch.randn(2, 4)),
    "lstm": (
        lambda: nn.LSTM(3, 4, 2, dropout=0.3, bidirectional=True, batch_first=True),
        lambda: torch.randn(2, 4, 3),
    ),
    "gru": (lambda: nn.GRU(3, 4, 2, dropout=0.3), lambda: torch.randn(4, 2, 3)),
    "embedding": (Embedded, lambda: torch.randint(0, 7, (2, 5))),
    "transposed convolution": (
        lambda: nn.ConvTranspose2d(2, 3, 3, stride=2, output_padding=1),
        lambda: torch.randn(1, 2, 3, 3),
    ),
}  # fmt: skip


def run(model: Any, call: Callable[..., Any], x: Any, train: bool) -> list[Any]:
    """Results, and in training the gradients of input and parameters and the buffers after."""
    torch.manual_seed(5)
    given = x.clone().requires_grad_(train and x.is_floating_point())
    results = as_list(call(given))
    if not train:
        return results
    sum((result * result).sum() for result in results).backward()
    gradients = [p.grad for p in model.parameters()] + ([given.grad] if given.requires_grad else [])
    return results + gradients + list(model.buffers())


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(2)


@pytest.mark.parametrize("name", MODELS)
def test_training_gives_the_results_gradients_and_buffers_of_eager(name: str) -> None:
    make, inputs = MODELS[name]
    eager, x = make(), inputs()
    model = copy.deepcopy(eager)
    backend = hob.TorchBackend(mode="evaluate")
    found = run(model, torch.compile(model, backend=backend), x, train=True)
    for number, (one, other) in enumerate(zip(found, run(eager, eager, x, train=True))):
        close(one, other, 1e-4, 1e-5, f"value {number}")
    assert [graph.kind for graph in backend.graphs] == ["forward", "backward"]


@pytest.mark.parametrize(
    "name", ["conv net", "transformer encoder block", "lstm cell", "lstm", "gru"]
)
def test_inference_gives_the_results_of_eager(name: str) -> None:
    make, inputs = MODELS[name]
    model, x = make().eval(), inputs()
    with torch.no_grad():
        found = torch.compile(model, backend=hob.TorchBackend(mode="evaluate"))(x)
        for one, other in zip(as_list(found), as_list(model(x))):
            close(one, other, 1e-4, 1e-5, name)


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_an_encoder_leaves_padding_out(mode: str) -> None:
    """What stands at padded places is nobody's: PyTorch's nested tensors have zeros there."""
    model = nn.TransformerEncoder(encoder(), 2).train(mode == "train")
    x, padding = torch.randn(2, 4, 8), torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]]).bool()
    with torch.no_grad():
        compiled = torch.compile(model, backend=hob.TorchBackend(mode="evaluate"))
        found = compiled(x, src_key_padding_mask=padding)
        expected = model(x, src_key_padding_mask=padding)
    close(found[~padding], expected[~padding], 1e-4, 1e-5, mode)


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adamw with foreach": lambda p: torch.optim.AdamW(p, lr=0.05, foreach=True, amsgrad=True),
}


def training_step(model: Any, optimizer: Any) -> Callable[[Any, Any], Any]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps_move_parameters_as_eager_does(name: str) -> None:
    eager = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))
    model = copy.deepcopy(eager)
    x, y = torch.randn(3, 4), torch.randn(3, 1)
    plain = training_step(eager, OPTIMIZERS[name](eager.parameters()))
    backend = hob.TorchBackend(mode="evaluate")
    compiled = torch.compile(
        training_step(model, OPTIMIZERS[name](model.parameters())), backend=backend, dynamic=False
    )
    for _ in range(2):
        close(compiled(x, y), plain(x, y), 1e-5, 1e-6, "loss")
    for one, other in zip(model.parameters(), eager.parameters()):
        close(one, other, 1e-4, 1e-5, "parameter")
    assert backend.graphs


def test_half_precision_and_tensors_captured_by_the_function_work() -> None:
    table = torch.randn(4)
    function = torch.compile(
        lambda x: (x * 2 + table.bfloat16()).relu(), backend=hob.TorchBackend(mode="evaluate")
    )
    x = torch.randn(3, 4, dtype=torch.bfloat16)
    close(function(x), (x * 2 + table.bfloat16()).relu(), 1e-2, 1e-2, "result")


def test_inputs_changed_in_place_change_for_the_caller() -> None:
    def step(x: Any, y: Any) -> Any:
        x.add_(y)
        x[0] = 0
        return x.t() * 2

    x = torch.randn(3, 4)
    mine, y = x.clone(), torch.randn(3, 4)
    found = torch.compile(step, backend=hob.TorchBackend(mode="evaluate"))(mine, y)
    close(found, step(x, y), 1e-6, 1e-6, "result")
    close(mine, x, 1e-6, 1e-6, "input")
