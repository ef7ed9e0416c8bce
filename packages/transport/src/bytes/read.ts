/** Reads numbers in network byte order from a position in a buffer, without a view object for each field. */

/** Reads 16 bits, unsigned. */
export function readUint16(buffer: Uint8Array, at: number): number {
  return ((buffer[at] as number) << 8) | (buffer[at + 1] as number)
}

/** Reads 24 bits, unsigned. */
export function readUint24(buffer: Uint8Array, at: number): number {
  return ((buffer[at] as number) << 16) | ((buffer[at + 1] as number) << 8) | (buffer[at + 2] as number)
}

/** Reads 31 bits; the first bit is reserved and ignored. */
export function readUint31(buffer: Uint8Array, at: number): number {
  return (
    (((buffer[at] as number) & 0x7f) << 24) |
    ((buffer[at + 1] as number) << 16) |
    ((buffer[at + 2] as number) << 8) |
    (buffer[at + 3] as number)
  )
}

/** Reads 32 bits, unsigned. */
export function readUint32(buffer: Uint8Array, at: number): number {
  return (((buffer[at] as number) << 24) | readUint24(buffer, at + 1)) >>> 0
}

/** Reads 63 bits; exact up to 2^53. */
export function readUint63(buffer: Uint8Array, at: number): number {
  return readUint31(buffer, at) * 2 ** 32 + readUint32(buffer, at + 4)
}

/** Joins the pieces in a new array. */
export function concatBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/** Copies the bytes between two positions into a new `Uint8Array`, which stays valid when the buffer is reused. */
export function copyBytes(buffer: Uint8Array, start: number, end: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.subarray(start, end))
}
