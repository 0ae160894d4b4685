"""Machine code inside the compiler: instructions of one ISA over virtual or physical registers."""
