/** Base64 as Connect and gRPC use it: without padding when written, with or without it when read. */
import { Buffer } from 'node:buffer'

const VALID = /^[A-Za-z0-9+/_-]*={0,2}$/

/** Writes bytes in base64, without padding. */
export function toBase64(bytes: Uint8Array): string {
  const { buffer, byteOffset, length } = bytes
  return Buffer.from(buffer, byteOffset, length).toString('base64').replace(/=+$/, '')
}

/** Reads base64, in its own alphabet or in that for URLs; `undefined` if the text is not base64. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (!VALID.test(text)) return undefined
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  if ((text.length - padding) % 4 === 1) return undefined
  return new Uint8Array(Buffer.from(text, 'base64'))
}
