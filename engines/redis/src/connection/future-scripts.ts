/** Scripts about events that wait for their time. The comment of each script lists its keys and arguments. */
import { FIRE, NOW, script, TRIMMING, WAKE } from './lua.ts'

/**
 * Keeps events until their time comes, each once, and wakes who would look too late. It also stores those whose time
 * has come, because nobody may handle them. Keys: stream, wake, future, awaited, the keys that remember the ids of the
 * events. Arguments: the beginning of the keys of ids, milliseconds that stored events are kept (0: for ever), and for
 * each event its id, its time (milliseconds since 1970, or behind a plus sign from now on), and a list as JSON: the
 * milliseconds for which its id is remembered once it is stored, and its fields. Answers, for each event, its position
 * (empty: it waits), and 1 if it was there before, 2 if its time has passed, so that it is not kept; nothing if there
 * is no stream.
 */
export const PLAN = script(`${NOW}
${WAKE}
${TRIMMING}
${FIRE}
local stream, future, awaited = KEYS[1], KEYS[3], KEYS[4]
if redis.call('EXISTS', stream) == 0 then return false end
local first = redis.call('ZRANGE', future, 0, 0)[1]
local out = {}
for n = 1, #KEYS - 4 do
  local id, time, event = ARGV[3 * n], ARGV[3 * n + 1], ARGV[3 * n + 2]
  local known = redis.call('GET', KEYS[4 + n])
  if known then out[n] = {known, 1}
  elseif string.sub(time, 1, 1) ~= '+' and tonumber(time) <= now then out[n] = {'', 2}
  else
    if string.sub(time, 1, 1) == '+' then time = string.format('%.0f', now + tonumber(string.sub(time, 2))) end
    redis.call('HSET', awaited, id, event)
    redis.call('ZADD', future, time, id)
    redis.call('SET', KEYS[4 + n], '')
    out[n] = {'', 0}
  end
end
local _, fired = fire(stream, future, awaited, ARGV[1])
trim(stream, ARGV[2])
if fired > 1 or redis.call('ZRANGE', future, 0, 0)[1] ~= first then wake(KEYS[2]) end
return out`)

/** Deletes an event that waits. Keys: future, awaited, the key of its id. Arguments: id. Answers 1 if it was there. */
export const CANCEL = script(`
local wasThere = redis.call('ZREM', KEYS[1], ARGV[1])
if wasThere == 1 then
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('DEL', KEYS[3])
end
return wasThere`)

/** Makes an event that waits due. Keys: future, wake. Arguments: id. Answers 1 if it was there. */
export const HASTEN = script(`${NOW}
${WAKE}
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[1])
wake(KEYS[2])
return 1`)

/**
 * Lists events that wait, the soonest first. Keys: future, awaited. Arguments: how many, and the id and the time of the
 * last event of the page before (empty: there is none). Answers the id, the time and the list of each. If that event
 * has gone meanwhile, those of its time whose ids are not behind its id have been listed.
 */
export const AWAITED = script(`
local function isUpTo(one, other)
  for at = 1, math.min(#one, #other) do
    local byte, its = string.byte(one, at), string.byte(other, at)
    if byte ~= its then return byte < its end
  end
  return #one <= #other
end
local future, count, id, time = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]
local from = 0
if id ~= '' then
  if tonumber(redis.call('ZSCORE', future, id) or '') == tonumber(time) then
    from = redis.call('ZRANK', future, id) + 1
  else
    from = redis.call('ZCOUNT', future, '-inf', '(' .. time)
    for _, other in ipairs(redis.call('ZRANGEBYSCORE', future, time, time)) do
      if isUpTo(other, id) then from = from + 1 end
    end
  end
end
local out = {}
local page = redis.call('ZRANGE', future, from, from + count - 1, 'WITHSCORES')
for at = 1, #page, 2 do out[#out + 1] = {page[at], page[at + 1], redis.call('HGET', KEYS[2], page[at]) or '[0]'} end
return out`)
