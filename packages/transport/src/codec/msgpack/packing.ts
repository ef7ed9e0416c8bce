/** Packs and unpacks MessagePack with msgpackr. */
import type { Packr } from 'msgpackr/pack'
import * as unpacking from 'msgpackr/unpack'
import { OptionError, ProtocolError } from '../../errors/index.ts'
import { checkDepth } from '../depth.ts'
import { cannotCarry, describeClass, type Rules, type Verdict } from '../uncarriable.ts'
import { isOpaque, isWellFormed, LONE_SURROGATE, prepared, type Replace } from './prepare.ts'

/** Options of msgpackr for packing and unpacking. */
export const COMMON = {
  // Carry typed arrays, and bigints of any size.
  moreTypes: true,
  // Copy bytes, which must outlive the chunk they came in.
  copyBuffers: true,
  // No references: with them a peer could make a small message unfold into a huge one.
  structuredClone: false,
  writeFunction(): never {
    throw new TypeError('a function cannot be packed')
  }
} as const

/** The native part of msgpackr, as far as it is used. */
interface Native {
  readonly default: { readonly extractStrings: unknown }
}

/** Computed, so that no bundler looks for it. */
const NATIVE = ['msgpackr', 'extract'].join('-')
let accelerated = false

/**
 * Loads msgpackr's native part if the user has installed it: under Bun it reads objects twice as fast, for 9 MB of
 * memory. It is no dependency, since it has an install script, which package managers refuse to run. It is loaded when
 * MessagePack is first used, and works a moment later.
 */
export function accelerate(): void {
  if (accelerated) return
  accelerated = true
  const { setExtractor } = unpacking as { readonly setExtractor?: (extractStrings: unknown) => void }
  // If it cannot be loaded, msgpackr works without it.
  import(NATIVE).then((native: Native) => setExtractor?.(native.default.extractStrings)).catch(() => {})
}

/** msgpackr's REUSE_BUFFER_MODE and RESET_BUFFER_MODE: packed bytes stay in its own buffer until the next call. */
const IN_PLACE = 512 | 1024

interface PackedInPlace extends Uint8Array {
  start: number
  end: number
}

/** A value is being packed: all packers of msgpackr write into the same buffer. */
let isPacking = false

/**
 * Packs a value. The bytes are overwritten by the next call.
 * @param replace see `prepared`
 * @throws {OptionError} naming what cannot be packed
 */
export function pack(packr: Packr, type: string, value: unknown, replace: Replace): Uint8Array {
  if (isPacking)
    throw new OptionError('data', `A getter of data that is being packed as ${type} cannot send data itself`)
  try {
    const whole = prepared(value, replace)
    isPacking = true
    // A cycle overflows the stack.
    const packed = packr.pack(whole, IN_PLACE) as Uint8Array as PackedInPlace
    return packed.subarray(packed.start, packed.end)
  } catch (cause) {
    throw cannotCarry(type, value, rules, cause)
  } finally {
    isPacking = false
  }
}

/** The range of bytes to unpack; one object for all calls, because msgpackr only reads it. */
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
 * Refuses what msgpackr reads and neither of our ends writes: a regular expression of a peer's choice could keep a
 * handler busy for ever.
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
  omits: (member) => typeof member === 'function' || typeof member === 'symbol'
}
