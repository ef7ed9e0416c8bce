/** The transport that options of NestJS's transport stand for. */
import type { NestEnd } from '@elysia-microservices/transport/nest'
import { rabbitmqFromNest } from './options/nest-options.ts'
import { RABBITMQ_OPTIONS, type RabbitmqOptions } from './options/options.ts'
import { rabbitmq } from './rabbitmq.ts'

/**
 * Makes the transport from the options of NestJS's. The processes that share a queue are one group.
 * @throws {OptionError} an option has no counterpart here
 */
export function fromNest(given: object | undefined): NestEnd {
  const { transport: options, ...beside } = rabbitmqFromNest(given, Object.keys(RABBITMQ_OPTIONS))
  return {
    ...beside,
    group: beside.group ?? ((options as RabbitmqOptions).nest?.queue || undefined),
    transport: rabbitmq(options)
  }
}
