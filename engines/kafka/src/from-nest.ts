/** The transport that options of NestJS's transport stand for. */
import { type NestEnd, fromNest as translated } from '@elysia-microservices/transport/nest'
import { kafka } from './kafka.ts'
import { KAFKA_NEST_OPTIONS } from './options/nest-options.ts'
import { KAFKA_OPTIONS } from './options/options.ts'

/**
 * Makes the transport from the options of NestJS's. As in NestJS, a service without a group belongs to the group of its name there.
 * @throws {OptionError} an option has no counterpart here
 */
export function fromNest(given: object | undefined): NestEnd {
  const { transport: options, ...beside } = translated(KAFKA_NEST_OPTIONS, given, Object.keys(KAFKA_OPTIONS))
  return { ...beside, group: beside.group ?? 'nestjs-group', transport: kafka(options) }
}
