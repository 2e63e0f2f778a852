"""The command line. Modules here import late, so that `--help` is quick."""
