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
    "src/headrace/engine/journal/run_log.py RecordQueue.put_one: self._reader = None -> pass": (
        "a reader that was woken is done, and a future that is done is neither woken nor refused"
    ),
    "src/headrace/projections/thinking/tool_calls.py ThinkingToolCalls.__init__: self.step = 0 ->"
    " self.step = 1": "the projection sets the step of every record before it is read",
    "src/headrace/projections/ux/event.py _Composer._opaque: self.drafts.append(sb.WholeDraft("
    "opaque_segment(self._id(part), part, 0, part.started_ms))) -> self.drafts.append("
    "sb.WholeDraft(opaque_segment(self._id(part), part, 1, part.started_ms)))": (
        "segments are numbered at the end, when it is known which remain"
    ),
    "src/headrace/projections/ux/live_message.py LiveMessage.__init__: self.created_at_ms = 0 ->"
    " self.created_at_ms = 1": "the first record sets it before it is read",
    "src/headrace/projections/ux/projection.py UXProjection._step_discarded: self._waiting = None"
    " -> pass": "the start of the next turn forgets the waiting text too, before any part of it",
    "src/headrace/projections/ux/segment_builder.py ToolDraft.__init__: self.is_malformed = False"
    " -> self.is_malformed = True": "it is read only after `answer()`, which sets it",
}
"""Reasons by `Mutant.describe()`: file, function, and the line before and after."""
