/**
 * Extensions of MessagePack for types that it does not have (docs/protocol.md): without them a Map would become an
 * object, a Set a list, and a small bigint a number.
 *
 * The content of an extension is packed separately, so that a peer that does not know the type can skip it. The content
 * is also read separately, after the value around it, because msgpackr cannot be called again while it reads a value
 * without copying its whole input.
 */
import { addExtension, type Packr } from 'msgpackr/pack'
import { asBuffer } from '../../bytes/text.ts'
import { ProtocolError } from '../../errors/index.ts'

const MAP = 0x4d
const SET = 0x53
const BIGINT = 0x49
/** Most digits of a bigint in an extension; larger bigints are integers of MessagePack. */
const MAX_DIGITS = 20
/** Most extensions nested in one another. */
const MAX_DEPTH = 100

/** Replaces a Map, a Set or a bigint while the value is packed. */
class Extension {
  readonly content: unknown
  constructor(content: unknown) {
    this.content = content
  }
}
class MapExtension extends Extension {}
class SetExtension extends Extension {}
class BigIntExtension extends Extension {}

/** Replaces a Map, a Set or a bigint until its content is read. */
class Unread {
  readonly bytes: Uint8Array
  readonly build: (content: unknown) => unknown
  constructor(bytes: Uint8Array, build: (content: unknown) => unknown) {
    this.bytes = bytes
    this.build = build
  }
}
let unread = 0

/**
 * Registers our extensions with msgpackr.
 * @param packr packs the contents of the extensions
 */
export function registerExtensions(packr: Packr): void {
  const register = (Class: typeof Extension, type: number, build: (content: unknown) => unknown) =>
    addExtension({
      Class,
      type,
      pack: ({ content }: Extension) => packr.pack(content),
      unpack(bytes: Uint8Array) {
        unread++
        return new Unread(bytes, build)
      }
    })
  register(MapExtension, MAP, (content) => new Map(listOf(content).map(entryOf)))
  register(SetExtension, SET, (content) => new Set(listOf(content)))
  register(BigIntExtension, BIGINT, bigintOf)
}

function listOf(content: unknown): unknown[] {
  if (!Array.isArray(content)) throw new ProtocolError('The content of a Map or a Set is not a list')
  return content
}

function entryOf(item: unknown): [unknown, unknown] {
  if (!Array.isArray(item) || item.length !== 2)
    throw new ProtocolError('An entry of a Map is not a pair of key and value')
  return item as [unknown, unknown]
}

function bigintOf(content: unknown): bigint {
  // The length is limited, because the conversion of a very long text of digits takes very long.
  if (typeof content === 'string' && content.length <= MAX_DIGITS && /^-?\d+$/.test(content))
    return BigInt(content)
  throw new ProtocolError('The content of a bigint is not a text of digits')
}

/**
 * Reads a value and the extensions in it.
 * @param read reads the value
 * @param readBytes reads the content of one extension
 * @throws {ProtocolError} the content of an extension is invalid
 */
export function readWithExtensions(read: () => unknown, readBytes: (bytes: Uint8Array) => unknown): unknown {
  unread = 0
  const value = read()
  return unread === 0 ? value : resolve(value, readBytes, MAX_DEPTH)
}

function resolve(value: unknown, readBytes: (bytes: Uint8Array) => unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Unread) {
    if (depth === 0)
      throw new ProtocolError(`Extensions of MessagePack are nested more than ${MAX_DEPTH} deep`)
    return value.build(resolve(readBytes(value.bytes), readBytes, depth - 1))
  }
  if (value instanceof Set) return new Set([...value].map((item) => resolve(item, readBytes, depth)))
  if (ArrayBuffer.isView(value)) return value
  const members = value as Record<string, unknown>
  for (const key in members) {
    const member = members[key]
    if (typeof member === 'object') members[key] = resolve(member, readBytes, depth)
  }
  return value
}

/** Replaces a value that plain MessagePack has no form for by an extension; returns any other value unchanged. */
export function withExtension(value: object | bigint): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? new BigIntExtension(String(value)) : value
  if (value instanceof Map) return new MapExtension([...value])
  if (value instanceof Set) return new SetExtension([...value])
  // msgpackr writes only a Buffer as `bin`, the type that every MessagePack library reads as bytes.
  return value.constructor === Uint8Array ? asBuffer(value as Uint8Array) : value
}
