/** From a message of an engine to one of our messages. */
import { VIA_PLAIN } from '../../durable/published.ts'
import { IncomingMessage, type Sources } from '../../message.ts'
import type { NestPacket } from '../../nest/packet.ts'
import { routeOfValue } from '../../pattern.ts'
import type { Carried, Words } from '../carrier.ts'
import { jsonOf, type ReplyToken, textOf } from '../words.ts'
import type { Subject } from './subjects.ts'

/** Where a request came from, and when. */
export interface Origin {
  readonly subject: Pick<Subject, 'count'>
  readonly address: string
  readonly headers: Carried['headers']
  /** The pattern of the handlers it is for, where the engine says it. */
  readonly matched: string | undefined
  readonly replyTo: string
  /** `undefined`: the caller is not ours. */
  readonly own: ReplyToken | undefined
  readonly callers: Sources
  readonly startedAt: number
}

/** The packet of a body that has a pattern or data; `undefined`: it is of another system, and data as a whole. */
export function envelopeOf(body: unknown): NestPacket | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { pattern, data } = body as NestPacket
  return pattern === undefined && data === undefined ? undefined : body
}

/**
 * The pattern as its sender wrote it, if it is one of the address; otherwise the address: rights are by address, and who
 * looks at the pattern must not be shown another one.
 */
export function patternOf(pattern: unknown, address: string): string {
  if (pattern === address || typeof pattern !== 'object' || routeOfValue(pattern) !== address) return address
  return JSON.stringify(pattern)
}

/**
 * The content of an event's body: its data, and the pattern as its sender wrote it, if it is a packet.
 * @throws {SyntaxError} it is not JSON
 */
export function contentOf(body: Words): Pick<NestPacket, 'data' | 'pattern'> {
  if (body.length === 0) return { data: undefined }
  const data = jsonOf(textOf(body))
  return envelopeOf(data) ?? { data }
}

/** The same of a body that may be anything: what is not JSON is text. */
export function readableContentOf(body: Words): ReturnType<typeof contentOf> {
  try {
    return contentOf(body)
  } catch {
    return { data: textOf(body) }
  }
}

/** The message for the dispatcher. What counts is the address; the packet says how the caller has written it. */
export function incoming(
  transport: string,
  origin: Pick<Origin, 'address' | 'headers' | 'own' | 'matched'> &
    Partial<Pick<Origin, 'replyTo' | 'callers'>>,
  { pattern }: NestPacket,
  data: unknown,
  kind: 'request' | 'event' = 'request'
): IncomingMessage {
  const { address, headers, own, matched } = origin
  return new IncomingMessage({
    transport,
    kind,
    pattern: patternOf(pattern, address),
    route: address,
    matched,
    data,
    metadata: headers,
    // Durable handlers get what is stored, and nothing twice.
    via: VIA_PLAIN,
    timeout: own?.timeout,
    from: own === undefined ? undefined : (origin as Origin)
  })
}
