/**
 * Reads texts in the Huffman code of HPACK, four bits at a time. The code is canonical: the lengths of the codes are
 * enough to find them. RFC 7541, section 5.2 and appendix B.
 */
import { text } from '@elysia-microservices/transport/kit'

/** The length in bits of the code of each byte, and of the end of the text (EOS). */
export const CODE_LENGTHS: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30
]
const EOS = 256
const SHORTEST = 5
const LONGEST = 30

/** The code of each byte and of EOS. */
export function codesOf(lengths: readonly number[]): number[] {
  const codes: number[] = new Array(lengths.length).fill(0)
  let next = 0
  for (let length = SHORTEST; length <= LONGEST; length++) {
    next *= 2
    for (let symbol = 0; symbol < lengths.length; symbol++)
      if (lengths[symbol] === length) codes[symbol] = next++
  }
  return codes
}

/** One step of reading: the next state in the lowest 8 bits, the byte that has ended in the 8 bits above, and flags. */
const SYMBOL_SHIFT = 8
const ENDS_SYMBOL = 0x1_00_00
const IS_WRONG = 0x2_00_00
const NIBBLES = 16
const PADDING_LIMIT = 7

/** The inner nodes of the tree of codes: the states of reading. */
interface Machine {
  /** For each state and the next four bits the step. */
  readonly steps: Int32Array
  /** Whether a text may end in a state: less than a byte of the first bits of EOS was read. */
  readonly mayEnd: Uint8Array
}

let machine: Machine | undefined

/** Made for the first text in this code: most of our own peers send none. */
function newMachine(): Machine {
  // A node has two children: above 0 an inner node, below 0 a symbol.
  const children: [number, number][] = [[0, 0]]
  codesOf(CODE_LENGTHS).forEach((code, symbol) => {
    let node = 0
    for (let bit = (CODE_LENGTHS[symbol] as number) - 1; bit >= 0; bit--) {
      const side = ((code >>> bit) & 1) as 0 | 1
      const pair = children[node] as [number, number]
      if (bit === 0) pair[side] = -1 - symbol
      else {
        if (pair[side] === 0) pair[side] = children.push([0, 0]) - 1
        node = pair[side]
      }
    }
  })
  const steps = new Int32Array(children.length * NIBBLES)
  for (let state = 0; state < children.length; state++)
    for (let nibble = 0; nibble < NIBBLES; nibble++)
      steps[state * NIBBLES + nibble] = stepOf(children, state, nibble)
  const mayEnd = new Uint8Array(children.length)
  for (let node = 0, bits = 0; bits <= PADDING_LIMIT; bits++) {
    mayEnd[node] = 1
    node = (children[node] as [number, number])[1]
  }
  return { steps, mayEnd }
}

function stepOf(children: readonly [number, number][], state: number, nibble: number): number {
  let node = state
  let ended = 0
  for (let bit = 3; bit >= 0; bit--) {
    const child = (children[node] as [number, number])[((nibble >>> bit) & 1) as 0 | 1]
    if (child >= 0) node = child
    else if (child === -1 - EOS) return IS_WRONG
    else {
      ended = ENDS_SYMBOL | ((-1 - child) << SYMBOL_SHIFT)
      node = 0
    }
  }
  return ended | node
}

/** Bytes that are kept for reading texts of usual lengths. */
const KEPT_SIZE = 4_096
let kept: Uint8Array | undefined

/** Reads a text, with one character for each byte. Returns `undefined` if it contains EOS or wrong padding. */
export function readHuffman(buffer: Uint8Array, start: number, end: number): string | undefined {
  machine ??= newMachine()
  const { steps, mayEnd } = machine
  // No code is shorter than 5 bits.
  const most = Math.ceil(((end - start) * 8) / SHORTEST)
  kept ??= new Uint8Array(KEPT_SIZE)
  const out = most <= KEPT_SIZE ? kept : new Uint8Array(most)
  let length = 0
  let state = 0
  for (let at = start; at < end; at++) {
    const byte = buffer[at] as number
    const first = steps[state * NIBBLES + (byte >>> 4)] as number
    if (first >= ENDS_SYMBOL) {
      if (first >= IS_WRONG) return undefined
      out[length++] = first >>> SYMBOL_SHIFT
    }
    const second = steps[(first & 0xff) * NIBBLES + (byte & 0xf)] as number
    if (second >= ENDS_SYMBOL) {
      if (second >= IS_WRONG) return undefined
      out[length++] = second >>> SYMBOL_SHIFT
    }
    state = second & 0xff
  }
  return mayEnd[state] === 1 ? text.latin1(out, 0, length) : undefined
}
