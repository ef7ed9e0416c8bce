/** NestJS over an engine: the options with which a NestJS service and a NestJS client are created. */
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

/** How NestJS uses an engine. */
export interface NestEnds {
  /** @param port the port of the engine's server */
  service(port: number): MicroserviceOptions
  client(port: number): ClientProvider
  /** The queue that both service and client name, if the engine needs one. */
  readonly queue?: string
  /** Data with headers, as users of NestJS create it. */
  record(data: unknown, said: Readonly<Record<string, string>>): unknown
  /** The address to which a message was published, from the context that NestJS passes to a handler. */
  address(context: BaseRpcContext): string
  header(context: BaseRpcContext, name: string): string | undefined
  /** Whether wildcards are `+` and `#` between slashes. Default: `*` and `>` between dots. */
  readonly levels?: true
  /** Whether headers reach NestJS handlers and are sent by NestJS clients. */
  readonly hasHeaders: boolean
  /** The error of the NestJS client if nobody listens; `undefined`: the client gets none. */
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

/** The name of the queue, which NestJS and this library must both use. */
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
  // MQTT below version 5 has no user properties.
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
