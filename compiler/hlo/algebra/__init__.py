"""Rewrite rules that hold for every value, NaN, infinities and -0 included; `simplify` applies
them."""
