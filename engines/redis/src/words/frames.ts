/**
 * The format of messages on the channels of this library: `<address>\n<reply>\n<headers>\n<words>`. The address is the
 * part behind the inbox, or the route that was called; headers are JSON, or empty.
 */
import {
  type Carried,
  type CarriedHeaders,
  joinedHeaders,
  jsonOf,
  textOf,
  type Words
} from '@elysia-microservices/engine'
import { type MessageHeaders, ProtocolError } from '@elysia-microservices/transport/kit'
import { isInbox } from './channels.ts'

const LINE = 10
/** Stands for a reply address that is not an inbox; nothing is published to this address. */
const NOWHERE = '?'

/** Writes a frame. */
export function frameOf(
  address: string,
  words: Words,
  reply = '',
  headers?: CarriedHeaders
): string | Buffer {
  const head = `${address}\n${reply}\n${headers === undefined ? '' : headersToJson(headers)}\n`
  return typeof words === 'string' ? head + words : Buffer.concat([Buffer.from(head), words])
}

/**
 * Reads a frame.
 * @param prefix stands in front of the address
 * @throws {ProtocolError} the bytes are not a frame
 */
export function readFrame(bytes: Buffer, prefix = ''): Carried {
  const first = bytes.indexOf(LINE)
  const second = bytes.indexOf(LINE, first + 1)
  const third = bytes.indexOf(LINE, second + 1)
  if (first === -1 || second === -1 || third === -1)
    throw new ProtocolError('A message on a channel of this library has no head')
  const address = prefix + bytes.toString('utf8', 0, first)
  const reply = bytes.toString('latin1', first + 1, second)
  const headers = third === second + 1 ? undefined : readHeaders(bytes.toString('utf8', second + 1, third))
  // A message with a reply address that is not an inbox is dropped and counted: otherwise a stranger could make this
  // service publish to any channel.
  const known = reply === '' || isInbox(reply) ? reply : NOWHERE
  return { address, reply: known, headers, words: bytes.subarray(third + 1) }
}

/** Headers as JSON; several values of one name are joined with commas. */
export function headersToJson(headers: CarriedHeaders): string {
  return JSON.stringify(joinedHeaders(headers))
}

/** The fields of an event in a stream: names and values in turn. */
export function fieldsOf({
  packet,
  id,
  key,
  headers
}: {
  readonly packet: string
  readonly id: string
  readonly key?: string | undefined
  readonly headers: CarriedHeaders | undefined
}): string[] {
  const fields = ['packet', packet, 'id', id]
  if (key !== undefined && key !== '') fields.push('key', key)
  if (headers !== undefined) fields.push('headers', headersToJson(headers))
  return fields
}

/** Reads headers from JSON: texts by name. All else is left out. */
function readHeaders(json: string): MessageHeaders | undefined {
  try {
    return headersIn(jsonOf(json))
  } catch {
    return undefined
  }
}

/** The texts of an object by name; `undefined`: there are none. */
export function headersIn(given: unknown): MessageHeaders | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const texts = Object.entries(given).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string'
  )
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

/**
 * The field of an event on NestJS's channel with the queues and processes of this library that have received the
 * event already.
 */
const REACHED = '_elysia'

/** Stands for the store in the list of queues that have the event. The names of queues have no blanks. */
export const STORED = ' '

/** A request for NestJS services: with an id that no other client uses, and with the headers of the call. */
export function nestRequest(words: Words, id: string, headers: CarriedHeaders | undefined): string {
  const { id: _, ...packet } = jsonOf(textOf(words)) as Record<string, unknown>
  return JSON.stringify({ ...packet, ...metadataOf(headers), id })
}

/** An event for NestJS services. @param reached the queues and processes that have received the event already */
export function nestEvent(
  packet: string,
  headers: CarriedHeaders | undefined,
  reached: readonly string[]
): string {
  return headers === undefined && reached.length === 0
    ? packet
    : packet.slice(0, -1) + endOfNestEvent(headers, reached)
}

/** The text that replaces the last brace of a packet: metadata, and the queues that the event has reached. */
export function endOfNestEvent(headers: CarriedHeaders | undefined, reached: readonly string[]): string {
  const extra = { ...metadataOf(headers), ...(reached.length > 0 && { [REACHED]: reached }) }
  return `,${JSON.stringify(extra).slice(1)}`
}

const ONLY_STORED = endOfNestEvent(undefined, [STORED])

/** Whether an event was stored and sent to nobody else, which can be seen from the end of its packet. */
export function isOnlyStored(packet: string): boolean {
  return packet.endsWith(ONLY_STORED)
}

function metadataOf(headers: CarriedHeaders | undefined): object {
  return headers === undefined ? {} : { metadata: JSON.parse(headersToJson(headers)) }
}

/** A message on a channel of NestJS. */
export interface NestMessage {
  readonly words: string
  /** Whether the message is a request. */
  readonly isRequest: boolean
  /**
   * Whether a client of this library has sent the request to NestJS services, because it has found no service of this
   * library.
   */
  readonly isForNest: boolean
  readonly headers: MessageHeaders | undefined
  readonly reached: readonly unknown[]
}

/** Reads a message on a channel of NestJS. A text that is not JSON is the data of an event, as for NestJS services. */
export function readNest(words: string): NestMessage {
  let packet: unknown
  try {
    packet = JSON.parse(words)
  } catch {
    return {
      words: JSON.stringify({ data: words }),
      isRequest: false,
      isForNest: false,
      headers: undefined,
      reached: []
    }
  }
  const { id, metadata, [REACHED]: reached } = Object(packet) as Record<string, unknown>
  return {
    words,
    isRequest: id !== undefined,
    isForNest: typeof id === 'string' && isInbox(id),
    headers: headersIn(metadata),
    reached: Array.isArray(reached) ? reached : []
  }
}

/** The id in an answer of a NestJS service; `undefined`: the answer has no id that this library could have given. */
export function idOfAnswer(words: string): string | undefined {
  try {
    const { id } = Object(JSON.parse(words)) as { readonly id?: unknown }
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}
