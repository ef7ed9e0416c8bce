/** Limits how deeply data from outside is nested. The limit is checked where bytes become values. */
import { ProtocolError } from '../errors/index.ts'

/**
 * Most levels of arrays, objects and Maps that data may have. No real data has more. JavaScriptCore needs a second to
 * find out that `JSON.stringify` cannot write a value of 100,000 levels, which takes only 200 KB, and this second
 * blocks everything else.
 */
export const MAX_DEPTH = 1_000

/**
 * Refuses a value from outside that is nested too deeply.
 * @param size number of bytes or characters from which the value was read: each level takes at least one, so most
 * values need no check
 * @throws {ProtocolError} the value is nested too deeply
 */
export function checkDepth(value: unknown, size: number): void {
  if (size > MAX_DEPTH && isTooDeep(value))
    throw new ProtocolError(`The data has more than ${MAX_DEPTH} levels of arrays and objects`)
}

/** Whether a value is nested too deeply to be carried. */
export function isTooDeep(value: unknown): boolean {
  return isNested(value) && isDeeperThan(MAX_DEPTH, value)
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isDeeperThan(levels: number, value: object): boolean {
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      const member: unknown = value[index]
      if (isNested(member) && isDeeperThan(levels - 1, member)) return true
    }
    return false
  }
  if (value instanceof Map || value instanceof Set) {
    let isDeeper = false
    value.forEach((member: unknown, key: unknown) => {
      for (const part of [member, key]) isDeeper ||= isNested(part) && isDeeperThan(levels - 1, part)
    })
    return isDeeper
  }
  if (ArrayBuffer.isView(value)) return false
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key]
    if (isNested(member) && isDeeperThan(levels - 1, member)) return true
  }
  return false
}
