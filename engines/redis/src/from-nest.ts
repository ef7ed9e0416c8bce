/** The transport that options of NestJS's transport stand for. */
import { type NestEnd, fromNest as translated } from '@elysia-microservices/transport/nest'
import { REDIS_NEST_OPTIONS } from './options/nest-options.ts'
import { REDIS_OPTIONS } from './options/options.ts'
import { redis } from './redis.ts'

/**
 * Makes the transport from the options of NestJS's. As in NestJS, each process gets every event, unless it has a group or a name.
 * @param isNamed whether the service has a name or a group
 * @throws {OptionError} an option has no counterpart here
 */
export function fromNest(given: object | undefined, isNamed = false): NestEnd {
  const { transport: options, ...beside } = translated(REDIS_NEST_OPTIONS, given, Object.keys(REDIS_OPTIONS))
  const events = isNamed || beside.group !== undefined ? {} : { events: 'every-process' as const }
  return { ...beside, transport: redis({ ...events, ...options }) }
}
