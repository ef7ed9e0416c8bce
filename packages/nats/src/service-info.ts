/**
 * NATS's micro service API (ADR-32): what `nats micro ls`, `info` and `stats` ask. Answered here and not by
 * `@nats-io/services`, which wants to subscribe and dispatch itself and counts only the synchronous part of handlers.
 */
import type { Endpoint } from './endpoints.ts'
import type { Link } from './link.ts'

/** What a service says of itself. */
export interface ServiceDescription {
  readonly name: string
  readonly version: string
  /** Names this process among those of the service. */
  readonly id: string
  readonly endpoints: readonly Endpoint[]
}

const NANOSECONDS = 1_000_000

/** Answers what NATS's tools ask of a service. */
export function answerDiscovery(link: Link, description: ServiceDescription): void {
  const { name, version, id, endpoints } = description
  const started = new Date().toISOString()
  const own = { name, id, version, metadata: {} }
  const common = (endpoint: Endpoint) => ({
    name: endpointName(endpoint.subject),
    subject: endpoint.subject,
    queue_group: endpoint.queue ?? ''
  })
  const info = (metadata: (endpoint: Endpoint) => object) => ({
    type: 'io.nats.micro.v1.info_response',
    ...own,
    description: '',
    endpoints: endpoints.map((endpoint) => ({ ...common(endpoint), metadata: metadata(endpoint) }))
  })
  const answers = {
    PING: () => ({ type: 'io.nats.micro.v1.ping_response', ...own }),
    INFO: () => {
      const whole = info((endpoint) => endpoint.facts?.() ?? {})
      // Schemas that fill a message of NATS are left out: a service without them is still found.
      return JSON.stringify(whole).length * 3 <= link.maxPayload ? whole : info(() => ({}))
    },
    STATS: () => ({
      type: 'io.nats.micro.v1.stats_response',
      ...own,
      started,
      endpoints: endpoints.map((endpoint) => ({ ...common(endpoint), ...figuresOf(endpoint) }))
    })
  }
  for (const [verb, answer] of Object.entries(answers)) {
    for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.${name}`, `$SRV.${verb}.${name}.${id}`])
      link.subscribe(subject, undefined, (error, message) => {
        // Who may not subscribe there is not listed, and serves all the same.
        if (error === null && message.reply) link.publish(message.reply, JSON.stringify(answer()))
      })
  }
}

function figuresOf({ requests, errors, time, lastError }: Endpoint): object {
  return {
    num_requests: requests,
    num_errors: errors,
    last_error: lastError ?? '',
    processing_time: Math.round(time * NANOSECONDS),
    average_processing_time: requests === 0 ? 0 : Math.round((time / requests) * NANOSECONDS)
  }
}

/** The name of a service as the API allows it. */
export function serviceName(name: string | undefined): string {
  const allowed = (name ?? '').replace(/[^A-Za-z0-9_-]+/g, '-')
  return allowed === '' ? 'elysia-microservices' : allowed
}

function endpointName(subject: string): string {
  return subject
    .replaceAll('*', 'any')
    .replaceAll('>', 'rest')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
}
