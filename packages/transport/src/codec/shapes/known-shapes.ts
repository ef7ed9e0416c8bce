/**
 * The shapes of objects that this program sends, found key by key: a tree in which each shape leads to the shapes with
 * one more key.
 */
import { concatBytes } from '../../bytes/read.ts'
import { isWellFormed, text as utf8 } from '../../bytes/text.ts'
import { hashOf, SEPARATOR, SHAPE_HEAD } from './format.ts'

/** Most shapes that follow one. An object with other keys each time is a list whose keys are data, such as ids. */
const MAX_BRANCHES = 32
const MAX_FIRST_KEYS = 256
/** The tree is dropped after so many unknown keys: keys of data must not take the place of real shapes for ever. */
const MAX_UNKNOWN = 4_096
/** Most UTF-16 units of all keys of a shape: data that came from a peer must not fill the memory with its keys. */
const MAX_UNITS = 2_000
/** Most bytes of the end of a message that a shape remembers. */
const KEPT_BYTES = 4_096

/** The shapes of a message, as they stand behind its body. */
interface End {
  readonly shapes: readonly Shape[]
  readonly bytes: Uint8Array
}

/** The keys of an object, in order. */
export class Shape {
  readonly #parent: Shape | undefined
  readonly #key: string
  /** UTF-16 units of all keys, each with a separator. */
  readonly #units: number
  #next: Map<string, Shape> | undefined
  /** The shape that followed last, which usually follows again. */
  lastKey: string | undefined
  last: Shape | undefined
  /** The message for which `id` is valid. */
  message = 0
  /** The number of the shape in that message. */
  id = 0
  #bytes: Uint8Array | undefined
  /** The end of the last message whose outermost object had this shape. */
  #end: End | undefined

  constructor(parent: Shape | undefined, key: string) {
    this.#parent = parent
    this.#key = key
    this.#units = parent === undefined ? 0 : parent.#units + key.length + 1
  }

  /** The shape with one more key, where it is not `last`; `undefined` if the keys look like data. */
  next(key: string): Shape | undefined {
    const next = this.#next?.get(key) ?? this.#learn(key)
    if (next === undefined) return undefined
    this.lastKey = key
    this.last = next
    return next
  }

  /**
   * The end of a message with these shapes, of which this one is the last; `undefined` if one of them cannot be written.
   */
  endOf(shapes: readonly Shape[]): Uint8Array | undefined {
    if (this.#end !== undefined && isSame(this.#end.shapes, shapes)) return this.#end.bytes
    const parts: Uint8Array[] = [Uint8Array.of(shapes.length)]
    for (const shape of shapes) {
      const bytes = shape.#written()
      if (bytes === undefined) return undefined
      parts.push(bytes)
    }
    const bytes = concatBytes(parts)
    if (bytes.length <= KEPT_BYTES) this.#end = { shapes: [...shapes], bytes }
    return bytes
  }

  #learn(key: string): Shape | undefined {
    unknown++
    const most = this.#parent === undefined ? MAX_FIRST_KEYS : MAX_BRANCHES
    this.#next ??= new Map()
    if (this.#next.size >= most || this.#units + key.length > MAX_UNITS) return undefined
    const next = new Shape(this, key)
    this.#next.set(key, next)
    return next
  }

  /** The hash, the length and the keys. */
  #written(): Uint8Array | undefined {
    if (this.#bytes !== undefined) return this.#bytes
    const keys: string[] = []
    for (let shape: Shape = this; shape.#parent !== undefined; shape = shape.#parent) keys.push(shape.#key)
    const text = keys.reverse().join(SEPARATOR)
    // A key with a separator would become two.
    if (text.split(SEPARATOR).length !== keys.length || !isWellFormed(text)) return undefined
    const room = utf8.allocate(SHAPE_HEAD + text.length * 3)
    const length = utf8.write(room, text, SHAPE_HEAD)
    const hash = hashOf(room, SHAPE_HEAD, SHAPE_HEAD + length)
    for (let index = 0; index < 4; index++) room[index] = hash >>> (24 - 8 * index)
    room[4] = length >>> 8
    room[5] = length
    this.#bytes = new Uint8Array(room.subarray(0, SHAPE_HEAD + length))
    return this.#bytes
  }
}

function isSame(one: readonly Shape[], other: readonly Shape[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}

let unknown = 0
let root = new Shape(undefined, '')

/** The shape without keys. It may be another one after each message. */
export function rootShape(): Shape {
  if (unknown > MAX_UNKNOWN) {
    unknown = 0
    root = new Shape(undefined, '')
  }
  return root
}
