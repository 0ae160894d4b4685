"""Measures how fast HLO text is parsed, verified and printed: python bench/hlo_text.py [MEGABYTES].

The text is made of many renamed copies of a stored program, so that it looks like real output.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from compiler.hlo.text import parse_module, print_module  # noqa: E402
from compiler.hlo.verify import verify  # noqa: E402

CASES = ROOT / "tests" / "cases" / "jax"
ROUNDS = 3


def enlarged(text: str, size_bytes: int) -> str:
    """Copies of all computations under new names until the text is large enough."""
    header, _, body = text.partition("\n%")
    body = "%" + body
    count = max(1, size_bytes // len(body))
    copies = [re.sub(r"%([\w.\-]+)", rf"%\1.copy{i}", body) for i in range(count)]
    others = [copy.replace("ENTRY ", "") for copy in copies[1:]]
    return "\n\n".join([header, *others, copies[0]])


def best_seconds(action: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    size_bytes = int(float(sys.argv[1] if len(sys.argv) > 1 else 2) * 1e6)
    for name in ("mha_grad", "mlp_train_sgd"):
        text = enlarged((CASES / f"{name}.opt.hlo").read_text(), size_bytes)
        module = parse_module(text)
        for what, action in (
            ("parse", lambda text=text: parse_module(text)),
            ("verify", lambda module=module: verify(module)),
            ("print", lambda module=module: print_module(module)),
        ):
            rate = len(text) / 1e6 / best_seconds(action)
            print(f"{name:14} {module.instruction_count:7} instructions  {what:6} {rate:6.1f} MB/s")


if __name__ == "__main__":
    main()
