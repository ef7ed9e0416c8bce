/**
 * Scripts in Lua, by which the server makes several changes at once: Redis runs one script at a time, so none sees
 * another one's work half done. The comment of each script lists its keys and arguments. A full server refuses the
 * first command of a script that needs memory, and no command behind it. So commands that may be refused come first,
 * and commands that must succeed come behind a change that needs no memory.
 */
import { FIRE, NOW, script, TRIMMING, WAKE } from './lua.ts'

/**
 * Stores events, each once, and publishes them to the subscribers of NestJS's channel. Keys: stream, wake, keys that
 * remember the ids of the events (one key for all if this library generated the ids, otherwise one for each event),
 * keys of ids that may be forgotten. Arguments: milliseconds to remember, milliseconds that events are kept (0: for
 * ever), channel, the text that replaces the last brace of a packet on that channel (empty: nothing is published), 1
 * if subscribers may be at other servers, the number of keys for ids, the number of events, the number of texts for
 * each event; for each event its id and packet, and with four texts its key and headers (empty: none). Answers, for
 * each key of ids, the position of its (first) event and 1 if the event was stored before; nothing if there is no
 * stream. Events of one key have consecutive positions. If the first event has no subscriber, the others are not
 * published: PUBLISH counts the subscribers at this server, and not those at its replicas or other servers of a
 * cluster.
 */
export const APPEND = script(`${WAKE}
${TRIMMING}
local call, ARGV = redis.call, ARGV
local stream, channel, ending, isSpread = KEYS[1], ARGV[3], ARGV[4], ARGV[5] == '1'
local keys, count, width = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local function add(position, at)
  local id, packet = ARGV[at], ARGV[at + 1]
  if width == 2 then return call('XADD', stream, 'NOMKSTREAM', position, 'packet', packet, 'id', id) end
  local fields = {'packet', packet, 'id', id}
  for more, name in ipairs({'key', 'headers'}) do
    local value = ARGV[at + 1 + more]
    if value ~= '' then fields[#fields + 1], fields[#fields + 2] = name, value end
  end
  return call('XADD', stream, 'NOMKSTREAM', position, unpack(fields))
end
local function hasReplicas()
  local info = redis.pcall('INFO', 'replication')
  return type(info) ~= 'string' or not string.find(info, 'connected_slaves:0', 1, true)
end
local out, fresh = {}, {}
for n = 1, keys do
  local known, at = call('GET', KEYS[2 + n]), 9 + (n - 1) * width
  if known then out[n] = {known, 1}
  else
    local position = add('*', at)
    if not position then return false end
    call('SET', KEYS[2 + n], position, 'PX', ARGV[1])
    out[n], fresh[#fresh + 1] = {position, 0}, at
  end
end
if keys < count and fresh[1] then
  local behind = string.match(out[1][1], '^%d+') .. '-*'
  for n = 2, count do
    local at = 9 + (n - 1) * width
    add(behind, at)
    fresh[n] = at
  end
end
for n = 3 + keys, #KEYS do call('DEL', KEYS[n]) end
trim(stream, ARGV[2])
wake(KEYS[2])
if ending == '' then return out end
for _, at in ipairs(fresh) do
  local ends = ending
  if width == 4 and ARGV[at + 3] ~= '' then ends = ',"metadata":' .. ARGV[at + 3] .. ending end
  local heard = redis.pcall('PUBLISH', channel, string.sub(ARGV[at + 1], 1, -2) .. ends)
  if type(heard) == 'table' then break end
  if heard == 0 and not isSpread then
    if #fresh == 1 or not hasReplicas() then break end
    isSpread = true
  end
end
return out`)

/** Deletes old events. Keys: stream. Arguments: milliseconds for which events are kept (0: for ever). */
export const TRIM = script(`${TRIMMING}
trim(KEYS[1], ARGV[1])
return 0`)

/**
 * Creates a stream if it is missing. Keys: streams, stream. Arguments: pattern, a new name. Answers the name of the
 * stream.
 */
export const ENSURE = script(`
if redis.call('EXISTS', KEYS[2]) == 0 then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('XGROUP', 'CREATE', KEYS[2], '~', '$', 'MKSTREAM')
  redis.call('XGROUP', 'DESTROY', KEYS[2], '~')
  redis.call('PUBLISH', KEYS[1], ARGV[1])
else
  redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
end
return redis.call('HGET', KEYS[1], ARGV[1])`)

/** The most pausing events among which `TAKE` looks for the first. */
const MOST_LATER = 100
/** Milliseconds until an event is tried again that the server has not stored when its time came. */
const AGAIN_AFTER = 1_000

/**
 * Takes events for a process of a group, and first stores those whose time has come. Keys: stream, paused, later, wake,
 * and, unless the stream has redriven events, future, awaited, turn (if in order). Arguments: group, process, how many,
 * milliseconds of a lease, 1 to look also for events that other processes have left, or, for an ordered handler, for
 * all events that are not done, and the beginning of the keys of ids. Answers 'paused'; or 'other', milliseconds and
 * the standing, if it is the turn of another process; or 'ok', 1 if the turn is new, the events (position, fields,
 * attempt), why the server has not stored an event whose time has come (empty: it has stored all), and the standing:
 * the position of the last event if all are done (otherwise empty), the position of the first event that is
 * not done (empty: there is none, or too many pause to look for it), the number of events that are not done, and
 * milliseconds until there is more (-1: unknown). Events that are due again or that a process has left come before new
 * events.
 */
export const TAKE = script(`${NOW}
${FIRE}
local group, me, count, lease, all = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local future, awaited, turn = KEYS[5], KEYS[6], KEYS[7]
if redis.call('EXISTS', KEYS[2]) == 1 then return {'paused'} end
local refusal = future and fire(KEYS[1], future, awaited, ARGV[6]) or ''
local function standing()
  local pending = redis.call('XPENDING', KEYS[1], group)
  local later = redis.call('ZRANGE', KEYS[3], 0, ${MOST_LATER - 1}, 'WITHSCORES')
  local more = later[2] and math.max(later[2] - now, 0) or -1
  local due = future and redis.call('ZRANGE', future, 0, 0, 'WITHSCORES')[2]
  if due then
    local left = math.max(due - now, refusal == '' and 0 or ${AGAIN_AFTER})
    if more < 0 or left < more then more = left end
  end
  local ofLater = redis.call('ZCARD', KEYS[3])
  local undone, done, first = pending[1] + ofLater, '', pending[2] or ''
  if undone == 0 then
    for _, about in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
      local told = {}
      for at = 1, #about, 2 do told[about[at]] = about[at + 1] end
      if told.name == group then done = told['last-delivered-id'] end
    end
  elseif ofLater > ${MOST_LATER} then first = ''
  else
    local function isBefore(one, other)
      local time, number = string.match(one, '(%d+)-(%d+)')
      local otherTime, otherNumber = string.match(other, '(%d+)-(%d+)')
      if time == otherTime then return tonumber(number) < tonumber(otherNumber) end
      return tonumber(time) < tonumber(otherTime)
    end
    for at = 1, #later, 2 do
      if first == '' or isBefore(later[at], first) then first = string.match(later[at], '^[^:]+') end
    end
  end
  return {done, first, undone, more}
end
local isOrdered, isNew = turn ~= nil, 0
if isOrdered then
  local holder = redis.call('GET', turn)
  if holder and holder ~= me then return {'other', redis.call('PTTL', turn), unpack(standing())} end
  if holder then redis.call('PEXPIRE', turn, lease)
  else
    redis.call('DEL', KEYS[4])
    redis.call('SET', turn, me, 'PX', lease)
    isNew, all = 1, true
  end
end
local out = {}
local function claim(id, attempt, from)
  local got = redis.call('XCLAIM', KEYS[1], group, me, 0, id, 'RETRYCOUNT', attempt, 'FORCE')
  if got[1] then out[#out + 1] = {id, got[1][2], attempt} end
end
if all then
  local left
  if isOrdered then left = redis.call('XPENDING', KEYS[1], group, '-', '+', 100000)
  else left = redis.call('XPENDING', KEYS[1], group, 'IDLE', lease, '-', '+', count) end
  for _, one in ipairs(left) do claim(one[1], one[4] + (one[2] == me and 0 or 1)) end
end
local due
if isOrdered and all then due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '+inf')
else due = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, math.max(count - #out, 0)) end
for _, one in ipairs(due) do
  local colon = string.find(one, ':', 1, true)
  -- Fails if the group is gone, and then it must still be there.
  claim(string.sub(one, 1, colon - 1), string.sub(one, colon + 1))
  redis.call('ZREM', KEYS[3], one)
end
local wanted = count - #out
if wanted > 0 then
  local read = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', wanted, 'STREAMS', KEYS[1], '>')
  local entries = read and read[1][2] or {}
  for _, one in ipairs(entries) do out[#out + 1] = {one[1], one[2], 1} end
  if #entries < wanted then redis.call('SET', KEYS[4], '1') end
end
return {'ok', isNew, out, refusal, unpack(standing())}`)

/**
 * Extends the leases of a process's events. Keys: stream, turn (if in order). Arguments: group, process, milliseconds
 * of a lease, positions. Answers the positions that no longer belong to the process.
 */
export const KEEP = script(`
local lost = {}
for n = 4, #ARGV do
  if redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[n], ARGV[n], 1, ARGV[2])[1] then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[n], 'JUSTID')
  else lost[#lost + 1] = ARGV[n] end
end
if KEYS[2] and redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return lost`)

/**
 * Gives events back. Keys: stream, later, wake. Arguments: group, process, and for each event its position, the
 * milliseconds until it may be taken again, and the number of its next attempt.
 */
export const GIVE_BACK = script(`${WAKE}
${NOW}
wake(KEYS[3])
for n = 3, #ARGV, 3 do
  if redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[n], ARGV[n], 1, ARGV[2])[1] then
    redis.call('ZADD', KEYS[2], now + ARGV[n + 1], ARGV[n] .. ':' .. ARGV[n + 2])
    redis.call('XACK', KEYS[1], ARGV[1], ARGV[n])
  end
end
return 0`)

/**
 * Makes an event a dead letter, unless another process has handled it. Keys: stream, dead letters. Arguments: group,
 * position, 1 if the stream is gone and only this process has the event, fields.
 */
export const BURY = script(`
local isThere = ARGV[3] == '1' or redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1)[1]
if not isThere then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
redis.pcall('XACK', KEYS[1], ARGV[1], ARGV[2])
return 1`)

/**
 * Gives a dead letter back to its group. Keys: dead letters, stream of redriven events, wake of that stream.
 * Arguments: position. Answers 1 if the dead letter existed.
 */
export const REDRIVE = script(`${WAKE}
local letter = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not letter then return 0 end
redis.call('XADD', KEYS[2], '*', unpack(letter[2]))
redis.call('XDEL', KEYS[1], ARGV[1])
wake(KEYS[3])
return 1`)

/** Removes a process from a group. Keys: stream, wake, turn (if in order). Arguments: group, process. */
export const LEAVE = script(`
if KEYS[3] and redis.call('GET', KEYS[3]) == ARGV[2] then
  redis.call('DEL', KEYS[3])
  redis.call('PUBLISH', KEYS[2], '')
end
if not redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ARGV[2])[1] then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
return 0`)
