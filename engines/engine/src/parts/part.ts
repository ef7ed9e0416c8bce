/**
 * The format of a part of a message that is too large for an engine: `~<id> <index> <bytes of all>`, a line feed, and
 * bytes. `~+20480` acknowledges 20,480 bytes. `~-` says that no more parts follow.
 */
import { text as utf8 } from '@elysia-microservices/transport/kit'
import type { Words } from '../carrier.ts'
import { SECRET_LENGTH } from '../secret.ts'
import { bytesOf, letterAt, numberIn, textOf } from '../words.ts'

/** The first character of a part: no JSON and no other word of this library begins with it. */
const PART = '~'
/** Follows `PART` in the word that acknowledges bytes. */
const RECEIVED = '+'
/**
 * Tells a process with the first part of a request that no more parts follow, because another process gets them or the
 * call has ended.
 */
export const NO_MORE = '~-'
/** Most bytes of the head of a part. */
export const HEAD = 64

/** One part of a message. */
export interface Part {
  readonly id: string
  readonly index: number
  readonly size: number
  readonly bytes: Uint8Array
}

/** Reads a part; `undefined` if the words are no part. */
export function readPart(words: Words): Part | undefined {
  const bytes = typeof words === 'string' ? bytesOf(words) : words
  const end = bytes.subarray(0, HEAD).indexOf(LINE_FEED)
  if (end === -1) return undefined
  const head = utf8.read(bytes, 1, end)
  const blank = head.indexOf(' ', SECRET_LENGTH + 1)
  const index = numberIn(head, SECRET_LENGTH + 1, blank)
  const size = numberIn(head, blank + 1)
  if (blank === -1 || index === -1 || size < 1) return undefined
  return { id: head.slice(0, SECRET_LENGTH), index, size, bytes: bytes.subarray(end + 1) }
}

const LINE_FEED = 10

/** Whether words are a part or the acknowledgement of parts. */
export function isOfParts(words: Words): boolean {
  return letterAt(words) === PART
}

/** The number of bytes that words acknowledge; -1: not a number; `undefined`: the words are no acknowledgement. */
export function readReceived(words: Words): number | undefined {
  return letterAt(words, 1) === RECEIVED ? numberIn(textOf(words), 2) : undefined
}

/** Whether words are `NO_MORE`. */
export function isNoMore(words: Words): boolean {
  return words.length === NO_MORE.length && textOf(words) === NO_MORE
}

/** Makes the word that acknowledges a number of bytes. */
export function receivedWord(bytes: number): string {
  return `${PART}${RECEIVED}${bytes}`
}

/** Makes the bytes of a part. */
export function partOf(id: string, index: number, size: number, bytes: Uint8Array): Uint8Array {
  const head = `${PART}${id} ${index} ${size}\n`
  const all = utf8.allocate(head.length + bytes.length)
  utf8.write(all, head, 0)
  all.set(bytes, head.length)
  return all
}

/** Joins the parts to the whole message. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = utf8.allocate(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
