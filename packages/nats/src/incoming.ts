/** From a message of NATS to a message of ours. */
import { IncomingMessage, type NestPacket, VIA_PLAIN } from '@elysia-microservices/transport/kit'
import type { Msg } from '@nats-io/transport-node'
import type { Endpoint } from './endpoints.ts'
import { readHeaders } from './headers.ts'
import type { ReplyToken } from './wire.ts'

/** Where a request came from, and when. */
export interface Origin {
  readonly endpoint: Endpoint
  readonly subject: string
  readonly headers: Msg['headers']
  readonly replyTo: string
  /** `undefined`: the caller is not ours. */
  readonly own: ReplyToken | undefined
  readonly startedAt: number
}

/** The packet of a body that has a pattern or data; `undefined`: it is of another system, and data as a whole. */
export function envelopeOf(body: unknown): NestPacket | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { pattern, data } = body as NestPacket
  return pattern === undefined && data === undefined ? undefined : body
}

/** The message for the dispatcher. What counts is the subject; the packet says how the caller has written it. */
export function incoming(
  { subject, headers, own }: Pick<Origin, 'subject' | 'headers' | 'own'>,
  { pattern }: NestPacket,
  data: unknown,
  kind: 'request' | 'event' = 'request'
): IncomingMessage {
  return new IncomingMessage({
    transport: 'nats',
    kind,
    pattern:
      pattern === undefined ? subject : typeof pattern === 'string' ? pattern : JSON.stringify(pattern),
    route: subject,
    data,
    metadata: readHeaders(headers),
    // Durable handlers get what is stored, and nothing twice.
    via: VIA_PLAIN,
    timeout: own?.timeout
  })
}

/** Subjects of NATS itself, which a handler of everything gets and has not asked for: inboxes, JetStream, discovery. */
export function isOfSystem(subject: string, { subject: subscribed }: Endpoint): boolean {
  const first = subject.charCodeAt(0)
  if (first !== DOLLAR && first !== UNDERSCORE) return false
  return subscribed.startsWith('*') || subscribed.startsWith('>')
}

const DOLLAR = 36
const UNDERSCORE = 95
