/** NATS as an engine: the functions and rules that the shared code of all engines needs. */
import type { Engine } from '@elysia-microservices/engine'
import { PatternNotFoundError, type ServerContext } from '@elysia-microservices/transport/kit'
import { NatsConnection } from './connection/nats-connection.ts'
import type { Driver } from './driver.ts'
import type { CheckedOptions } from './options/options.ts'
import { recordOf, whyNoHeader } from './words/headers.ts'
import { errorHeaders, readMicroError } from './words/micro-errors.ts'
import { isStorage } from './words/pub-ack.ts'
import { answerDiscovery, identityOf } from './words/service-info.ts'
import { whyNot } from './words/subjects.ts'

/** NATS for one service, or (`undefined`) for one client. */
export function natsEngine(
  driver: Driver,
  { connection, inboxes, where }: CheckedOptions,
  service: ServerContext | undefined
): Engine<NatsConnection> {
  const identity = service && identityOf(service)
  return {
    name: 'nats',
    inboxOption: 'inboxPrefix',
    title: 'NATS',
    where,
    recordOf,
    whyNoHeader,
    whyNot,
    open: (listener) =>
      NatsConnection.open(
        driver,
        { ...(identity && { name: identity.name }), ...connection },
        inboxes,
        listener
      ),
    foreignError: ({ headers, words }) => headers && readMicroError(headers, words),
    foreignErrorHeaders: errorHeaders,
    engineAnswer(body, pattern) {
      if (!isStorage(body)) return undefined
      return new PatternNotFoundError(
        `Nobody answers '${pattern}': a stream of NATS stores messages of this pattern as durable events; send the event by publish()`,
        pattern
      )
    },
    listening(connection, subjects) {
      if (identity !== undefined) answerDiscovery(connection, { ...identity, subjects })
    }
  }
}
