/**
 * Packets of Nest's wires, whatever carries them: JSON, its keys in the order in which Nest writes them.
 * Replies are put together as text: one `JSON.stringify` for the value, none for the packet around it.
 */
import { ProtocolError } from '../errors/index.ts'
import { NO_MESSAGE_HANDLER } from './words.ts'

/** A packet as it came: any JSON object. Every field may be missing or of any type. */
export interface NestPacket {
  readonly pattern?: unknown
  readonly data?: unknown
  readonly metadata?: unknown
  /** A request has one, whatever its value; an event has none. */
  readonly id?: unknown
  readonly err?: unknown
  readonly response?: unknown
  readonly isDisposed?: unknown
  readonly status?: unknown
}

/**
 * Reads the JSON text of a packet. What is not an object is a packet without fields.
 * @throws {ProtocolError} it is not JSON
 */
export function parsePacket(json: string): NestPacket {
  let packet: unknown
  try {
    packet = JSON.parse(json)
  } catch (cause) {
    throw new ProtocolError('Could not parse JSON of a received packet', cause)
  }
  return typeof packet === 'object' && packet !== null ? packet : {}
}

/** The JSON text of a value; `undefined` for a value that a packet leaves out. Throws what JSON cannot carry. */
export function toJson(value: unknown): string | undefined {
  return JSON.stringify(value)
}

/** The JSON text of the id of a request. */
export function idToJson(id: unknown): string {
  return JSON.stringify(id)
}

/** The only or last value of a reply; `json` `undefined`: the end without a value. */
export function lastValuePacket(json: string | undefined, id: string): string {
  return json === undefined
    ? `{"isDisposed":true,"id":${id}}`
    : `{"response":${json},"isDisposed":true,"id":${id}}`
}

/** A value of a reply that goes on; `json` `undefined`: the value is `undefined`. */
export function valuePacket(json: string | undefined, id: string): string {
  return json === undefined ? `{"id":${id}}` : `{"response":${json},"id":${id}}`
}

/** An error, which ends a reply. */
export function errorPacket(json: string, id: string): string {
  return `{"err":${json},"isDisposed":true,"id":${id}}`
}

/** The answer to a request whose pattern nobody handles. */
export function noHandlerPacket(id: string): string {
  return `{"id":${id},"status":"error","err":"${NO_MESSAGE_HANDLER}"}`
}

/** A request up to its data, the part that calls of one pattern share. */
export function requestHead(pattern: string | number | object): string {
  return `{"pattern":${JSON.stringify(pattern)}`
}

/** A request. `data` and `metadata` as JSON text, `undefined` to leave them out. */
export function requestPacket(
  head: string,
  data: string | undefined,
  metadata: string | undefined,
  id: number
): string {
  const tail = metadata === undefined ? `,"id":"${id}"}` : `,"metadata":${metadata},"id":"${id}"}`
  return data === undefined ? head + tail : `${head},"data":${data}${tail}`
}

/** An event: a request without id, its pattern canonical. */
export function eventPacket(route: string, data: string | undefined, metadata: string | undefined): string {
  const head = `{"pattern":${JSON.stringify(route)}`
  const tail = metadata === undefined ? '}' : `,"metadata":${metadata}}`
  return data === undefined ? head + tail : `${head},"data":${data}${tail}`
}
