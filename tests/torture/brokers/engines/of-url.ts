/** Finds the engine to which an address belongs. */
import type { Broker } from '../engine.ts'

/** By the scheme of their addresses. A program loads only its own engine, because loading all takes a second. */
const ENGINES: Readonly<Record<string, () => Promise<Broker>>> = {
  nats: async () => (await import('./nats.ts')).onNats,
  redis: async () => (await import('./redis.ts')).onRedis,
  sentinel: async () => (await import('./redis.ts')).onSentinel,
  amqp: async () => (await import('./rabbitmq.ts')).onRabbitmq,
  mqtt: async () => (await import('./mqtt.ts')).onMqtt,
  kafka: async () => (await import('./kafka.ts')).onKafka
}

/** @throws {Error} no engine has such addresses */
export async function brokerOf(url: string): Promise<Broker> {
  const scheme = url.slice(0, url.indexOf(':'))
  const engine = ENGINES[scheme]
  if (engine === undefined) throw new Error(`No engine has addresses such as ${url}`)
  return engine()
}
