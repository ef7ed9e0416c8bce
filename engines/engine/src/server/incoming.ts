/** Makes a message for handlers of a message that arrived over an engine. */
import { IncomingMessage, routeOfValue, type Sources, VIA_PLAIN } from '@elysia-microservices/transport/kit'
import type { NestPacket } from '@elysia-microservices/transport/nest'
import type { Carried, Words } from '../carrier.ts'
import { jsonOf, type ReplyToken, textOf } from '../words.ts'
import type { Subject } from './subjects.ts'

/** The origin of a request, and the time of its arrival. */
export interface Origin {
  readonly subject: Pick<Subject, 'count'>
  readonly address: string
  readonly headers: Carried['headers']
  /** The pattern of the handlers that get the request, if the engine names it. */
  readonly matched: string | undefined
  readonly replyTo: string
  /** Content of the reply address; `undefined` if the caller does not use this library. */
  readonly own: ReplyToken | undefined
  readonly callers: Sources
  readonly startedAt: number
  /** Settles the message before its handler has ended; `undefined`: the engine cannot. */
  readonly settle?: Carried['settle']
}

/**
 * Returns a body that has a pattern or data as a packet; `undefined` if another system has sent the body: then the
 * whole body is the data.
 */
export function envelopeOf(body: unknown): NestPacket | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { pattern, data } = body as NestPacket
  return pattern === undefined && data === undefined ? undefined : body
}

/**
 * Returns the pattern as its sender has written it, if that is a pattern of the address; otherwise the address.
 * Permissions are checked by address, so code that reads the pattern must not get a different one.
 */
export function patternOf(pattern: unknown, address: string): string {
  if (pattern === address || typeof pattern !== 'object' || routeOfValue(pattern) !== address) return address
  return JSON.stringify(pattern)
}

/**
 * Returns the content of an event's body: its data, and, if the body is a packet, the pattern as its sender has written
 * it.
 * @throws {SyntaxError} the body is not JSON
 */
export function contentOf(body: Words): Pick<NestPacket, 'data' | 'pattern'> {
  if (body.length === 0) return { data: undefined }
  const data = jsonOf(textOf(body))
  return envelopeOf(data) ?? { data }
}

/** Returns the same as `contentOf`, but accepts any body: a body that is not JSON is text. */
export function readableContentOf(body: Words): ReturnType<typeof contentOf> {
  try {
    return contentOf(body)
  } catch {
    return { data: textOf(body) }
  }
}

/**
 * Makes the message for the dispatcher. The address decides which handler gets the message; the packet only has the
 * pattern as its sender has written it.
 */
export function incoming(
  transport: string,
  origin: Pick<Origin, 'address' | 'headers' | 'own' | 'matched'> &
    Partial<Pick<Origin, 'replyTo' | 'callers' | 'settle' | 'startedAt'>>,
  { pattern }: NestPacket,
  data: unknown,
  kind: 'request' | 'event' = 'request'
): IncomingMessage {
  const { address, headers, own, matched, startedAt } = origin
  return new IncomingMessage({
    transport,
    kind,
    pattern: patternOf(pattern, address),
    route: address,
    matched,
    data,
    metadata: headers,
    // Durable handlers get stored events only, or they would run twice.
    via: VIA_PLAIN,
    timeout: own?.timeout,
    lifetime: own?.lifetime,
    arrivedAt: startedAt,
    from: own === undefined ? undefined : (origin as Origin),
    settle: origin.settle
  })
}
