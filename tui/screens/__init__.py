"""The screens, one per file, and the dialogs they open."""
