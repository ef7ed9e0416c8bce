/** RabbitMQ as the dialogue needs it. */
import type { Engine } from '@elysia-microservices/transport/engine'
import { RabbitConnection } from './connection/rabbit-connection.ts'
import type { CheckedOptions } from './options/options.ts'
import { recordOf, whyNoHeader } from './words/headers.ts'
import { whyNot } from './words/names.ts'

/** RabbitMQ for one client or service. @param service its name, which RabbitMQ's tools show unless the user has given one */
export function rabbitEngine(options: CheckedOptions, service: string | undefined): Engine<RabbitConnection> {
  return {
    name: 'rabbitmq',
    title: 'RabbitMQ',
    where: options.where,
    recordOf,
    whyNoHeader,
    whyNot,
    open: (listener) => RabbitConnection.open(options, options.connectionName ?? service, listener)
  }
}
