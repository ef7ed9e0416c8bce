/** RabbitMQ as an engine: the functions and rules that the shared code of all engines needs. */
import type { Engine } from '@elysia-microservices/engine'
import { RabbitConnection } from './connection/rabbit-connection.ts'
import type { Driver } from './driver.ts'
import type { CheckedOptions } from './options/options.ts'
import { recordOf, whyNoHeader } from './words/headers.ts'
import { whyNot } from './words/names.ts'

/**
 * RabbitMQ for one client or one service. @param service the name of its connection in RabbitMQ's tools, unless the
 * option `clientName` is set
 */
export function rabbitEngine(
  driver: Driver,
  options: CheckedOptions,
  service: string | undefined
): Engine<RabbitConnection> {
  return {
    name: 'rabbitmq',
    title: 'RabbitMQ',
    where: options.where,
    recordOf,
    whyNoHeader,
    whyNot,
    open: (listener) => RabbitConnection.open(driver, options, options.clientName ?? service, listener)
  }
}
