/**
 * The format of messages on our own channels: `<address>\n<reply>\n<headers>\n<words>`. The address is the rest behind
 * the inbox, or the route that was called; headers are JSON, or nothing.
 */
import {
  type Carried,
  type CarriedHeaders,
  joinedHeaders,
  jsonOf,
  textOf,
  type Words
} from '@elysia-microservices/transport/engine'
import { type Headers, ProtocolError } from '@elysia-microservices/transport/kit'
import { isInbox } from './channels.ts'

const LINE = 10
/** In the place of an address that is no inbox: nothing is published there. */
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
 * @param prefix stands before its address
 * @throws {ProtocolError} it is none
 */
export function readFrame(bytes: Buffer, prefix = ''): Carried {
  const first = bytes.indexOf(LINE)
  const second = bytes.indexOf(LINE, first + 1)
  const third = bytes.indexOf(LINE, second + 1)
  if (first === -1 || second === -1 || third === -1)
    throw new ProtocolError('A message between our ends has no head')
  const address = prefix + bytes.toString('utf8', 0, first)
  const reply = bytes.toString('latin1', first + 1, second)
  const headers = third === second + 1 ? undefined : readHeaders(bytes.toString('utf8', second + 1, third))
  // Otherwise a stranger could have a service publish on channels of others: such a message is dropped, and counted.
  const known = reply === '' || isInbox(reply) ? reply : NOWHERE
  return { address, reply: known, headers, words: bytes.subarray(third + 1) }
}

/** The JSON of headers; several values of a name with commas between. */
export function headersToJson(headers: CarriedHeaders): string {
  return JSON.stringify(joinedHeaders(headers))
}

/** Headers of JSON: texts by name. Whatever else stands there is left out. */
function readHeaders(json: string): Headers | undefined {
  try {
    return headersIn(jsonOf(json))
  } catch {
    return undefined
  }
}

/** The texts of an object by name; `undefined`: there is none. */
export function headersIn(given: unknown): Headers | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const texts = Object.entries(given).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string'
  )
  return texts.length === 0 ? undefined : Object.fromEntries(texts)
}

/** An event on a channel of Nest's that has gone to some of our services already: this field has their queues. */
const REACHED = '_elysia'

/** Stands for the store among the queues that have an event: none has a blank in its name. */
export const STORED = ' '

/** Nest's request for one of our calls: with an id that no other client has, and with its headers. */
export function nestRequest(words: Words, id: string, headers: CarriedHeaders | undefined): string {
  const { id: _, ...packet } = jsonOf(textOf(words)) as Record<string, unknown>
  return JSON.stringify({ ...packet, ...metadataOf(headers), id })
}

/** Nest's event for one of our events. @param reached queues and processes that have it already */
export function nestEvent(
  packet: string,
  headers: CarriedHeaders | undefined,
  reached: readonly string[]
): string {
  return headers === undefined && reached.length === 0
    ? packet
    : packet.slice(0, -1) + endOfNestEvent(headers, reached)
}

/** The end of a packet, in place of its last brace: metadata, and the queues that the event has reached. */
export function endOfNestEvent(headers: CarriedHeaders | undefined, reached: readonly string[]): string {
  const extra = { ...metadataOf(headers), ...(reached.length > 0 && { [REACHED]: reached }) }
  return `,${JSON.stringify(extra).slice(1)}`
}

const ONLY_STORED = endOfNestEvent(undefined, [STORED])

/** Whether an event is in the store, and went to nobody else: no other packet ends so. */
export function isOnlyStored(packet: string): boolean {
  return packet.endsWith(ONLY_STORED)
}

function metadataOf(headers: CarriedHeaders | undefined): object {
  return headers === undefined ? {} : { metadata: JSON.parse(headersToJson(headers)) }
}

/** A message on one of Nest's channels. */
export interface NestMessage {
  readonly words: string
  /** Of a request, as JSON; `undefined`: it is an event. */
  readonly isRequest: boolean
  /** Of one of our clients, which has found none of our services. */
  readonly isForNest: boolean
  readonly headers: Headers | undefined
  readonly reached: readonly unknown[]
}

/** Reads a message of Nest's. What is not JSON is the data of an event, as for Nest's own services. */
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

/** The id of an answer of Nest's; `undefined`: it has none that could be ours. */
export function idOfAnswer(words: string): string | undefined {
  try {
    const { id } = Object(JSON.parse(words)) as { readonly id?: unknown }
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}
