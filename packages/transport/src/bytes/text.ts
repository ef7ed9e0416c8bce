/**
 * Reads and writes UTF-8 with the fastest functions of the runtime: `Buffer` under Bun, Node and Deno, `TextEncoder` and
 * `TextDecoder` elsewhere. This is the only file of the package that uses `Buffer`.
 */

interface NodeBuffer {
  allocUnsafe(size: number): Uint8Array
  byteLength(text: string): number
  from(buffer: ArrayBufferLike, byteOffset: number, byteLength: number): Uint8Array
  readonly prototype: {
    utf8Write(this: Uint8Array, text: string, at: number, most: number): number
    utf8Slice(this: Uint8Array, start: number, end: number): string
    latin1Slice(this: Uint8Array, start: number, end: number): string
  }
}

/** Turns text into bytes and back, and makes new buffers. */
export interface TextFunctions {
  /** Writes text at a position. The buffer needs room for three bytes per UTF-16 unit. Returns the bytes written. */
  write(buffer: Uint8Array, text: string, at: number): number
  /** Reads the text between two positions. Bytes that are not UTF-8 become U+FFFD. */
  read(buffer: Uint8Array, start: number, end: number): string
  /** Reads the bytes between two positions as Latin-1: one character for each byte. */
  latin1(buffer: Uint8Array, start: number, end: number): string
  /** Number of bytes that a text has in UTF-8. */
  length(text: string): number
  /** Makes a buffer with undefined content. */
  allocate(size: number): Uint8Array
}

/** Makes the functions of `TextEncoder` and `TextDecoder`, which every platform has. */
export function platformText(): TextFunctions {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return {
    write: (buffer, text, at) => encoder.encodeInto(text, buffer.subarray(at)).written,
    read: (buffer, start, end) => decoder.decode(buffer.subarray(start, end)),
    latin1(buffer, start, end) {
      let read = ''
      for (let at = start; at < end; at++) read += String.fromCharCode(buffer[at] as number)
      return read
    },
    length: (text) => encoder.encode(text).length,
    allocate: (size) => new Uint8Array(size)
  }
}

/**
 * Makes the functions of `Buffer`. `buffer.write(text, at, 'utf8')` checks its arguments and then calls `utf8Write`, so
 * a direct call of `utf8Write` takes 20 ns instead of 32 for 200 characters under Bun.
 */
function bufferText(buffers: NodeBuffer): TextFunctions {
  const { utf8Write, utf8Slice, latin1Slice } = buffers.prototype
  return {
    // The `utf8Write` of Cloudflare does not find out by itself how much room is left behind a position.
    write: (buffer, text, at) => utf8Write.call(buffer, text, at, buffer.length - at),
    read: (buffer, start, end) => utf8Slice.call(buffer, start, end),
    latin1: (buffer, start, end) => latin1Slice.call(buffer, start, end),
    length: (text) => buffers.byteLength(text),
    allocate: (size) => buffers.allocUnsafe(size)
  }
}

const { Buffer: found } = globalThis as { readonly Buffer?: NodeBuffer }

/**
 * Gives the same bytes as a `Buffer` if the runtime has that class: some libraries treat a `Buffer` and a `Uint8Array`
 * differently.
 */
export function asBuffer(bytes: Uint8Array): Uint8Array {
  const { buffer, byteOffset, byteLength } = bytes
  return found === undefined ? bytes : found.from(buffer, byteOffset, byteLength)
}

/** The fastest functions of this runtime. */
export const text: TextFunctions = found === undefined ? platformText() : bufferText(found)

/** Returns whether a text can be UTF-8. For most texts the JavaScript engine knows the answer without reading them. */
export function isWellFormed(text: string): boolean {
  // Every supported runtime has `isWellFormed`; the TypeScript types are of an older standard.
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}
