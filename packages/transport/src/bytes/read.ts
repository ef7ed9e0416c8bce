/** Reads numbers, in network byte order, from a buffer by position: no view object for each field. */

export function readUint16(buffer: Uint8Array, at: number): number {
  return ((buffer[at] as number) << 8) | (buffer[at + 1] as number)
}

export function readUint24(buffer: Uint8Array, at: number): number {
  return ((buffer[at] as number) << 16) | ((buffer[at + 1] as number) << 8) | (buffer[at + 2] as number)
}

/** 31 bits; the first bit is reserved and not read. */
export function readUint31(buffer: Uint8Array, at: number): number {
  return (((buffer[at] as number) & 0x7f) << 24) | readUint24(buffer, at + 1)
}

export function readUint32(buffer: Uint8Array, at: number): number {
  return (((buffer[at] as number) << 24) | readUint24(buffer, at + 1)) >>> 0
}

/** 63 bits, as far as a number is exact (2^53). */
export function readUint63(buffer: Uint8Array, at: number): number {
  return readUint31(buffer, at) * 2 ** 32 + readUint32(buffer, at + 4)
}

/** A copy of the bytes between two positions: it outlives the buffer, and is a plain `Uint8Array`. */
export function copyBytes(buffer: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(buffer.subarray(start, end))
}
