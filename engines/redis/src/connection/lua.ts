/** The language of scripts: how they are run, and the functions that several of them have. */
import { createHash } from 'node:crypto'
import type { Redis } from 'ioredis'
import { isUnprepared } from '../driver.ts'

/** A script, and its name at the server. */
export interface Script {
  readonly text: string
  readonly sha: string
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}

/** The time of the server in milliseconds since 1970, `now`. */
export const NOW = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)`

/** The function `wake`: wakes the processes that wait for events of a stream. */
export const WAKE = `local function wake(key)
  if redis.call('DEL', key) == 1 then redis.call('PUBLISH', key, '') end
end`

/** The function `trim`. If the user has no right to trim, services that read the state of the stream trim it. */
export const TRIMMING = `local function trim(stream, age)
  if age == '0' then return end
  ${NOW}
  redis.pcall('XTRIM', stream, 'MINID', '~', string.format('%d', now - age))
end`

/** Events whose time has come that one script stores at most. */
const MOST_FIRED = 128

/**
 * The function `fire`, behind `NOW`: moves events whose time has come into their stream, and remembers their ids. Answers
 * why the server refuses to, or an empty text, and a number above 1 if it has moved one. An event is taken out first,
 * which needs no memory: so a full server stores it, too.
 */
export const FIRE = `local function fire(stream, future, awaited, known)
  local due = redis.call('ZRANGEBYSCORE', future, '-inf', now, 'WITHSCORES', 'LIMIT', 0, ${MOST_FIRED})
  for at = 1, #due, 2 do
    local id = due[at]
    local event = redis.call('HGET', awaited, id)
    local removed = redis.pcall('ZREM', future, id)
    if type(removed) == 'table' then return removed.err, at end
    if event then
      local fields = cjson.decode(event)
      local window = table.remove(fields, 1)
      local position = redis.pcall('XADD', stream, 'NOMKSTREAM', '*', unpack(fields))
      if type(position) ~= 'string' then
        redis.call('ZADD', future, due[at + 1], id)
        return position and position.err or '', at
      end
      redis.pcall('SET', known .. id, position, 'PX', window)
      redis.pcall('HDEL', awaited, id)
    end
  end
  return '', #due
end`

/** Runs a script. The server gets the text of a script only if it does not know the script. */
export async function run(
  commands: Redis,
  { sha, text }: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[]
): Promise<unknown> {
  try {
    return await commands.evalsha(sha, keys.length, ...keys, ...args)
  } catch (error) {
    if (!isUnprepared(error)) throw error
    return commands.eval(text, keys.length, ...keys, ...args)
  }
}
