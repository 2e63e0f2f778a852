"""Options of `headrace decode`."""

from __future__ import annotations

from argparse import ArgumentParser

from headrace.cli.option import add_color, add_wire_options
from headrace.projections.registry import PROTOCOLS

DESCRIPTION = """\
Decode recorded provider streams into one list of typed events, whichever provider they come
from. Framing and dialect are detected; folders are searched for streams.
"""
EXAMPLES = """\
examples:
  headrace decode answer.sse                       one row per event
  curl -sN URL | headrace decode                   the same, as it arrives
  headrace decode --format events answer.sse | jq .event.type
  headrace decode --format message answer.sse      the whole message
  headrace decode --format result recordings/ > results.jsonl
  headrace decode --as thinking answer.sse         frames of the thinking protocol
  headrace decode --as ux answer.sse               frames of the ux protocol
  headrace decode --format timeline answer.sse     reasoning, tools and text over time
  headrace decode --svg answer.svg answer.sse      the same as a picture
  headrace decode --framing lines --dialect chat payloads.txt

framing, if --framing is not given:
  by the file ending: .sse, .squeezed.sse, .ndjson, .jsonl (lines), .json (json-array), .grpc,
  .eventstream (aws-event-stream), .nul (nul-json);
  otherwise by the first bytes (sse, lines, json-array, grpc, aws-event-stream or nul-json)

Times count from 0 at the first read. Recorded times are used if FILE.chunks.json exists beside
FILE ({"lens": [bytes of each read], "ms": [pause before each read]}).

exit codes: 0: every file was decoded, even if a stream contains a provider's error; 1: a file
could not be decoded (the others still were); 2: wrong command line
"""


def add_arguments(command: ArgumentParser) -> None:
    """Declare the options."""
    command.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="a recorded stream, a folder of them, or - for standard input (the default)",
    )
    command.add_argument(
        "--format",
        choices=("table", "events", "message", "result", "timeline"),
        help="table: one row per event (default); events: one JSON line per event; message: the"
        " folded message as JSON; result: one flat JSON line per file; timeline: the phases drawn"
        " over time. With several files, events and messages are JSON lines with the file name",
    )
    command.add_argument(
        "--as",
        dest="protocol",
        choices=tuple(PROTOCOLS),
        help="show the frames of a protocol, as a client of the server gets them. "
        + "; ".join(f"{row.name}: {row.description}" for row in PROTOCOLS.values())
        + ". --format table: one row per frame; events: its payload",
    )
    command.add_argument(
        "--svg",
        metavar="FILE",
        help="draw the timeline of one stream as SVG; - for standard output",
    )
    add_wire_options(command)
    add_color(command, "in the table and the timeline")
