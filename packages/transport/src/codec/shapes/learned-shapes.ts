/** The shapes that peers have sent, so that their keys are not read again with each message. */
import { text as utf8 } from '../../bytes/text.ts'
import { hashOf, SEPARATOR } from './format.ts'
import { compileMaker, fill, type Maker, type ReadNext, templateOf } from './objects.ts'

/** Shapes of which one generation is kept. There are two: shapes in use move on to the new one. */
const GENERATION = 500
/** Most bytes of a shape that is kept. */
const KEPT_BYTES = 2_048

/** Objects of a shape after which code is made for it: to make code takes as long as to make some dozens of objects. */
const COMPILED_AFTER = 30

/** A shape as it has arrived. */
export class LearnedShape {
  readonly keys: readonly string[]
  readonly bytes: Uint8Array
  readonly #template: object
  #maker: Maker | undefined
  #made = 0

  constructor(keys: readonly string[], bytes: Uint8Array) {
    this.keys = keys
    this.bytes = bytes
    this.#template = templateOf(keys)
  }

  /** Makes an object of this shape. */
  make(readNext: ReadNext): object {
    if (this.#maker !== undefined) return this.#maker(readNext)
    if (++this.#made === COMPILED_AFTER) this.#maker = compileMaker(this.keys)
    return fill(this.#template, this.keys, readNext)
  }
}

let young = new Map<number, LearnedShape>()
let old = new Map<number, LearnedShape>()

/** Finds or learns the shape between two positions; `undefined` if it is none. */
export function shapeAt(
  hash: number,
  buffer: Uint8Array,
  start: number,
  end: number
): LearnedShape | undefined {
  const known = young.get(hash)
  if (known !== undefined && isSame(known.bytes, buffer, start, end)) return known
  const older = old.get(hash)
  if (older === undefined || !isSame(older.bytes, buffer, start, end)) return learn(hash, buffer, start, end)
  keep(hash, older)
  return older
}

function isSame(bytes: Uint8Array, buffer: Uint8Array, start: number, end: number): boolean {
  const { length } = bytes
  if (length !== end - start) return false
  for (let index = 0; index < length; index++) if (bytes[index] !== buffer[start + index]) return false
  return true
}

function learn(hash: number, buffer: Uint8Array, start: number, end: number): LearnedShape | undefined {
  // A shape under the hash of another would make others learn theirs again and again.
  if (hashOf(buffer, start, end) !== hash) return undefined
  const keys = utf8.read(buffer, start, end).split(SEPARATOR)
  if (new Set(keys).size !== keys.length) return undefined
  const shape = new LearnedShape(keys, new Uint8Array(buffer.subarray(start, end)))
  if (end - start <= KEPT_BYTES) keep(hash, shape)
  return shape
}

function keep(hash: number, shape: LearnedShape): void {
  if (young.size >= GENERATION) {
    old = young
    young = new Map()
  }
  young.set(hash, shape)
}
