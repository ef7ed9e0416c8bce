/** Writes texts in the Huffman code, bit by bit: the product only reads it. */
import { CODE_LENGTHS, codesOf } from '../http2/hpack/huffman.ts'

const CODES = codesOf(CODE_LENGTHS)

/** The bits of bytes, as a text of 0 and 1, without padding. */
export function huffmanBits(bytes: Uint8Array): string {
  return [...bytes]
    .map((one) => (CODES[one] as number).toString(2).padStart(CODE_LENGTHS[one] as number, '0'))
    .join('')
}

/** Bits as bytes, padded with 1. */
export function packed(bits: string): Uint8Array {
  const padded = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1')
  return Uint8Array.from(padded.match(/.{8}/g) ?? [], (one) => Number.parseInt(one, 2))
}

/** Bytes in the Huffman code. */
export const writeHuffman = (bytes: Uint8Array): Uint8Array => packed(huffmanBits(bytes))
