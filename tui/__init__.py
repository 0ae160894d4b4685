"""What the user meets: the command line and, later, the terminal application."""
