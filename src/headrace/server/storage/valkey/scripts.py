"""The scripts that change a run's log in Valkey, each in one step.

A run has three keys in one hash slot: its head (`epoch`, number of the `last` record, whether it is
`closed`, whether its records are `moving` into the store), the stream with its records, and a key
that exists while other servers watch it. An entry of the stream has the id `<last number>-0` and
holds records that were appended together.
"""

from __future__ import annotations

from typing import Final

STORED: Final = 0
"""The records are stored, now or by an earlier attempt."""
TAKEN: Final = 1
"""A server with a higher epoch has the run."""
SHORT: Final = 2
"""The records do not follow the last one, which is given; -1 if there is no log."""
CLOSED: Final = 3
"""The run is closed."""
DIFFERENT: Final = 4
"""Other records have these numbers."""

LOG_CHANNEL: Final = "headrace_log"
"""Channel of the messages that wake servers which follow a run."""
_KEEP_S: Final = 30 * 86_400
"""Time after which the log of a live run is forgotten, whatever happens."""
_KEEP_HEAD_S: Final = 3_600
"""Time for which the head of a run is kept that has moved into the store: it refuses what a server
that has lost the run still writes."""

# epoch, base, keep, run id, then for each batch: first, last, closing, body.
# `base` is the number of the last record in the store, or -1 if the caller does not know it.
# `keep` is -1 for an ordinary append. To restore a log that has lost the claim of the caller, it is
# the number of the last record that nobody else can have written since.
APPEND: Final = f"""
local head = redis.call('HMGET', KEYS[1], 'epoch', 'last', 'closed')
local epoch, base, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local known = tonumber(head[1] or '-1')
local last = tonumber(head[2] or '-1')
local closed = head[3] == '1'
if known > epoch then return {{{TAKEN}, known}} end
local is_new, is_cut = known == -1, false
if is_new then
    if base < 0 then return {{{SHORT}, -1}} end
    last = base
elseif known < epoch then
    if keep < 0 then return {{{SHORT}, last}} end
    is_cut = last > keep
    if is_cut then last, closed = keep, false end
end
local added, reached = {{}}, last
for place = 5, #ARGV, 4 do
    local first, final = tonumber(ARGV[place]), tonumber(ARGV[place + 1])
    if final <= reached then
        local entry = redis.call('XRANGE', KEYS[2], final .. '-0', final .. '-0')[1]
        if not entry or entry[2][6] ~= ARGV[place + 3] then return {{{DIFFERENT}, last}} end
    elseif closed then
        return {{{CLOSED}, last}}
    elseif first ~= reached + 1 then
        return {{{SHORT}, is_new and -1 or last}}
    else
        added[#added + 1], reached = place, final
        closed = ARGV[place + 2] == '1'
    end
end
if is_new then redis.call('DEL', KEYS[2]) end
if is_cut then
    -- The end of a stream cannot be removed: its numbers are used up. So it is written anew.
    local kept = redis.call('XRANGE', KEYS[2], '-', keep .. '-0')
    redis.call('DEL', KEYS[2])
    for _, entry in ipairs(kept) do
        redis.call('XADD', KEYS[2], entry[1], unpack(entry[2]))
    end
end
for _, place in ipairs(added) do
    redis.call('XADD', KEYS[2], ARGV[place + 1] .. '-0',
        'f', ARGV[place], 'c', ARGV[place + 2], 'b', ARGV[place + 3])
end
if #added > 0 or known ~= epoch then
    redis.call('HSET', KEYS[1], 'epoch', epoch, 'last', reached, 'closed', closed and '1' or '0')
end
if is_new or is_cut then
    redis.call('EXPIRE', KEYS[1], {_KEEP_S})
    redis.call('EXPIRE', KEYS[2], {_KEEP_S})
end
if #added > 0 and redis.call('EXISTS', KEYS[3]) == 1 then
    redis.call('PUBLISH', '{LOG_CHANNEL}', ARGV[4])
end
return {{{STORED}, reached}}
"""
"""Appends records if they follow the last one and no higher epoch was seen."""

# epoch, base
CLAIM: Final = f"""
local head = redis.call('HMGET', KEYS[1], 'epoch', 'last', 'closed')
local epoch, base = tonumber(ARGV[1]), tonumber(ARGV[2])
local known = tonumber(head[1] or '-1')
local last = tonumber(head[2] or '-1')
if known > epoch then return {{{TAKEN}, known}} end
local closed = head[3] or '0'
if last < base or redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('DEL', KEYS[2])
    last, closed = base, '0'
end
redis.call('HSET', KEYS[1], 'epoch', epoch, 'last', last, 'closed', closed)
redis.call('HDEL', KEYS[1], 'moving')
redis.call('EXPIRE', KEYS[1], {_KEEP_S})
redis.call('EXPIRE', KEYS[2], {_KEEP_S})
return {{{STORED}, last}}
"""
"""Raises the epoch of a run, so that its earlier server cannot append any more."""

MOVE: Final = f"""
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'moving', '1') end
return {{{STORED}, 0}}
"""
"""Notes that the store may have more records of a run than this log from now on: if the server that
moves them is lost, nobody removes them here."""

# epoch, last, closed, run id
RETIRE: Final = f"""
local known = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '-1')
if known > tonumber(ARGV[1]) then return {{{TAKEN}, known}} end
redis.call('DEL', KEYS[2])
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'last', ARGV[2], 'closed', ARGV[3])
redis.call('HDEL', KEYS[1], 'moving')
redis.call('EXPIRE', KEYS[1], {_KEEP_HEAD_S})
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('PUBLISH', '{LOG_CHANNEL}', ARGV[4]) end
return {{{STORED}, tonumber(ARGV[2])}}
"""
"""Removes the records of a run that are in the store now."""


def keys_of(run_id: str) -> tuple[str, str, str]:
    """Return the keys of a run: head, records, watched. The braces put them into one hash slot."""
    return f"headrace:{{{run_id}}}:head", f"headrace:{{{run_id}}}:log", f"headrace:{{{run_id}}}:on"
