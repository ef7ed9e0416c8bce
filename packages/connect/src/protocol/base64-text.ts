/**
 * Bodies of gRPC-Web as text, for clients that cannot read bytes: base64, in which padding may occur anywhere, because
 * each piece that was written has its own.
 */

import { Buffer } from 'node:buffer'
import { CallFailure } from '@elysia-microservices/protobuf/rpc'

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const PADDING = 0x3d

/** The value of each digit by its character; -1 for characters that are no digit. */
const VALUES = /* @__PURE__ */ new Int8Array(256).fill(-1).map((none, character) => {
  const value = DIGITS.indexOf(String.fromCharCode(character))
  return value < 0 ? none : value
})

/** Writes one piece of a body. */
export function toText(piece: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = piece
  return new Uint8Array(Buffer.from(Buffer.from(buffer, byteOffset, length).toString('base64'), 'latin1'))
}

/** Reads a body in pieces of any size. */
export class TextReader {
  /** Characters of a group of four that is not complete yet. */
  #left: Uint8Array = new Uint8Array()

  /** The bytes of the next piece. @throws {CallFailure} `invalid_argument`: it is not base64 */
  read(piece: Uint8Array): Uint8Array {
    const text = new Uint8Array(this.#left.length + piece.length)
    text.set(this.#left)
    text.set(piece, this.#left.length)
    const end = text.length - (text.length % 4)
    this.#left = text.slice(end)
    const bytes = new Uint8Array((end / 4) * 3)
    let length = 0
    for (let at = 0; at < end; at += 4) {
      const padding = text[at + 3] !== PADDING ? 0 : text[at + 2] === PADDING ? 2 : 1
      let group = 0
      for (let index = 0; index < 4 - padding; index++) {
        const value = VALUES[text[at + index] as number] as number
        if (value < 0) throw malformed()
        group |= value << (18 - 6 * index)
      }
      for (let index = 0; index < 3 - padding; index++) bytes[length++] = (group >> (16 - 8 * index)) & 0xff
    }
    return bytes.subarray(0, length)
  }

  /** The body has ended. @throws {CallFailure} `invalid_argument`: it ended within a group of four */
  end(): void {
    if (this.#left.length > 0) throw malformed()
  }
}

function malformed(): CallFailure {
  return new CallFailure('invalid_argument', 'The request is not base64, which its content type demands')
}
