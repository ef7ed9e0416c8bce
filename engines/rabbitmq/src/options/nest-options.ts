/** How the options of NestJS's RabbitMQ transport are answered. */
import {
  type FromNest,
  fromNest,
  NEST_SHARED,
  type NestTable,
  ofSeconds,
  RECONNECTS
} from '@elysia-microservices/transport/nest'

/** The options of NestJS's RabbitMQ transport, service and client. */
export const RABBITMQ_NEST_OPTIONS = {
  ...NEST_SHARED,
  urls: { ours: 'urls', convert: (value) => (Array.isArray(value) ? value.map(urlOf) : value) },
  queue: { ours: 'nest.queue' },
  noAck: { ours: 'nest.noAck' },
  prefetchCount: { ours: 'nest.prefetchCount' },
  isGlobalPrefetchCount: { needless: 'the queue has one consumer a process' },
  wildcards: { ours: 'nest.wildcards' },
  exchange: { ours: 'nest.exchange' },
  exchangeType: { ours: 'nest.exchangeType' },
  exchangeArguments: {
    instead: 'declare the exchange yourself, in the same way as a durable topic exchange'
  },
  routingKey: { instead: 'the patterns of handlers are the routing keys' },
  headers: { ours: 'client.headers' },
  persistent: { ours: 'nest.persistent' },
  noAssert: { ours: 'nest.noAssert' },
  replyQueue: { needless: 'a client gets its answers in a queue of its own' },
  consumerTag: { needless: 'the server chooses it' },
  maxConnectionAttempts: { needless: 'the start reports that no server can be reached' },
  'queueOptions.durable': { ours: 'nest.queueOptions.durable' },
  'queueOptions.autoDelete': { ours: 'nest.queueOptions.autoDelete' },
  'queueOptions.arguments': { ours: 'nest.queueOptions.arguments' },
  'queueOptions.messageTtl': { ours: 'nest.queueOptions.messageTtl' },
  'queueOptions.expires': { ours: 'nest.queueOptions.expires' },
  'queueOptions.deadLetterExchange': { ours: 'nest.queueOptions.deadLetterExchange' },
  'queueOptions.deadLetterRoutingKey': { ours: 'nest.queueOptions.deadLetterRoutingKey' },
  'queueOptions.maxLength': { ours: 'nest.queueOptions.maxLength' },
  'queueOptions.maxPriority': { ours: 'nest.queueOptions.maxPriority' },
  'socketOptions.reconnectTimeInSeconds': RECONNECTS,
  'socketOptions.heartbeatIntervalInSeconds': { ours: 'heartbeat', convert: ofSeconds },
  'socketOptions.findServers': { instead: 'give all addresses as options.urls' },
  'socketOptions.connectionOptions': { ours: 'tls', convert: tlsOf },
  'socketOptions.clientProperties': { ours: 'clientName', convert: nameOf }
} as const satisfies NestTable

/**
 * Translates options.
 * @param own the names of the options of the transport here
 * @throws {OptionError} an option has no counterpart
 */
export function rabbitmqFromNest(given: object | undefined, own: readonly string[]): FromNest {
  const { transport, ...beside } = fromNest(RABBITMQ_NEST_OPTIONS, given, own)
  const { nest, ...options } = transport as { nest?: Readonly<Record<string, unknown>> }
  // Without acknowledgements the number has no effect in NestJS either.
  const { prefetchCount, ...shared } = nest ?? {}
  const isCounted = String(shared['noAck']) === 'false' && prefetchCount !== undefined
  // NestJS's own name of a queue if none is given.
  const queue = { queue: 'default', ...shared, ...(isCounted && { prefetchCount }) }
  // Processes that have queues of their own do not share events of clients of this library either.
  const events = queue.queue === '' ? { events: 'every-process' } : {}
  return { ...beside, transport: { ...events, ...options, nest: queue } }
}

/** An address from its parts, which the driver takes, too. */
function urlOf(url: unknown): unknown {
  if (typeof url !== 'object' || url === null) return url
  const {
    protocol = 'amqp',
    hostname = 'localhost',
    port,
    username,
    password,
    vhost
  } = url as Readonly<Record<string, string | number | undefined>>
  const user = username ? `${encodeURIComponent(username)}:${encodeURIComponent(password ?? '')}@` : ''
  const place = port === undefined || port === '' ? hostname : `${hostname}:${port}`
  return `${protocol}://${user}${place}${vhost === undefined || vhost === '/' ? '' : `/${encodeURIComponent(vhost)}`}`
}

const OF_TLS = ['ca', 'cert', 'key', 'passphrase', 'pfx', 'servername']

/** Certificates; the other options of the socket have no effect. */
function tlsOf(value: unknown): unknown {
  const entries = Object.entries(Object(value) as object).filter(([name]) => OF_TLS.includes(name))
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function nameOf(value: unknown): unknown {
  const { connectionName, connection_name: named } = Object(value) as Readonly<Record<string, unknown>>
  return connectionName ?? named
}
