"""The command line: the library's verbs for people (tables) and for programs (`--json`). One command a file."""
