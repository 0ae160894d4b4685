"""Widgets, one per file: sheets of cells, listings, bars and panels of facts."""
