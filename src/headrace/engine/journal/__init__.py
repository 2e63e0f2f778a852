"""The journal of a run: every event passes through these steps once, in this order.

    rewrite     journal.py       middleware may change the event; middleware/guard keeps it legal
    stamp       journal.py       number, time and step make it a record
    log         journal.py       await `Sink.append`, or
                pending_log.py   pass it to `PromptSink.put` and continue when the log has it
    fold        run_log.py       keep the record and add it to the message
    hand over   run_log.py       to the reader of the run, or to the callback of a server
    observe     run_log.py       call `on_event` of middleware

No record is shown before the log has stored it. `sink.py` is the interface of a log. On a
server, the callback is `LiveRun.publish`, which feeds the broadcasts of `server/runs`.
"""
