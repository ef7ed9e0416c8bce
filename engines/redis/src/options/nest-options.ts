/** How the options of NestJS's Redis transport are answered. */
import { NEST_SHARED, type NestTable, onlyIf, RECONNECTS } from '@elysia-microservices/transport/nest'

const COMMANDS = 'the transport sends its own commands'
const QUEUE = 'calls wait for a connection for as long as their timeout'

/** The options of NestJS's Redis transport, service and client. */
export const REDIS_NEST_OPTIONS = {
  ...NEST_SHARED,
  host: { ours: 'host' },
  port: { ours: 'port' },
  username: { ours: 'username' },
  password: { ours: 'password' },
  tls: { ours: 'tls' },
  keepAlive: { ours: 'keepAlive' },
  connectTimeout: { ours: 'connectTimeout' },
  connectionName: { ours: 'clientName' },
  name: { ours: 'sentinelName' },
  sentinels: { ours: 'url', convert: (value) => (Array.isArray(value) ? value.map(addressOf) : value) },
  sentinelUsername: { ours: 'sentinelUsername' },
  sentinelPassword: { ours: 'sentinelPassword' },
  db: { needless: 'channels belong to no database; events are stored in database 0' },
  keyPrefix: { needless: 'NestJS does not put it before channels either' },
  wildcards: { needless: 'patterns may always have wildcards' },
  retryAttempts: RECONNECTS,
  retryDelay: RECONNECTS,
  retryStrategy: RECONNECTS,
  reconnectOnError: RECONNECTS,
  sentinelRetryStrategy: RECONNECTS,
  sentinelReconnectStrategy: RECONNECTS,
  autoResubscribe: RECONNECTS,
  autoResendUnfulfilledCommands: RECONNECTS,
  maxRetriesPerRequest: { needless: QUEUE },
  enableOfflineQueue: { needless: QUEUE },
  offlineQueue: { needless: QUEUE },
  commandQueue: { needless: QUEUE },
  commandTimeout: { needless: 'calls have their own timeout' },
  disconnectTimeout: { needless: 'a connection is closed within the time of `drain`' },
  enableAutoPipelining: { needless: COMMANDS },
  autoPipeliningIgnoredCommands: { needless: COMMANDS },
  enableReadyCheck: { needless: COMMANDS },
  maxLoadingRetryTime: { needless: COMMANDS },
  lazyConnect: { needless: 'a service connects at its start, a client at its first call' },
  noDelay: { needless: 'it is always on' },
  clientInfoTag: { needless: 'it is a label' },
  showFriendlyErrorStack: { needless: 'errors have their cause' },
  stringNumbers: { needless: COMMANDS },
  sentinelCommandTimeout: { needless: 'it is part of `connectTimeout`' },
  sentinelMaxConnections: { needless: COMMANDS },
  updateSentinels: { needless: COMMANDS },
  failoverDetector: { needless: 'a master that has changed is noticed' },
  role: { needless: 'the master is used', convert: onlyIf(['master'], 'messages need the master') },
  readOnly: { needless: 'messages are written', convert: onlyIf([false, 'false'], 'messages are written') },
  monitor: {
    needless: COMMANDS,
    convert: onlyIf([false, 'false'], 'a connection that monitors carries no messages')
  },
  preferredSlaves: { instead: 'messages need the master' },
  natMap: { instead: 'give the servers addresses that this program can reach' },
  enableTLSForSentinelMode: { instead: 'sentinels are asked without TLS; options.tls is for the master' },
  sentinelTLS: { instead: 'sentinels are asked without TLS; options.tls is for the master' },
  scripts: { instead: 'use a client of ioredis of your own' },
  Connector: { instead: "the connections are the driver's own" }
} as const satisfies NestTable

function addressOf(sentinel: unknown): string {
  const { host = 'localhost', port = 26_379 } = Object(sentinel) as {
    readonly host?: unknown
    readonly port?: unknown
  }
  return `redis://${host}:${port}`
}
