"""The ledger: the one place that opens, numbers and closes outputs, items and parts.

Dialects state facts ("text for output 0", "this call has ended"); the ledger turns them
into turn events whose order is always legal:

- in one output at most one text-or-reasoning part and at most one client call are open;
- a client call has ended before another client call starts: a later one closes it if its
  arguments are whole, and is else held back until it closes or the output ends;
- text, reasoning and provider-run calls are never held back;
- everything is closed before the one terminal event, and nothing comes after it.
"""

from headrace.wire.ledger.call import Call
from headrace.wire.ledger.ledger import Ledger
from headrace.wire.ledger.output import Output

__all__ = ["Call", "Ledger", "Output"]
