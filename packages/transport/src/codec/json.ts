/** JSON, the codec that every peer has. */
import { text as utf8 } from '../bytes/text.ts'
import { ProtocolError } from '../errors/index.ts'
import type { Codec } from './codec.ts'
import { checkDepth, MAX_DEPTH } from './depth.ts'
import {
  cannotCarry,
  describeClass,
  findUncarriable,
  membersOf,
  type Rules,
  type Verdict
} from './uncarriable.ts'

interface JsonCodec extends Codec {
  encode(value: unknown): string
}

/**
 * The codec of `application/json`. As with `JSON.stringify`, an object with `toJSON` chooses its own form, and a
 * property that is `undefined` is left out. If `JSON.stringify` would silently turn a value into `{}` or `null`, the
 * codec throws an error that says where the value is.
 */
export const jsonCodec: JsonCodec = {
  mimeType: 'application/json',

  encode(value: unknown): string {
    if (value === undefined) return ''
    const text = stringify(value)
    if (typeof value !== 'string' && MAY_HAVE_LOST.test(text) && maySilentlyLose(value)) checkWhole(value)
    return text
  },

  decode(buffer: Uint8Array, start: number, end: number): unknown {
    if (start === end) return undefined
    let value: unknown
    try {
      value = JSON.parse(utf8.read(buffer, start, end))
    } catch (cause) {
      throw new ProtocolError('Data of type application/json is not JSON', cause)
    }
    // Each level has an opening and a closing bracket, so a short text cannot be too deep.
    const deepest = (end - start) / 2
    if (deepest > MAX_DEPTH) checkDepth(value, deepest)
    return value
  }
}

function stringify(value: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (cause) {
    throw cannotCarry('JSON', value, rules, cause)
  }
  if (text === undefined) throw cannotCarry('JSON', value, rules)
  return text
}

/**
 * Finds the text of a value that JSON cannot carry: a Map, a Set or a promise becomes `{}`, a typed array an object
 * with the key 0, NaN becomes `null`. To search the text costs a few percent of writing it. To check every value costs
 * several times more, so only values with such a text are checked. One expression takes half the time of three searches
 * under Bun.
 */
const MAY_HAVE_LOST = /\{\}|null|\{"0":/

/**
 * Returns whether JSON may lose part of a value. This quick check may say yes by mistake, but never no. It runs for
 * every object with a null in it; the exact check, which names the place, takes ten times as long.
 */
function maySilentlyLose(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  if (typeof value !== 'object') return typeof value === 'function' || typeof value === 'symbol'
  return value !== null && memberMayBeLost(value)
}

function memberMayBeLost(value: object): boolean {
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (maySilentlyLose(value[index])) return true
    return false
  }
  // Asking for the prototype takes two thirds of the time of asking for `toJSON` and `constructor`, under Bun.
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null)
    return typeof (value as { toJSON?: unknown }).toJSON !== 'function'
  const object = value as Record<string, unknown>
  for (const key in object) {
    const member = object[key]
    if (typeof member !== 'string' && typeof member !== 'function' && maySilentlyLose(member)) return true
  }
  return false
}

/** @throws {OptionError} JSON loses part of the value */
function checkWhole(value: unknown): void {
  if (findUncarriable(value, rules) !== undefined) throw cannotCarry('JSON', value, rules)
}

const CARRIED: Verdict = 'carried'
const NESTED: Verdict = 'nested'

function judge(value: unknown): Verdict {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return CARRIED
    case 'number':
      return Number.isFinite(value) ? CARRIED : { wrong: 'is not a finite number' }
    case 'object':
      return value === null ? CARRIED : judgeObject(value)
    default:
      return { wrong: `is ${describeClass(value)}` }
  }
}

const rules: Rules = {
  judge,
  omits: (member) => member === undefined || typeof member === 'function' || typeof member === 'symbol',
  members: membersOf
}

function judgeObject(value: object): Verdict {
  // A Buffer has `toJSON` too. Users of Nest know the form that it gives.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return CARRIED
  if (Array.isArray(value)) return NESTED
  const isOpaque =
    ArrayBuffer.isView(value) ||
    value instanceof Map ||
    value instanceof Set ||
    // These objects have state but no enumerable properties: ArrayBuffer, Promise, RegExp, Error, WeakMap.
    (Object.keys(value).length === 0 && Object.prototype.toString.call(value) !== '[object Object]')
  return isOpaque ? { wrong: `is ${describeClass(value)}` } : NESTED
}
