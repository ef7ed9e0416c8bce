/** What plain MessagePack and MessagePack with records have in common: how msgpackr is driven. */
import type { Packr } from 'msgpackr/pack'
import type { Unpackr } from 'msgpackr/unpack'
import type { ByteWriter } from '../../bytes/byte-writer.ts'
import { ProtocolError } from '../../errors/index.ts'
import { checkDepth } from '../depth.ts'
import { cannotCarry, describeClass, type Rules, type Verdict } from '../uncarriable.ts'

/** Options of msgpackr for both. */
export const COMMON = {
  // Typed arrays, and bigints of any size.
  moreTypes: true,
  // Bytes must outlive the chunk they came in.
  copyBuffers: true,
  // No references: a peer could make a small message unfold into a huge one, and a cycle is no data.
  structuredClone: false,
  writeFunction(): never {
    throw new TypeError('a function cannot be packed')
  }
} as const

let accelerated = false

/**
 * Lets msgpackr read texts with its native part, where there is one: twice as fast under Bun for objects, for
 * 9 MB that nobody needs who does not speak MessagePack. It is there a moment later.
 */
export function accelerate(): void {
  if (accelerated) return
  accelerated = true
  // Where it cannot be loaded, it is done without.
  import('msgpackr').catch(() => {})
}

/** msgpackr's REUSE_BUFFER_MODE and RESET_BUFFER_MODE: what it packs stays in its buffer until the next time. */
const IN_PLACE = 512 | 1024

interface PackedInPlace extends Uint8Array {
  start: number
  end: number
}

/**
 * Packs a value into `out`.
 * @throws {OptionError} naming what cannot be packed
 */
export function pack(packr: Packr, type: string, value: unknown, out: ByteWriter): void {
  let packed: PackedInPlace
  try {
    packed = packr.pack(value, IN_PLACE) as Uint8Array as PackedInPlace
  } catch (cause) {
    throw cannotCarry(type, value, rules, cause)
  }
  out.bytesOf(packed, packed.start, packed.end)
}

/** Where a value lies; one object for all, as it is only read. */
const range = { start: 0, end: 0 }

/** @throws {ProtocolError} what lies there is not one value */
export function unpack(
  unpackr: Unpackr,
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
  return value
}

const OPAQUE = new Set(
  ['Promise', 'WeakMap', 'WeakSet', 'WeakRef', 'Generator', 'AsyncGenerator'].map((tag) => `[object ${tag}]`)
)

/** Whether an object has a state that its properties do not tell, and that has no form on the wire. */
export function isOpaque(value: object): boolean {
  return OPAQUE.has(Object.prototype.toString.call(value))
}

/** What both cannot carry. */
export const rules: Rules = {
  judge(value): Verdict {
    if (typeof value === 'function' || typeof value === 'symbol')
      return { wrong: `is ${describeClass(value)}` }
    if (typeof value !== 'object' || value === null) return 'carried'
    if (isOpaque(value)) return { wrong: `is ${describeClass(value)}` }
    const isLeaf =
      value instanceof Date ||
      value instanceof ArrayBuffer ||
      ArrayBuffer.isView(value) ||
      typeof (value as { toJSON?: unknown }).toJSON === 'function'
    return isLeaf ? 'carried' : 'nested'
  },
  omits: () => false
}
