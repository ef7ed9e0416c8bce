/**
 * Packets of Nest's wires, the same on every transport: JSON, with the keys in Nest's order. Replies are built as text:
 * `JSON.stringify` is called for the value only, not for the packet around it.
 */
import { checkDepth, isTooDeep, MAX_DEPTH } from '../codec/depth.ts'
import { ProtocolError } from '../errors/index.ts'
import { routeOf } from '../pattern.ts'
import { NO_MESSAGE_HANDLER } from './words.ts'

/** A received packet: any JSON object. Every field may be missing or of any type. */
export interface NestPacket {
  readonly pattern?: unknown
  readonly data?: unknown
  readonly metadata?: unknown
  /** Present on a request, with any value; missing on an event. */
  readonly id?: unknown
  readonly err?: unknown
  readonly response?: unknown
  readonly isDisposed?: unknown
  readonly status?: unknown
}

/**
 * Reads the JSON text of a packet. A value that is not an object counts as a packet without fields.
 * @throws {ProtocolError} the text is not JSON, or nested too deeply
 */
export function parsePacket(json: string): NestPacket {
  const packet = readPacket(json)
  // Each level has an opening and a closing bracket.
  checkDepth(packet, json.length / 2)
  return packet
}

/**
 * Reads the JSON text of a packet of which a part may be nested too deeply: `isPartTooDeep` finds such a part, so that
 * only its own call fails.
 * @throws {ProtocolError} the text is not JSON
 */
export function readPacket(json: string): NestPacket {
  let packet: unknown
  try {
    packet = JSON.parse(json)
  } catch (cause) {
    throw new ProtocolError('Could not parse JSON of a received packet', cause)
  }
  return typeof packet === 'object' && packet !== null ? packet : {}
}

/**
 * Whether a part of a packet is nested too deeply to be passed on.
 * @param size characters of the packet's JSON
 */
export function isPartTooDeep(part: unknown, size: number): boolean {
  return size / 2 > MAX_DEPTH && isTooDeep(part)
}

/** The JSON text of a value; `undefined` for a value that a packet leaves out. Throws if JSON cannot carry it. */
export function toJson(value: unknown): string | undefined {
  return JSON.stringify(value)
}

/** The JSON text of a request's id. */
export function idToJson(id: unknown): string {
  return JSON.stringify(id)
}

/**
 * Makes the packet of the only or last value of a reply.
 * @param json `undefined` for an end without a value
 */
export function lastValuePacket(json: string | undefined, id: string): string {
  return json === undefined
    ? `{"isDisposed":true,"id":${id}}`
    : `{"response":${json},"isDisposed":true,"id":${id}}`
}

/**
 * Makes the packet of a value after which the reply continues.
 * @param json `undefined` for the value `undefined`
 */
export function valuePacket(json: string | undefined, id: string): string {
  return json === undefined ? `{"id":${id}}` : `{"response":${json},"id":${id}}`
}

/** Makes the packet of an error, which ends a reply. */
export function errorPacket(json: string, id: string): string {
  return `{"err":${json},"isDisposed":true,"id":${id}}`
}

/** Makes the answer to a request whose pattern has no handler. */
export function noHandlerPacket(id: string): string {
  return `{"id":${id},"status":"error","err":"${NO_MESSAGE_HANDLER}"}`
}

/** Makes the start of a request's packet, up to its data; it is the same for all calls with one pattern. */
export function requestHead(pattern: string | number | object): string {
  // `JSON.stringify` returns `undefined` for some objects, such as one whose `toJSON` returns a function: then the
  // route is sent.
  return `{"pattern":${JSON.stringify(pattern) ?? JSON.stringify(routeOf(pattern))}`
}

/** Makes the packet of a request. `data` and `metadata` are JSON texts, or `undefined` to leave them out. */
export function requestPacket(
  head: string,
  data: string | undefined,
  metadata: string | undefined,
  id: number
): string {
  const tail = metadata === undefined ? `,"id":"${id}"}` : `,"metadata":${metadata},"id":"${id}"}`
  return data === undefined ? head + tail : `${head},"data":${data}${tail}`
}

/** Makes the packet of an event: a request without an id, with the route as its pattern. */
export function eventPacket(route: string, data: string | undefined, metadata: string | undefined): string {
  const head = `{"pattern":${JSON.stringify(route)}`
  const tail = metadata === undefined ? '}' : `,"metadata":${metadata}}`
  return data === undefined ? head + tail : `${head},"data":${data}${tail}`
}
