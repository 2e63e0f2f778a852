"""Request readers: turn the JSON of each protocol's clients into messages, tools and options.

They are the opposite of the encoders: a request that a reader has read and the encoder of the
same grammar has written means the same.
"""

from headrace.readers.incoming import IncomingRequest, InvalidRequest

__all__ = ["IncomingRequest", "InvalidRequest"]
