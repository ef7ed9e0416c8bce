/**
 * NATS's micro service API (ADR-32), with which `nats micro ls`, `info` and `stats` ask for services. Not implemented
 * with `@nats-io/services`, because that package subscribes and calls handlers itself, and measures only the
 * synchronous part of a handler.
 */
import { MAX_REPLY, type Subject } from '@elysia-microservices/engine'
import type { ServerContext } from '@elysia-microservices/transport/kit'
import { nuid } from '@nats-io/transport-node'

/** The part of a connection that this file needs. */
interface Connection {
  readonly maxPayload: number
  publish(subject: string, words: string): void
  listen(subject: string, receive: (message: { readonly reply: string }) => void): void
  isInbox(subject: string): boolean
}

/** The names of a service and of one of its processes. */
export interface ServiceIdentity {
  readonly name: string
  readonly version: string
  /** Identifies this process among the processes of the service. */
  readonly id: string
}

interface ServiceDescription extends ServiceIdentity {
  readonly subjects: readonly Subject[]
}

const NANOSECONDS = 1_000_000

/** Answers the requests of NATS's tools about a service. */
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
      // Schemas are left out if they are too large for a message of NATS: without them the tools still find the
      // service.
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
    // A service without the right to listen on these subjects is not listed, but still serves requests.
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

/** The name and version of a service, in the form that the API allows. */
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
