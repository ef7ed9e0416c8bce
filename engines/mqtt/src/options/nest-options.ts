/** How the options of NestJS's MQTT transport are answered. */
import { OptionError } from '@elysia-microservices/transport/kit'
import {
  type FromNest,
  fromNest,
  NEST_SHARED,
  type NestTable,
  ofSeconds,
  onlyIf,
  RECONNECTS
} from '@elysia-microservices/transport/nest'

const STORES = 'messages wait in this process while the connection is lost'
const SOCKETS = 'only mqtt:// and mqtts:// are supported'
const PLACE = 'it is part of the address `url`'

/** The options of NestJS's MQTT transport, service and client. */
export const MQTT_NEST_OPTIONS = {
  ...NEST_SHARED,
  url: { ours: 'url' },
  host: { needless: PLACE },
  hostname: { needless: PLACE },
  port: { needless: PLACE },
  protocol: {
    needless: PLACE,
    convert: onlyIf(['mqtt', 'mqtts', 'tcp', 'ssl'], SOCKETS)
  },
  path: { instead: SOCKETS },
  servers: { needless: 'they are the addresses `url`' },
  username: { ours: 'username' },
  password: { ours: 'password' },
  clientId: { ours: 'clientId' },
  connectTimeout: { ours: 'connectTimeout' },
  keepalive: { ours: 'heartbeat', convert: ofSeconds },
  userProperties: { ours: 'client.headers', convert: headersOf },
  'subscribeOptions.qos': { ours: 'qos' },
  'subscribeOptions.nl': {
    needless: 'a process may call its own service',
    convert: onlyIf([false], 'a process may call its own service')
  },
  'subscribeOptions.rap': { needless: 'handlers see whether a message is a retained one' },
  'subscribeOptions.rh': { needless: "events: 'every-process' decides who gets retained messages" },
  key: { ours: 'tls.key' },
  cert: { ours: 'tls.cert' },
  ca: { ours: 'tls.ca' },
  rejectUnauthorized: {
    needless: 'certificates are always checked',
    convert: onlyIf([true, 'true'], 'certificates are always checked; give options.ca')
  },
  maxConnectionAttempts: { needless: 'the start reports that no server can be reached' },
  reconnectPeriod: RECONNECTS,
  resubscribe: RECONNECTS,
  reschedulePings: { needless: 'the driver does it' },
  clean: {
    needless: 'a session ends with its connection',
    convert: onlyIf(
      [true, 'true'],
      'a session ends with its connection; for events that must not be lost take a transport that stores them'
    )
  },
  incomingStore: { instead: STORES },
  outgoingStore: { instead: STORES },
  queueQoSZero: { needless: STORES },
  protocolId: { needless: 'it is always MQTT 5' },
  protocolVersion: { needless: 'it is always MQTT 5' },
  properties: { instead: 'the transport sets the properties of its connection; NestJS needs none of them' },
  will: { instead: 'give will: { pattern, data } to mqtt() and the strategy mqtt({ … })' },
  wsOptions: { instead: SOCKETS },
  transformWsUrl: { instead: SOCKETS }
} as const satisfies NestTable

interface PlaceOptions {
  readonly url?: unknown
  readonly host?: unknown
  readonly hostname?: unknown
  readonly port?: unknown
  readonly protocol?: unknown
  readonly servers?: readonly { readonly host: unknown; readonly port: unknown }[]
}

/**
 * Translates options.
 * @param own the names of the options of the transport here
 * @throws {OptionError} an option has no counterpart
 */
export function mqttFromNest(given: object | undefined, own: readonly string[]): FromNest {
  const { transport, ...beside } = fromNest(MQTT_NEST_OPTIONS, given, own)
  const url = transport['url'] ?? urlOf(Object(given) as PlaceOptions)
  return { ...beside, transport: url === undefined ? transport : { ...transport, url } }
}

function urlOf({ host, hostname = host, port, protocol, servers }: PlaceOptions): unknown {
  const isSecure = protocol === 'mqtts' || protocol === 'ssl'
  const addressOf = (name: unknown, at: unknown) =>
    `${isSecure ? 'mqtts' : 'mqtt'}://${name ?? 'localhost'}${at === undefined ? '' : `:${at}`}`
  if (Array.isArray(servers)) return servers.map((one) => addressOf(Object(one).host, Object(one).port))
  if (hostname === undefined && port === undefined && !isSecure) return undefined
  return addressOf(hostname, port)
}

function headersOf(value: unknown, path: string): Record<string, string> {
  if (Object(value) !== value) throw OptionError.expected(path, 'an object of texts', value)
  return Object.fromEntries(
    Object.entries(value as object).map(([name, one]) => [name, [one].flat().join(', ')])
  )
}
