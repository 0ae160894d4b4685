"""The command line, one file per command; everything heavy is imported when a command runs."""
