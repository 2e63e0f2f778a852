"""Recorded streams: write them to disk, read them back, and replay them as a transport."""

from headrace.recording.recorder import RecordingTransport
from headrace.recording.replay import ReplayTransport

__all__ = ["RecordingTransport", "ReplayTransport"]
