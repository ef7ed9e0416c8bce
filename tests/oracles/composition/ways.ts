/** The ways to a service: the process itself, both protocols of TCP, and engines' servers inside the process. */
import { FakeCluster, kafkaBy } from '@elysia-microservices/kafka/testing'
import { FakeMqttServer, mqttBy } from '@elysia-microservices/mqtt/testing'
import { FakeNatsServer, natsBy } from '@elysia-microservices/nats/testing'
import { FakeRabbitServer, rabbitmqBy } from '@elysia-microservices/rabbitmq/testing'
import { FakeRedisServer, redisBy } from '@elysia-microservices/redis/testing'
import { tcp } from '@elysia-microservices/tcp'
import { memory, type Transport } from '@elysia-microservices/transport'

const DIRECT = ['memory', 'rsocket', 'nest', 'nats', 'redis', 'rabbitmq', 'mqtt', 'kafka'] as const
/** A gateway in each of Elysia's modes, in front of a service in the process. */
const GATEWAYS = ['gateway', 'gateway with aot: false'] as const
export const WAYS = [...DIRECT, ...GATEWAYS] as const
export type Way = (typeof WAYS)[number]
type Gateway = (typeof GATEWAYS)[number]

export function isGateway(way: Way): way is Gateway {
  return (GATEWAYS as readonly Way[]).includes(way)
}

interface Ends {
  readonly service: Transport
  /** The options of a client, once the service listens. */
  client(): object
  close(): Promise<void> | void
}

interface FakeServer {
  readonly port: number
  stop(): void
}

export async function newEnds(way: Way): Promise<Ends> {
  if (way === 'rsocket' || way === 'nest') {
    const transport = tcp({ host: '127.0.0.1', port: 0 })
    const client = () => ({ host: '127.0.0.1', port: transport.address!.port, protocol: way })
    return { service: transport, client, close() {} }
  }
  const [transport, server] = byName(isGateway(way) ? 'memory' : way)
  return { service: transport, client: () => ({ transport }), close: () => server?.stop() }
}

function byName(
  way: Exclude<Way, 'rsocket' | 'nest' | Gateway>
): [transport: Transport, server?: FakeServer] {
  switch (way) {
    case 'memory':
      return [memory()]
    case 'nats': {
      const server = new FakeNatsServer()
      return [natsBy(server.driver, { servers: `127.0.0.1:${server.port}` }), server]
    }
    case 'redis': {
      const server = new FakeRedisServer()
      return [redisBy(server.driver, { url: `redis://127.0.0.1:${server.port}` }), server]
    }
    case 'rabbitmq': {
      const server = new FakeRabbitServer()
      return [rabbitmqBy(server.driver, { urls: `amqp://127.0.0.1:${server.port}` }), server]
    }
    case 'mqtt': {
      const server = new FakeMqttServer()
      return [mqttBy(server.driver, { url: `mqtt://127.0.0.1:${server.port}` }), server]
    }
    case 'kafka': {
      const server = new FakeCluster()
      const options = { brokers: [`127.0.0.1:${server.port}`], advertised: false, partitions: 1 } as const
      return [kafkaBy(server.driver, options), server]
    }
  }
}
