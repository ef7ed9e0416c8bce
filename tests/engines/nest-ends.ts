/** Nest's own ends over an engine: what a service and a client of Nest's are made with. */
import { headers } from '@nats-io/transport-node'
import {
  type BaseRpcContext,
  type ClientProvider,
  type MicroserviceOptions,
  type MqttContext,
  MqttRecordBuilder,
  type NatsContext,
  NatsRecordBuilder,
  type RedisContext,
  type RmqContext,
  RmqRecordBuilder,
  Transport
} from '@nestjs/microservices'

/** How Nest reaches an engine. */
export interface NestEnds {
  /** @param port of the engine's server */
  service(port: number): MicroserviceOptions
  client(port: number): ClientProvider
  /** The queue that both ends name, where they do. */
  readonly queue?: string
  /** Data with headers of its own, as Nest's users make it. */
  record(data: unknown, said: Readonly<Record<string, string>>): unknown
  /** Where a message was published, by what Nest's engine tells a handler. */
  address(context: BaseRpcContext): string
  header(context: BaseRpcContext, name: string): string | undefined
  /** Wildcards are `+` and `#` between slashes. Default: `*` and `>` between dots. */
  readonly levels?: true
  /** Headers reach Nest's handlers, and come from its clients. */
  readonly hasHeaders: boolean
  /** The error of Nest's client when nobody listens; missing: it gets none. */
  readonly nobody?: RegExp
}

export const nestOnNats: NestEnds = {
  service: (port) => ({
    transport: Transport.NATS,
    options: { servers: [`nats://127.0.0.1:${port}`], queue: 'orders' }
  }),
  client: (port) => ({ transport: Transport.NATS, options: { servers: [`nats://127.0.0.1:${port}`] } }),
  record(data, said) {
    const all = headers()
    for (const [name, value] of Object.entries(said)) all.set(name, value)
    return new NatsRecordBuilder(data).setHeaders(all).build()
  },
  address: (context) => (context as NatsContext).getSubject(),
  header: (context, name) => (context as NatsContext).getHeaders()?.get(name),
  hasHeaders: true,
  nobody: /There are no subscribers listening/
}

export const nestOnRedis: NestEnds = {
  service: (port) => ({
    transport: Transport.REDIS,
    options: { host: '127.0.0.1', port, wildcards: true }
  }),
  client: (port) => ({ transport: Transport.REDIS, options: { host: '127.0.0.1', port } }),
  address: (context) => (context as RedisContext).getChannel(),
  header: () => undefined,
  record: (data) => data,
  hasHeaders: false
}

/** The queue of the service, which Nest's ends and ours have to name. */
const queue = 'orders'

export const nestOnRabbitmq: NestEnds = {
  service: (port) => ({
    transport: Transport.RMQ,
    options: { urls: [`amqp://127.0.0.1:${port}`], queue, wildcards: true }
  }),
  client: (port) => ({ transport: Transport.RMQ, options: { urls: [`amqp://127.0.0.1:${port}`], queue } }),
  queue,
  record: (data, said) => new RmqRecordBuilder(data).setOptions({ headers: { ...said } }).build(),
  address: (context) => (context as RmqContext).getPattern(),
  header: (context, name) => (context as RmqContext).getMessage()['properties'].headers?.[name],
  hasHeaders: true,
  nobody: /There is no matching message handler/
}

export const nestOnMqtt: NestEnds = {
  // Without version 5 there are no user properties.
  service: (port) => ({
    transport: Transport.MQTT,
    options: { url: `mqtt://127.0.0.1:${port}`, protocolVersion: 5 }
  }),
  client: (port) => ({
    transport: Transport.MQTT,
    options: { url: `mqtt://127.0.0.1:${port}`, protocolVersion: 5 }
  }),
  record: (data, said) => new MqttRecordBuilder(data).setProperties({ userProperties: { ...said } }).build(),
  address: (context) => (context as MqttContext).getTopic(),
  header(context, name) {
    const { properties } = (context as MqttContext).getPacket() as {
      readonly properties?: { readonly userProperties?: Readonly<Record<string, string>> }
    }
    return properties?.userProperties?.[name]
  },
  hasHeaders: true,
  levels: true
}
