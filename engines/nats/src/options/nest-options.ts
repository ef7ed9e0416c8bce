/** How the options of NestJS's NATS transport are answered. */
import { NEST_SHARED, type NestTable, onlyIf, RECONNECTS } from '@elysia-microservices/transport/nest'

const CREDENTIALS = 'give options.authenticator, such as credsAuthenticator(…) of @nats-io/transport-node'
const GONE = 'the driver has it no longer'

/** The options of NestJS's NATS transport, service and client. */
export const NATS_NEST_OPTIONS = {
  ...NEST_SHARED,
  servers: { ours: 'servers' },
  name: { ours: 'clientName' },
  user: { ours: 'username' },
  pass: { ours: 'password' },
  queue: { ours: 'service.group' },
  headers: { ours: 'client.headers' },
  timeout: { ours: 'connectTimeout' },
  gracePeriod: { ours: 'service.drain' },
  gracefulShutdown: { needless: 'a service always drains' },
  authenticator: { ours: 'authenticator' },
  debug: { ours: 'debug' },
  ignoreClusterUpdates: { ours: 'ignoreClusterUpdates' },
  inboxPrefix: {
    ours: 'inboxPrefix',
    convert: (value) => (typeof value === 'string' ? value.replace(/^_INBOX\./, '') : value)
  },
  maxPingOut: { ours: 'maxPingOut' },
  noRandomize: { ours: 'noRandomize' },
  pingInterval: { ours: 'pingInterval' },
  reconnectDelayHandler: { ours: 'reconnectDelayHandler' },
  reconnectJitter: { ours: 'reconnectJitter' },
  reconnectJitterTLS: { ours: 'reconnectJitterTLS' },
  reconnectTimeWait: { ours: 'reconnectTimeWait' },
  tls: { ours: 'tls' },
  token: { ours: 'token' },
  maxReconnectAttempts: RECONNECTS,
  reconnect: RECONNECTS,
  waitOnFirstConnect: { needless: 'the start reports that no server can be reached' },
  nkey: { instead: CREDENTIALS },
  nonceSigner: { instead: CREDENTIALS },
  tokenHandler: { instead: CREDENTIALS },
  userCreds: { instead: CREDENTIALS },
  userJWT: { instead: CREDENTIALS },
  noEcho: {
    needless: 'a process may call its own service',
    convert: onlyIf([false, 'false'], 'calls of a process to its own service would have no answer')
  },
  encoding: { needless: GONE },
  pedantic: { needless: 'it is for tests of drivers' },
  preserveBuffers: { needless: GONE },
  useOldRequestStyle: { needless: GONE },
  verbose: { needless: 'it is for tests of drivers' },
  yieldTime: { needless: GONE }
} as const satisfies NestTable
