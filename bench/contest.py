"""The contests: who meets whom, over which reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench import cloud_streams, peers, streams
from bench.floor import floor, floor_of_lines, floor_of_messages
from bench.measure import Contestant, race
from bench.ours import headrace
from bench.streams import Stream

FLOOR = "floor: split lines, `orjson.loads`"
HEADRACE = "**Headrace**"
KEEPS_NOTHING = "Headrace, `keeps_message=False`"
HTTPX = "httpx alone, bytes dropped"
BEHIND_HTTPX = "Headrace behind httpx (`decode_async`)"
OPENAI = "openai SDK, raw stream"
ANTHROPIC = "anthropic SDK, raw stream"
PYDANTIC_AI = "pydantic-ai, `model_request_stream`"
LITELLM = "litellm, `acompletion`"

_READ_BYTES = 7


@dataclass
class Contest:
    """One stream, and what everybody needed for it."""

    title: str
    stream: Stream
    reads: int
    contestants: list[Contestant]

    def cost_us(self, name: str) -> float:
        """Microseconds of CPU an event."""
        (contestant,) = (c for c in self.contestants if c.name == name)
        return contestant.cost_s / self.stream.events * 1e6

    def ratio(self, name: str, other: str) -> float:
        return self.cost_us(name) / self.cost_us(other)

    def spread(self, name: str, other: str) -> tuple[float, float]:
        """The lowest and the highest ratio of three runs, each a third of the rounds."""
        ours, theirs = (next(c for c in self.contestants if c.name == one) for one in (name, other))
        ratios = [ours.third_s(number) / theirs.third_s(number) for number in range(3)]
        return min(ratios), max(ratios)


def chat(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    stream = streams.chat(events)
    reads, least = stream.reads, events * 9 // 10
    bare = headrace(reads, "chat", keeps_message=False)
    contestants = [
        Contestant(FLOOR, floor(reads), 15 // scale, least),
        Contestant(HEADRACE, headrace(reads, "chat"), 15 // scale, least),
        Contestant(KEEPS_NOTHING, bare, 15 // scale, least),
        Contestant(HTTPX, peers.bare_httpx(reads), 5 // scale, least),
        Contestant(BEHIND_HTTPX, peers.headrace_behind_httpx(reads, "chat"), 5 // scale, least),
        Contestant(OPENAI, peers.openai_sdk(reads), 5 // scale, least),
        Contestant(PYDANTIC_AI, peers.pydantic_ai_chat(reads), 3 // scale, least),
        Contestant(LITELLM, peers.litellm_chat(reads), 3 // scale, least),
    ]
    race(contestants, tell)
    return Contest("Chat", stream, len(reads), contestants)


def anthropic(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    stream = streams.anthropic(events)
    reads, least = stream.reads, events * 9 // 10
    bare = headrace(reads, "anthropic", keeps_message=False)
    behind = peers.headrace_behind_httpx(reads, "anthropic")
    contestants = [
        Contestant(FLOOR, floor(reads), 15 // scale, least),
        Contestant(HEADRACE, headrace(reads, "anthropic"), 15 // scale, least),
        Contestant(KEEPS_NOTHING, bare, 15 // scale, least),
        Contestant(HTTPX, peers.bare_httpx(reads), 5 // scale, least),
        Contestant(BEHIND_HTTPX, behind, 5 // scale, least),
        Contestant(ANTHROPIC, peers.anthropic_sdk(reads), 5 // scale, least),
        Contestant(PYDANTIC_AI, peers.pydantic_ai_anthropic(reads), 3 // scale, least),
        Contestant(LITELLM, peers.litellm_anthropic(reads), 3 // scale, least),
    ]
    race(contestants, tell)
    return Contest("Anthropic", stream, len(reads), contestants)


def responses(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    stream = streams.responses(events)
    sdk = Contestant(OPENAI, peers.openai_sdk_responses(stream.reads), 3 // scale, events * 9 // 10)
    return _against_the_floor("Responses", stream, scale, tell, sdk)


def gemini(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    return _against_the_floor("Gemini", streams.gemini(events), scale, tell)


def ollama(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    return _against_the_floor("Ollama", streams.ollama(events), scale, tell)


def bedrock(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    return _against_the_floor("Bedrock", cloud_streams.bedrock(events), scale, tell)


def cohere(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    return _against_the_floor("Cohere", cloud_streams.cohere(events), scale, tell)


def _against_the_floor(
    title: str, stream: Stream, scale: int, tell: Callable[[str], None], *peers: Contestant
) -> Contest:
    reads, least = stream.reads, stream.events * 9 // 10
    floors = {"ndjson": floor_of_lines, "aws-event-stream": floor_of_messages}
    least_read = floors.get(stream.framing, floor)(reads)
    ours = headrace(reads, stream.dialect, framing=stream.framing)
    bare = headrace(reads, stream.dialect, framing=stream.framing, keeps_message=False)
    contestants = [
        Contestant(FLOOR, least_read, 15 // scale, least),
        Contestant(HEADRACE, ours, 15 // scale, least),
        Contestant(KEEPS_NOTHING, bare, 15 // scale, least),
        *peers,
    ]
    race(contestants, tell)
    return Contest(title, stream, len(reads), contestants)


def small_reads(events: int, scale: int, tell: Callable[[str], None]) -> Contest:
    """The chat stream in reads of seven bytes; the floor cannot read it."""
    stream = streams.chat(events)
    reads, least = streams.recut(stream.reads, _READ_BYTES), events * 9 // 10
    contestants = [
        Contestant(HEADRACE, headrace(reads, "chat"), 9 // scale, least),
        Contestant(HTTPX, peers.bare_httpx(reads), 5 // scale, least),
        Contestant(BEHIND_HTTPX, peers.headrace_behind_httpx(reads, "chat"), 5 // scale, least),
        Contestant(OPENAI, peers.openai_sdk(reads), 5 // scale, least),
    ]
    race(contestants, tell)
    return Contest(f"Chat, {_READ_BYTES}-byte reads", stream, len(reads), contestants)


def contest_section(contest: Contest, unit: str, ours: str = HEADRACE) -> str:
    """A contest as a section of the page."""
    stream = contest.stream
    size = sum(map(len, stream.reads)) / stream.events
    has_floor = any(c.name == FLOOR for c in contest.contestants)
    lines = [
        f"## {contest.title}",
        "",
        f"{stream.events:,} {unit}s of {size:.0f} bytes on average, in {contest.reads:,} reads.",
        "",
        f"| | µs per {unit} |"
        + (" × floor | lowest, highest |" if has_floor else "")
        + " × Headrace | rounds |",
        "|---|---:|" + ("---:|---:|" if has_floor else "") + "---:|---:|",
    ]
    for contestant in contest.contestants:
        name = contestant.name
        cells = [name, f"{contest.cost_us(name):,.2f}"]
        if has_floor:
            low, high = contest.spread(name, FLOOR)
            cells += [f"{contest.ratio(name, FLOOR):,.2f}", f"{low:,.2f}, {high:,.2f}"]
        cells += [f"{contest.ratio(name, ours):,.2f}", str(len(contestant.seconds))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
