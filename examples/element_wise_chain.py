"""A chain of elementwise operations and a sum: multiply, sine, add and reduce become one kernel.

Run it with `python examples/element_wise_chain.py` (needs JAX), or without a line of Python:
`hob run examples/element_wise_chain.py:element_wise_chain --args 'f32[8]'`.
"""

import jax.numpy as jnp

import hob


def element_wise_chain(x):
    # Three elementwise operations in a row: what fusion is for.
    t = jnp.multiply(x, 2.0)
    t = jnp.sin(t)
    t = jnp.add(t, 1.0)
    return jnp.sum(t)


def main():
    x = jnp.arange(8, dtype=jnp.float32)
    compiled = hob.jit(element_wise_chain)
    out = compiled(x)
    print("result:", out)
    # What JAX hands over, before any optimisation.
    stablehlo = compiled.lower(x).compiler_ir(dialect="stablehlo")
    print(stablehlo)
    # What the machine did with it.
    print(compiled.report())


if __name__ == "__main__":
    main()
