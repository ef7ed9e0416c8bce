/**
 * NATS's micro service API (ADR-32): what `nats micro ls`, `info` and `stats` ask. Answered here and not by
 * `@nats-io/services`, which wants to subscribe and dispatch itself and counts only the synchronous part of handlers.
 */
import { MAX_REPLY, type Subject } from '@elysia-microservices/transport/engine'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import { nuid } from '@nats-io/transport-node'

/** The connection, as far as it is needed here. */
interface Connection {
  readonly maxPayload: number
  publish(subject: string, words: string): void
  listen(subject: string, receive: (message: { readonly reply: string }) => void): void
  isInbox(subject: string): boolean
}

/** The names of a service and of this process of it. */
export interface ServiceIdentity {
  readonly name: string
  readonly version: string
  /** Names this process among those of the service. */
  readonly id: string
}

interface ServiceDescription extends ServiceIdentity {
  readonly subjects: readonly Subject[]
}

const NANOSECONDS = 1_000_000

/** Answers what NATS's tools ask of a service. */
export function answerDiscovery(connection: Connection, description: ServiceDescription): void {
  const { name, version, id, subjects } = description
  const started = new Date().toISOString()
  const own = { name, id, version, metadata: {} }
  const common = (subject: Subject) => ({
    name: endpointName(subject.address),
    subject: subject.address,
    queue_group: subject.queue ?? ''
  })
  const info = (metadata: (subject: Subject) => object) => ({
    type: 'io.nats.micro.v1.info_response',
    ...own,
    description: '',
    endpoints: subjects.map((subject) => ({ ...common(subject), metadata: metadata(subject) }))
  })
  const answers = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...own }),
    INFO: () => {
      const whole = info((subject) => subject.facts?.() ?? {})
      // Schemas that fill a message of NATS are left out: a service without them is still found.
      return JSON.stringify(whole).length * 3 <= connection.maxPayload ? whole : info(() => ({}))
    },
    STATS: () => ({
      type: 'io.nats.micro.v1.stats_response',
      ...own,
      started,
      endpoints: subjects.map((subject) => ({ ...common(subject), ...figuresOf(subject) }))
    })
  }
  for (const [verb, answer] of Object.entries(answers)) {
    // A service without the right to listen there is not listed, and serves all the same.
    for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`])
      connection.listen(subject, ({ reply }) => {
        if (reply.length <= MAX_REPLY && connection.isInbox(reply))
          connection.publish(reply, JSON.stringify(answer()))
      })
  }
}

function figuresOf({ requests, errors, time }: Subject): object {
  return {
    num_requests: requests,
    num_errors: errors,
    last_error: '',
    processing_time: Math.round(time * NANOSECONDS),
    average_processing_time: requests === 0 ? 0 : Math.round((time / requests) * NANOSECONDS)
  }
}

/** A service as the API allows it to call itself. */
export function identityOf({ name = '', version = '', instance }: ServerContext): ServiceIdentity {
  return {
    name: name.replace(/[^A-Za-z0-9_-]+/g, '-') || 'elysia-microservices',
    version: /^\d+\.\d+\.\d+/.test(version) ? version : '0.0.0',
    id: instance ?? nuid.next()
  }
}

function endpointName(subject: string): string {
  return subject
    .replaceAll('*', 'any')
    .replaceAll('>', 'rest')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
}
