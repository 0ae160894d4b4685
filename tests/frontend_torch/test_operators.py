"""Core ATen operators, one small case each, equal to eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from tests.frontend_torch.harness import agrees, as_list  # noqa: E402

F = torch.nn.functional
A = torch.ops.aten
G = torch.Generator().manual_seed(11)


def floats(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(shape, generator=G).to(dtype)


def integers(*shape: int, low: int = -5, high: int = 6, dtype: Any = torch.int64) -> Any:
    return torch.randint(low, high, shape, generator=G).to(dtype)


X, Y, P = floats(3, 4), floats(3, 4), floats(3, 4).abs() + 0.1
N, J, B, C = integers(3, 4), integers(3, 4, low=1), floats(3, 4) > 0, floats(3, 4) > 0.3
NAN = torch.tensor([1.0, float("nan"), -float("inf"), float("inf"), -0.0, 0.0])
HALF = floats(3, 4, dtype=torch.bfloat16)
ROW, COLUMN, ZERO = floats(4), floats(3, 1), torch.tensor(2.5)
CUBE, IMAGE = floats(2, 3, 4), floats(2, 3, 7, 6)
INDEX = torch.tensor([[2, 0, 1, 1], [0, 0, 2, 1]])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add broadcasts": (lambda x, y: (x + y, x + 2, 2 + y), (X, ROW)),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=3), (X, COLUMN)),
    "add of truths": (lambda x, y: (x + y, x * y), (B, C)),
    "sub": (lambda x, y: (x - y, 1 - x, torch.sub(x, y, alpha=2), torch.rsub(x, y)), (X, Y)),
    "promotion": (
        lambda x, i, b, h, z: (x + i, i + b, i + 0.5, h + z, h + x, h * 2, b * 1.5, i + z, b + 1),
        (X, N, B, HALF, ZERO),
    ),
    "promotion of small integers": (
        lambda u, s: (u + s, u * 2, u / 2, s.float() + u, s + True),
        (integers(4, low=0, dtype=torch.uint8), integers(4, dtype=torch.int8)),
    ),
    "division": (
        lambda x, y, i, j: (
            x / y, i / j, i // j, x // y, torch.div(x, y, rounding_mode="trunc"),
            torch.div(i, j, rounding_mode="trunc"), x % y, i % j, i % -3, torch.fmod(x, y),
            torch.fmod(i, j),
        ),
        (X, Y, N, J),
    ),
    "powers": (
        lambda p, x, i: (
            p**2, p**3, p**0.5, p**-1, p**1.7, 2**p, p**x, i**2, p**-0.5, x**1, torch.exp2(x),
        ),
        (P, X, N),
    ),
    "unary": (
        lambda x, p: (
            x.exp(), p.log(), p.log2(), p.log10(), p.log1p(), x.expm1(), p.sqrt(), p.rsqrt(),
            x.sin(), x.cos(), x.tan(), x.tanh(), x.sigmoid(), x.erf(), torch.erfc(x), x.abs(),
            -x, x.sign(), x.reciprocal(), x.floor(), x.ceil(), x.trunc(), x.round(),
            x.round(decimals=1), x.frac(), x.sinh(), x.cosh(), x.atan(), x.asinh(), (x / 9).asin(),
            (x / 9).acos(), (x / 9).atanh(), (p + 1).acosh(),
        ),
        (X, P),
    ),
    "unary of integers": (
        lambda i, b: (i.exp(), i.abs(), -i, i.sign(), i.floor(), ~i, ~b, i.sqrt(), b.sin()),
        (J, B),
    ),
    "special values": (
        lambda x: (
            x.isnan(), x.isinf(), x.isfinite(), x.relu(), x.abs(), x.sign(), torch.nan_to_num(x),
            x.signbit(), x.clamp(-1, 1), torch.copysign(torch.ones_like(x), x), x.maximum(-x),
            torch.fmax(x, torch.zeros_like(x)), torch.fmin(x, torch.zeros_like(x)), x.argmax(),
            x.argmin(), x.sort()[0], x.sort(descending=True)[1], x.max(), x.sum(), x.round(),
        ),
        (NAN,),
    ),
    "comparison": (
        lambda x, y, i: (x == y, x != y, x < y, x <= 0, x > i, x >= 0.5, i == 2), (X, Y, N)
    ),
    "logic and bits": (
        lambda a, b, i, j: (
            a & b, a | b, a ^ b, a.logical_not(), i.logical_and(j), i & j, i | j, i ^ j,
            i << 2, i >> 1, j << 1, torch.logical_xor(a, i),
        ),
        (B, C, N, J),
    ),
    "two arguments": (
        lambda x, y, p: (
            x.maximum(y), x.minimum(y), torch.atan2(x, y), torch.hypot(x, y),
            torch.copysign(x, y), torch.xlogy(x, p), torch.lerp(x, y, 0.3), torch.lerp(x, y, p),
            torch.addcmul(x, y, p, value=2), torch.addcdiv(x, y, p, value=-1),
        ),
        (X, Y, P),
    ),
    "choices": (
        lambda b, x, y: (
            torch.where(b, x, y), torch.where(b, x, 0.0), x.masked_fill(b, -1.0), x.clamp(min=0),
            x.clamp(-0.5, 0.5), x.clamp(max=y), x.clamp_min(0.1), torch.where(b, 1, 0),
        ),
        (B, X, Y),
    ),
    "activations": (
        lambda x: (
            F.relu(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.elu(x),
            F.leaky_relu(x), F.hardtanh(x), F.softplus(x), F.hardsigmoid(x), F.hardswish(x),
            F.mish(x), F.relu6(x), F.logsigmoid(x), F.selu(x), F.celu(x), F.tanhshrink(x),
            F.softsign(x), F.hardshrink(x), F.softshrink(x), F.prelu(x, torch.tensor([0.2])),
        ),
        (X * 3,),
    ),
    "sums": (
        lambda x, i, b: (
            x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), x.mean(), x.mean(-1), i.sum(), b.sum(),
            x.prod(), x.prod(1), i.prod(0), x.sum(dtype=torch.float64), i.sum(0, dtype=torch.int32),
            x.amax(1), x.amin((0, 1)), b.any(), b.all(1), x.any(0), i.amax(0, keepdim=True),
        ),
        (CUBE, N, B),
    ),
    "moments": (
        lambda x: (
            x.var(), x.var(1, unbiased=False), x.std(0), torch.var_mean(x, (0, 2)),
            x.norm(), torch.linalg.vector_norm(x, 3.0, dim=1), x.logsumexp(2),
        )[:3] + tuple(torch.var_mean(x, (0, 2))) + (x.norm(), x.logsumexp(2),
        torch.linalg.vector_norm(x, 3.0, dim=1), torch.linalg.vector_norm(x, float("inf"))),
        (CUBE,),
    ),
    "extremes": (
        lambda x, i: (
            x.argmax(), x.argmax(1), x.argmin(0, keepdim=True), *x.max(1), *x.min(0, keepdim=True),
            i.argmax(1), *i.max(0), x.max(), i.min(),
        ),
        (X, torch.tensor([[1, 1], [0, 3], [3, 0]])),
    ),
    "order": (
        lambda x, i: (
            *x.sort(), *x.sort(0, descending=True), *i.sort(1), x.argsort(1),
            *torch.sort(i, stable=True, dim=0), *x.topk(2), *x.topk(2, 0, largest=False),
            *x.kthvalue(2),
        ),
        (X, N),
    ),
    "scans": (lambda x, i: (x.cumsum(1), x.cumsum(0), i.cumsum(0), x.cumprod(1)), (X, N)),
    "softmax": (
        lambda x, h: (x.softmax(1), x.log_softmax(0), x.softmax(-1), h.softmax(-1)), (X, HALF)
    ),
    "products": (
        lambda a, b, v, c, d: (
            a @ b, a @ v, c @ d, torch.addmm(v[:3], a, b[:, :3], beta=0.5, alpha=2), v @ v,
            torch.baddbmm(c[:, :, :3], c, d[:, :, :3]), torch.einsum("bij,bjk->bik", c, d),
            v @ b, torch.outer(v, v), c @ b, F.linear(a, b.t(), v[:3].repeat(2)[:5]),
            torch.tensordot(a, b, 1),
        ),
        (X, floats(4, 5), ROW, CUBE, floats(2, 4, 5)),
    ),
    "shapes": (
        lambda x: (
            x.view(6, 4), x.reshape(-1), x.permute(2, 0, 1), x.transpose(0, 1), x[None, :, 0],
            x.squeeze(), x.unsqueeze(-1), x.flatten(1), x.expand(5, 2, 3, 4), x.movedim(0, 2),
            x.repeat(2, 1, 1, 3), x.flip(0, 2), x.roll(2, 1), x.roll(3), x.unflatten(2, (2, 2)),
            x[:, 1:3, ::2], x[..., -1], x[1], x.narrow(2, 1, 2), x.contiguous(), x.clone(),
            x.swapaxes(0, 2).reshape(3, 8), x.view(torch.int32), x.tile(2),
        ),
        (CUBE,),
    ),
    "joins and splits": (
        lambda x, y, i: (
            torch.cat([x, y]), torch.cat([x, i], 1), torch.stack([x, y], 1), *x.split(2),
            *x.chunk(3, 1), *x.unbind(0), *x.split([1, 3], 1), torch.hstack([x, y]),
            *torch.tensor_split(x, 3, 1), torch.cat([x, torch.empty(0)]),
        ),
        (X, Y, N),
    ),
    "triangles and diagonals": (
        lambda x, c: (
            x.tril(), x.triu(1), x.tril(-1), x.diagonal(), x.diagonal(1), c.diagonal(-1, 1, 2),
            torch.eye(3), torch.eye(2, 4), x[:3, :3].trace(), torch.diag(x[0]), c.unfold(2, 2, 1),
        ),
        (X, CUBE),
    ),
    "creation": (
        lambda x: (
            torch.zeros(2, 3), torch.ones_like(x), torch.full((2,), 7), torch.full((2,), 1.5),
            torch.arange(5), torch.arange(1, 8, 2), torch.arange(0.0, 1.0, 0.25),
            torch.linspace(0, 1, 5), x.new_zeros(2), x.new_full((3,), 2), torch.zeros_like(x),
            torch.full_like(x, 3), torch.scalar_tensor(3.0), torch.arange(3, dtype=torch.int32),
        ),
        (X,),
    ),
    "updates of slices": (
        lambda x, y: (
            torch.slice_scatter(x, y[:2], 0, 1, 3), torch.select_scatter(x, y[0], 0, 2),
            torch.slice_scatter(x, y[:, :2], 1, 0, 4, 2), torch.diagonal_scatter(x, y[:, 0]),
        ),
        (X, Y),
    ),
    "in place": (
        lambda x, y: (_in_place(x, y), x.clone().zero_(), x.clone().copy_(y[:1])), (X, Y)
    ),
    "padding": (
        lambda x: (
            F.pad(x, (1, 2)), F.pad(x, (0, 0, 2, -1), value=3.0), F.pad(x[None], (1, 1), "reflect"),
            F.pad(x[None], (2, 1), "replicate"), F.pad(x[None], (1, 0), "circular"),
        ),
        (X,),
    ),
    "reading by index": (
        lambda x, i, c: (
            x[i], x[:, i], x[i, i], c[:, i[0, :2]], c[i[0, :2] % 2, :, i[0, :2]], x.gather(0, i),
            x.index_select(1, i[0]), x.take(i), x[torch.tensor([-1, 0])], x.take_along_dim(i, 0),
            F.embedding(i, x), F.one_hot(i, 4),
        ),
        (X, INDEX, CUBE),
    ),
    "writing by index": (
        lambda x, y, i: (
            x.scatter(0, i, y), x.scatter(0, i, 5.0), x.scatter_add(0, i, y),
            x.index_add(0, i[0, :2], y[:2]), x.index_put((i[1], i[1]), y[0], accumulate=True),
            x.index_put((torch.tensor([-1]),), torch.tensor(9.0)), x.index_fill(0, i[1, 2], 1.0),
            x.index_copy(1, i[0, :2], y[:, :2]), x.scatter_reduce(0, i, y, "amax"),
            x.scatter(1, i[:, :1] * 0, y, reduce="multiply"),
        ),
        (X, Y, INDEX),
    ),
    "masks": (
        lambda x, b, y: (
            x.masked_fill(b, 0.0), _put(x, b), torch.where(b, x, y), x.masked_fill(b[0], 1.0)
        ),
        (X, B, Y),
    ),
    "types": (
        lambda x, i, b: (
            x.to(torch.int32), x.half(), x.bfloat16(), i.float(), b.to(torch.uint8), x.bool(),
            i.to(torch.int8), x.double(), (x * 3).to(torch.int64), b.float(),
        ),
        (X, N, B),
    ),
    "losses": (
        lambda x, y, t, p: (
            F.mse_loss(x, y), F.cross_entropy(x, t), F.nll_loss(x.log_softmax(1), t),
            F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.binary_cross_entropy(x.sigmoid(), p),
            F.binary_cross_entropy_with_logits(x, p), F.kl_div(x, p), F.huber_loss(x, y),
            F.cross_entropy(x, t, label_smoothing=0.1), F.cosine_similarity(x, y),
        ),
        (X, Y, torch.tensor([1, 0, 3]), P / 4),
    ),
    "normalisation": (
        lambda x, w, b, m, v: (
            F.batch_norm(x, m, v, w, b), F.batch_norm(x, None, None, w, b, training=True),
            F.layer_norm(x, x.shape[2:]), F.group_norm(x, 3, w, b), F.instance_norm(x),
            F.normalize(x, dim=1), F.local_response_norm(x, 2), F.rms_norm(x, (6,)),
        ),
        (IMAGE, floats(3), floats(3), floats(3), floats(3).abs()),
    ),
    "normalisation without statistics": (
        lambda x, w, b: (
            F.batch_norm(x, None, None, w, b, training=True), F.layer_norm(x, x.shape[1:]),
            F.group_norm(x, 3, w, b), F.instance_norm(x), F.normalize(x, dim=1),
        ),
        (IMAGE, floats(3), floats(3)),
    ),
    "pooling": (
        lambda x: (
            *F.max_pool2d(x, 2, return_indices=True),
            *F.max_pool2d(x, 3, 2, 1, return_indices=True),
            *F.max_pool2d(x, 2, 2, ceil_mode=True, return_indices=True),
            F.max_pool2d(x, 2, 1, dilation=2), F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False, ceil_mode=True),
            F.avg_pool2d(x, 2, divisor_override=3), F.adaptive_avg_pool2d(x, (3, 4)),
            F.adaptive_avg_pool2d(x, 1), F.max_pool1d(x[:, :, 0], 2), F.avg_pool1d(x[:, :, 0], 3),
            F.max_pool3d(x[None], 2), F.avg_pool3d(x[None], 2), F.lp_pool2d(x.abs(), 2, 2),
            F.adaptive_avg_pool1d(x[:, :, 0], 4),
        ),
        (IMAGE,),
    ),
    "interpolation": (
        lambda x: (
            F.interpolate(x, scale_factor=2), F.interpolate(x, size=(5, 9), mode="bilinear"),
            F.interpolate(x, size=(9, 4), mode="bilinear", align_corners=True),
            F.interpolate(x[:, :, 0], scale_factor=1.7, mode="linear"),
            F.interpolate(x, size=(4, 11), mode="nearest-exact"), F.interpolate(x, size=(5, 9)),
            F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
        ),
        (IMAGE,),
    ),
    "convolution": (
        lambda x, w, b, g: (
            F.conv2d(x, w, b), F.conv2d(x, w, None, 2, 1), F.conv2d(x, w, b, 1, (2, 1), (2, 1)),
            F.conv2d(x, g, None, groups=3), F.conv1d(x[:, :, 0], w[:, :, 0]),
            F.conv3d(x[None], w[:2, :2, None].repeat(1, 1, 2, 1, 1)),
            F.conv_transpose2d(x, w.transpose(0, 1), None, 2, 1, 1),
            F.conv_transpose2d(x, g.repeat(1, 2, 1, 1)[:3], None, 2, 0, groups=3, dilation=2),
        ),
        (IMAGE, floats(4, 3, 3, 2), floats(4), floats(6, 1, 2, 3)),
    ),
    "forms of two arrays": (
        lambda x, y, w: (F.bilinear(x, y, w), torch._weight_norm(w, y[:, :1, None], 0)),
        (X, floats(3, 5), floats(3, 4, 5)),
    ),
    "order statistics": (
        lambda x, i, n: (
            x.median(), *x.median(1), x.nanmedian(), *i.mode(1), *x.cummax(1), *x.cummin(0),
            x.logcumsumexp(1), torch.searchsorted(x.sort(1)[0], x, right=True), n.median(),
            *n.nanmedian(0), torch.histc(x, 5, -1, 1), torch.quantile(x, 0.3, 1),
            torch.bucketize(x, x[0].sort()[0]),
            torch.repeat_interleave(x, i[:, 0] * 0 + 2, 0, output_size=6),
        ),
        (X, N, NAN.reshape(-1, 1)),
    ),
    "distances": (
        lambda x, y: (
            torch.cdist(x, y), torch.cdist(x, y, 1.0), torch.cdist(x, y, 3.0), torch.pdist(x),
            torch.cdist(x, y, float("inf")), torch.addbmm(x[:3, :3], x[None], y[None].mT),
        ),
        (X, Y),
    ),
    "reductions into places": (
        lambda x, y, i: (
            x.scatter_reduce(0, i, y, "mean"), x.masked_scatter(x > 0, x * 2),
            x.scatter_reduce(0, i, y, "amax", include_self=False),
            x.scatter_reduce(0, i, y, "mean", include_self=False),
            x.index_reduce(0, i[0, :2], y[:2], "amin"),
        ),
        (X, Y[:2], INDEX),
    ),
    "bags of embeddings": (
        lambda x, i: (
            F.embedding_bag(i, x), F.embedding_bag(i, x, mode="max"),
            F.embedding_bag(i.reshape(-1), x, torch.tensor([0, 2, 2]), mode="sum", padding_idx=1),
            F.embedding(i, x.clone(), max_norm=1.0),
        ),
        (X, INDEX),
    ),
    "adaptive maxima": (
        lambda x: (
            *F.adaptive_max_pool2d(x, (3, 5), return_indices=True), F.adaptive_max_pool2d(x, 2),
            F.adaptive_max_pool1d(x[:, :, 0], 4), F.adaptive_max_pool3d(x[None], (2, 3, 1)),
        ),
        (IMAGE,),
    ),
    "Fourier transforms": (
        lambda x: (
            torch.fft.fft(x), torch.fft.rfft(x, norm="ortho"), torch.fft.ifft(x).abs(),
            torch.fft.irfft(torch.fft.rfft(x), 4), torch.fft.fft2(x), torch.fft.rfft2(x),
        ),
        (X,),
    ),
    "linear algebra": (
        lambda s, x: (
            torch.linalg.cholesky(s), torch.linalg.inv(s), torch.linalg.solve(s, x), s.det(),
            torch.linalg.qr(x)[1], torch.linalg.svdvals(x), torch.linalg.eigvalsh(s), s.logdet(),
            torch.linalg.lu(x)[2], torch.linalg.solve_triangular(s, x, upper=True),
            torch.linalg.matrix_exp(s / 9), torch.linalg.pinv(x),
            torch.cholesky_solve(x, torch.linalg.cholesky(s)),
        ),
        (X @ X.t() + 3 * torch.eye(3), X),
    ),
    "special functions": (
        lambda p, x: (
            p.lgamma(), p.digamma(), (x / 9).erfinv(), torch.i0(x), torch.special.i0e(x),
            torch.special.i1(x), torch.special.log_ndtr(x), torch.special.erfcx(p * 4),
            torch.polygamma(1, p), torch.special.ndtri(p / 9), torch.sgn(x), x.angle(),
        ),
        (P, X),
    ),
    "functions of large arguments": (
        lambda x, m: (
            torch.special.i0e(x), torch.special.i1e(x), torch.i0(x.double()),
            torch.special.i1(x.double()), torch.linalg.matrix_exp(m * 60 - 400 * torch.eye(3)),
            torch.linalg.matrix_exp(m * 9),
        ),
        (torch.tensor([-1e6, -700.0, -151.0, 149.0, 400.0, 3e4, torch.inf]), X[:3, :3]),
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        (floats(2, 2, 3, 4), floats(2, 2, 5, 4), floats(2, 2, 5, 4)),
    ),
    "complex numbers": (
        lambda x, y: (
            torch.complex(x, y).real, torch.complex(x, y).abs(), torch.complex(x, y).conj().imag
        ),
        (X, Y),
    ),
}  # fmt: skip


def _in_place(x: Any, y: Any) -> Any:
    z = x.clone()
    z[1:, ::2] += 1
    z[0] = y[1]
    z.mul_(2).add_(y)
    z[:, -1].fill_(3)
    return z


def _put(x: Any, b: Any) -> Any:
    z = x.clone()
    z[b] = 7.0
    return z


@pytest.mark.parametrize("name", CASES)
def test_operators_agree_with_eager(name: str) -> None:
    function, inputs = CASES[name]
    agrees(function, inputs, 2e-5, 2e-6)


DIFFERENTIABLE = (
    "add broadcasts", "powers", "unary", "two arguments", "choices", "activations",
    "sums", "moments", "extremes", "order", "scans", "softmax", "products", "shapes",
    "joins and splits", "triangles and diagonals", "padding", "reading by index", "losses",
    "normalisation without statistics", "pooling", "interpolation", "convolution",
    "attention", "masks", "forms of two arrays", "distances", "reductions into places",
    "adaptive maxima", "Fourier transforms", "linear algebra",
)  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_of_operators_agree_with_eager(name: str) -> None:
    function, inputs = CASES[name]
    places = [i for i, x in enumerate(inputs) if x.dtype is torch.float32]

    def gradients(*arguments: Any) -> list[Any]:
        leaves = [x.detach().requires_grad_(i in places) for i, x in enumerate(arguments)]
        with torch.enable_grad():
            results = [r for r in as_list(function(*leaves)) if r.requires_grad]
            total = sum((torch.where(r.isfinite(), r, 0.0).float() ** 2).sum() for r in results)
        found = torch.autograd.grad(total, [leaves[i] for i in places], allow_unused=True)
        return [gradient for gradient in found if gradient is not None]

    agrees(gradients, inputs, 1e-4, 1e-4)
