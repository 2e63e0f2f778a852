"""The command line: the only place that prints. Modules here import late, so that `--help`
is quick."""
