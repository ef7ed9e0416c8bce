/** All engines under torture. */
import type { Broker } from '../engine.ts'
import { onKafka } from './kafka.ts'
import { onMqtt } from './mqtt.ts'
import { onNats } from './nats.ts'
import { onRabbitmq } from './rabbitmq.ts'
import { onRedis, onSentinel } from './redis.ts'

const BROKERS: readonly Broker[] = [onNats, onRedis, onSentinel, onRabbitmq, onMqtt, onKafka]

/**
 * The engines whose servers this machine has. Reports the others as left out; in CI they are returned, too, and fail.
 * @param what the name of the scenarios, for the report
 */
export function tortured(what: string): readonly Broker[] {
  return BROKERS.filter(({ title, missing }) => {
    if (missing !== undefined) console.log(`Left out: ${what} over ${title}: there is no ${missing}`)
    return missing === undefined || process.env['CI'] !== undefined
  })
}
