/** Packs and unpacks MessagePack with msgpackr. */
import type { Packr } from 'msgpackr/pack'
import * as unpacking from 'msgpackr/unpack'
import { isWellFormed } from '../../bytes/text.ts'
import { OptionError, ProtocolError } from '../../errors/index.ts'
import { checkDepth } from '../depth.ts'
import {
  cannotCarry,
  describeClass,
  type Member,
  membersOf,
  type Rules,
  type Verdict
} from '../uncarriable.ts'
import { isOpaque, LONE_SURROGATE, prepared, type Replace } from './prepare.ts'

/** Options of msgpackr for packing and unpacking. */
export const COMMON = {
  // Typed arrays, and bigints of any size, can be packed.
  moreTypes: true,
  // Bytes are copied, because they must stay valid when the received chunk is reused.
  copyBuffers: true,
  // References are not allowed: with references a peer could make a small message that unfolds into a huge value.
  structuredClone: false,
  writeFunction(): never {
    throw new TypeError('a function cannot be packed')
  }
} as const

/** The part of msgpackr's native module that this file uses. */
interface Native {
  readonly default: { readonly extractStrings: unknown }
}

/** The name is joined at run time, so that no bundler looks for the module. */
const NATIVE = ['msgpackr', 'extract'].join('-')
let accelerated = false

/**
 * Loads msgpackr's native module if the user has installed it: under Bun it reads objects twice as fast, for 9 MB of
 * memory. The module is no dependency, because it has an install script, which package managers refuse to run. It is
 * loaded when MessagePack is first used, and takes effect a moment later.
 */
export function accelerate(): void {
  if (accelerated) return
  accelerated = true
  const { setExtractor } = unpacking as { readonly setExtractor?: (extractStrings: unknown) => void }
  // If the native module cannot be loaded, msgpackr works without it.
  import(NATIVE).then((native: Native) => setExtractor?.(native.default.extractStrings)).catch(() => {})
}

/** msgpackr's REUSE_BUFFER_MODE and RESET_BUFFER_MODE: packed bytes stay in msgpackr's buffer until the next call. */
const IN_PLACE = 512 | 1024

interface PackedInPlace extends Uint8Array {
  start: number
  end: number
}

/** True while a value is packed: all packers of msgpackr write into the same buffer. */
let isPacking = false

/**
 * Packs a value. The next call overwrites the bytes.
 * @param replace see `prepared`
 * @throws {OptionError} names the part that cannot be packed
 */
export function pack(packr: Packr, type: string, value: unknown, replace: Replace): Uint8Array {
  if (isPacking)
    throw new OptionError('data', `A getter of data that is being packed as ${type} cannot send data itself`)
  try {
    const whole = prepared(value, replace)
    isPacking = true
    // A cyclic value overflows the stack, which throws.
    const packed = packr.pack(whole, IN_PLACE) as Uint8Array as PackedInPlace
    return packed.subarray(packed.start, packed.end)
  } catch (cause) {
    throw cannotCarry(type, value, rules, cause)
  } finally {
    isPacking = false
  }
}

/** The range of bytes to unpack. All calls share this object, because msgpackr only reads it. */
const range = { start: 0, end: 0 }

/** @throws {ProtocolError} the bytes are not exactly one value */
export function unpack(
  unpackr: unpacking.Unpackr,
  type: string,
  buffer: Uint8Array,
  start: number,
  end: number
): unknown {
  if (start === end) return undefined
  range.start = start
  range.end = end
  let value: unknown
  try {
    value = unpackr.unpack(buffer, range)
  } catch (cause) {
    throw new ProtocolError(`Data of type ${type} is not MessagePack`, cause)
  }
  checkDepth(value, end - start)
  refuseClasses(value, type)
  return value
}

/**
 * Refuses types that msgpackr reads but our encoder never writes: with a regular expression of its choice, a peer could
 * keep a handler busy for ever.
 */
function refuseClasses(value: unknown, type: string): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) refuseClasses(value[index], type)
  } else if (value instanceof Map) {
    for (const [key, member] of value) {
      refuseClasses(key, type)
      refuseClasses(member, type)
    }
  } else if (value instanceof Set) {
    for (const item of value) refuseClasses(item, type)
  } else if (value instanceof RegExp || value instanceof Error) {
    throw new ProtocolError(
      `Data of type ${type} has ${describeClass(value)}, which MessagePack cannot carry`
    )
  } else {
    for (const key in value) refuseClasses((value as Record<string, unknown>)[key], type)
  }
}

/** Decides which values MessagePack can carry. */
export const rules: Rules = {
  judge(value): Verdict {
    if (typeof value === 'string' && !isWellFormed(value)) return { wrong: LONE_SURROGATE }
    if (typeof value === 'function' || typeof value === 'symbol')
      return { wrong: `is ${describeClass(value)}` }
    if (typeof value !== 'object' || value === null) return 'carried'
    const isLeaf =
      value instanceof Number ||
      value instanceof String ||
      value instanceof Boolean ||
      value instanceof Date ||
      value instanceof ArrayBuffer ||
      ArrayBuffer.isView(value) ||
      typeof (value as { toJSON?: unknown }).toJSON === 'function'
    if (isLeaf) return 'carried'
    return isOpaque(value) ? { wrong: `is ${describeClass(value)}` } : 'nested'
  },
  omits: (member) => typeof member === 'function' || typeof member === 'symbol',
  members: (object) => (object instanceof Map || object instanceof Set ? itemsOf(object) : membersOf(object))
}

function* itemsOf(object: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>): Generator<Member> {
  if (object instanceof Map) {
    for (const [key, item] of object) {
      const shown = `.get(${typeof key === 'string' ? JSON.stringify(key) : describeClass(key)})`
      yield [shown, key]
      yield [shown, item]
    }
  } else {
    let index = 0
    for (const item of object) yield [`.values()[${index++}]`, item]
  }
}
