"""Pictures of screens: as text, as SVG, as PNG."""
