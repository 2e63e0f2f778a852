"""The ledger: the only place that opens, numbers and closes outputs, items and parts.

Dialects state facts ("text for output 0", "this call has ended"). The ledger turns them into turn
events whose order is always legal:

- in one output at most one text or reasoning part and at most one client call are open;
- a client call has ended before the next client call starts: if its arguments are complete, the
  next call closes it; otherwise the next call is held back until it closes or the output ends;
- text, reasoning and calls that the provider runs are never held back;
- everything is closed before the one terminal event, and nothing comes after it.
"""

from headrace.wire.ledger.call import Call
from headrace.wire.ledger.ledger import Ledger
from headrace.wire.ledger.output import Output

__all__ = ["Call", "Ledger", "Output"]
