/**
 * The names of spans and attributes from OpenTelemetry's semantic conventions (RPC is stable, messaging is in
 * development). They are written out here, because the package with these constants is ten times as large as this
 * one. A test compares the names with that package.
 */
import { type Attributes, SpanKind } from '@opentelemetry/api'
import type { Side } from '../figures/figures.ts'

/** The name of this library as an RPC system, and as a messaging system for events without a broker. */
export const SYSTEM = 'elysia_microservices'

/** The name of the instrumentation scope. */
export const SCOPE = '@elysia-microservices/telemetry'

/** The names of other RPC systems. */
export const GRPC = 'grpc'
export const CONNECT = 'connectrpc'

/** Attributes of requests. */
export const RPC = {
  system: 'rpc.system.name',
  method: 'rpc.method',
  original: 'rpc.method_original',
  status: 'rpc.status_code'
} as const

/** Attributes of events. */
export const MESSAGING = {
  system: 'messaging.system.name',
  destination: 'messaging.destination.name',
  group: 'messaging.consumer.group.name',
  operation: 'messaging.operation.name',
  type: 'messaging.operation.type',
  id: 'messaging.message.id',
  /** For RabbitMQ, where the pattern is the routing key. */
  routingKey: 'messaging.rabbitmq.destination.routing_key'
} as const

/** An attribute of both requests and events. */
export const ERROR_TYPE = 'error.type'
/** The network protocol below the message; the conventions define it for sockets only. */
export const NETWORK_TRANSPORT = 'network.transport'
/** The number of values that a stream has sent. The conventions have no name for this attribute. */
export const STREAM_VALUES = `${SYSTEM}.stream.values`
/** The number of a call's attempt, from 2. The conventions have no name for this attribute. */
export const ATTEMPT = `${SYSTEM}.attempt`

/** The name, kind and attributes of spans, which are the same for all messages of one pattern and side. */
export interface Naming {
  /** The name of the span. */
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
}

const KINDS: Readonly<Record<Side, SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
  producer: SpanKind.PRODUCER
}

/** Transports without a broker: the sender of an event delivers it directly. */
const DIRECT: ReadonlySet<string> = new Set(['tcp', 'memory', 'websocket', 'grpc', 'connect'])
/** RPC systems that the conventions know, by the names of the transports that speak them. */
const RPC_SYSTEMS: ReadonlyMap<string, string> = new Map([
  ['grpc', GRPC],
  ['connect', CONNECT]
])

/**
 * The system of messages that is not this library: for requests that of a transport of other libraries, for events the
 * broker. `undefined`: it is this library.
 */
export function systemOf(side: Side, transport: string): string | undefined {
  if (side === 'server' || side === 'client') return RPC_SYSTEMS.get(transport)
  return DIRECT.has(transport) ? undefined : transport
}

/** The name, kind and attributes for the spans of a pattern. */
export function namingOf(side: Side, transport: string, pattern: string): Naming {
  const kind = KINDS[side]
  const network = transport === 'tcp' ? { [NETWORK_TRANSPORT]: transport } : {}
  const system = systemOf(side, transport) ?? SYSTEM
  if (side === 'server' || side === 'client')
    return { name: pattern, kind, attributes: { [RPC.system]: system, [RPC.method]: pattern, ...network } }
  const operation = side === 'producer' ? 'send' : 'process'
  return {
    name: `${operation} ${pattern}`,
    kind,
    attributes: {
      [MESSAGING.system]: system,
      [MESSAGING.destination]: pattern,
      [MESSAGING.operation]: operation,
      [MESSAGING.type]: operation,
      ...(transport === 'rabbitmq' && { [MESSAGING.routingKey]: pattern }),
      ...network
    }
  }
}
