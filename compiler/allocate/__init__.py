"""Register allocation: virtual registers in, physical registers and frame slots out."""
