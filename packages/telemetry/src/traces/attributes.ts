/**
 * Names of spans and attributes by OpenTelemetry's semantic conventions (RPC stable, messaging in development). They
 * are written out, because the package of their constants is ten times as large as this one; a test compares.
 */
import { type Attributes, SpanKind } from '@opentelemetry/api'
import type { Side } from '../figures/figures.ts'

/** Our name among systems of remote calls, and of messages where no broker stands between. */
export const SYSTEM = 'elysia_microservices'

/** The name of the instrumentation scope. */
export const SCOPE = '@elysia-microservices/telemetry'

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
  /** Of RabbitMQ, where the pattern is one. */
  routingKey: 'messaging.rabbitmq.destination.routing_key'
} as const

/** Attributes of both. */
export const ERROR_TYPE = 'error.type'
/** The network under the message; the conventions define it for sockets only. */
export const NETWORK_TRANSPORT = 'network.transport'
/** Values that a stream has given: there is no name for it in the conventions. */
export const STREAM_VALUES = `${SYSTEM}.stream.values`
/** The number of a call's attempt, from 2: there is no name for it in the conventions. */
export const ATTEMPT = `${SYSTEM}.attempt`

/** The name, kind and attributes of spans, which are the same for all messages of one pattern and side. */
export interface Naming {
  /** Of the span. */
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

/** Transports without a broker: what sends an event over them is the sender's own process. */
const DIRECT: ReadonlySet<string> = new Set(['tcp', 'memory'])

/** The broker that carries the events of a transport; `undefined` if none does, and of requests. */
export function brokerOf(side: Side, transport: string): string | undefined {
  return side === 'server' || side === 'client' || DIRECT.has(transport) ? undefined : transport
}

/** The naming of the spans of a pattern. */
export function namingOf(side: Side, transport: string, pattern: string): Naming {
  const kind = KINDS[side]
  const network = transport === 'tcp' ? { [NETWORK_TRANSPORT]: transport } : {}
  if (side === 'server' || side === 'client')
    return { name: pattern, kind, attributes: { [RPC.system]: SYSTEM, [RPC.method]: pattern, ...network } }
  const operation = side === 'producer' ? 'send' : 'process'
  return {
    name: `${operation} ${pattern}`,
    kind,
    attributes: {
      [MESSAGING.system]: brokerOf(side, transport) ?? SYSTEM,
      [MESSAGING.destination]: pattern,
      [MESSAGING.operation]: operation,
      [MESSAGING.type]: operation,
      ...(transport === 'rabbitmq' && { [MESSAGING.routingKey]: pattern }),
      ...network
    }
  }
}
