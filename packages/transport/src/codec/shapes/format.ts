/**
 * The form of a message in `application/x-json-shapes` (docs/protocol.md). Numbers are in network byte order.
 *
 * ```
 * MARK (1 byte), length of the body (4 bytes), body
 * number of shapes (1 byte); for each its hash (4 bytes), its length (2 bytes), its keys as text
 * chunks of text: for each its length in bytes (4 bytes), text
 * ```
 *
 * A shape is the list of an object's keys, in order. The body is a value: a byte that says its type, then its parts. All
 * texts of the body stand one after the other in the chunks, because to encode one long text takes hardly more time than
 * to encode a short one.
 */

/** The first byte. No JSON text begins with it, so any other message is JSON. */
export const MARK = 0x01

// The byte with which a value begins. Those below 0x40 have no content of their own.
export const NULL = 0x00
export const FALSE = 0x01
export const TRUE = 0x02
/** A whole number of 32 bits, with sign. */
export const WHOLE = 0x03
/** A number of 64 bits, IEEE 754. */
export const FLOAT = 0x04
export const EMPTY_OBJECT = 0x05
/** A list: its length (4 bytes), then its items. */
export const LIST = 0x06
/** A text: its length in UTF-16 units (4 bytes). */
export const TEXT = 0x07
/** And a whole number from 0 to 63. */
export const SMALL = 0x40
/** And the length of a text, up to 63. */
export const SHORT_TEXT = 0x80
/** And the length of a list, up to 31. */
export const SHORT_LIST = 0xc0
/** And the number of a shape; the values of its keys follow. */
export const OBJECT = 0xe0

/** Bytes before the body. */
export const HEAD = 5
/** Bytes before the keys of a shape: its hash and its length. */
export const SHAPE_HEAD = 6

/** Most shapes of a message, because the byte of an object has five bits for them. A value of more goes as JSON. */
export const MAX_SHAPES = 32
/** Stands between two keys of a shape. An object whose keys contain it goes as JSON. */
export const SEPARATOR = '\u0001'
/**
 * Most UTF-16 units of a chunk that has several texts. An engine keeps the whole chunk in memory for a text that is cut
 * from it, so it must not be long.
 */
export const CHUNK = 512

/** Hashes the keys of a shape into 30 bits, which V8 stores without an allocation (FNV-1a). */
export function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
  return hash & 0x3fffffff
}
