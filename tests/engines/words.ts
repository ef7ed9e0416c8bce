/**
 * The words of options over all transports: a row of the table is a thing, and has one word. An option of a transport
 * that is neither in a row nor in `OWN` fails the test: either it is a thing of the table, and then the table's word is
 * used, or it is a thing that only this transport has.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageFolder, rootFolder } from '../workspace.ts'

/** The columns of the table, with the built files that have the option tables, and their names there. */
const TRANSPORTS = {
  tcp: [
    ['packages/tcp/dist/options/client-options.js', 'CLIENT_OPTION_NAMES'],
    ['packages/tcp/dist/options/server-options.js', 'SERVER_OPTION_NAMES']
  ],
  grpc: [['packages/grpc/dist/options/options.js', 'GRPC_OPTION_NAMES']],
  websocket: [
    ['packages/websocket/dist/options.js', 'WEBSOCKET_OPTIONS'],
    ['packages/websocket/dist/client/connect.js', 'CLIENT_DEFAULTS']
  ],
  nats: ofEngine('nats'),
  redis: ofEngine('redis'),
  rabbitmq: ofEngine('rabbitmq'),
  kafka: ofEngine('kafka'),
  mqtt: ofEngine('mqtt')
} as const

export type TransportName = keyof typeof TRANSPORTS

interface Thing {
  readonly thing: string
  /** The word that every transport has for the thing, if it has the thing. */
  readonly word: string
  /** Words besides this word or in place of it, which people copy from Nest, a driver or a protocol. */
  readonly also?: Partial<Record<TransportName, readonly string[]>>
  /** Transports in which the word is that of another thing. */
  readonly not?: readonly TransportName[]
}

const PLACE = ['host', 'port']

export const THINGS: readonly Thing[] = [
  {
    thing: 'where the server is, one address or several',
    word: 'url',
    also: { tcp: PLACE, grpc: PLACE, nats: ['servers'], redis: PLACE, rabbitmq: ['urls'], kafka: ['brokers'] }
  },
  { thing: 'Unix socket in its place', word: 'path', not: ['websocket'] },
  { thing: 'milliseconds to connect', word: 'connectTimeout' },
  {
    thing: 'milliseconds of silence until the server is asked, or counts as lost',
    word: 'heartbeat',
    also: { tcp: ['rsocket.keepalive'], grpc: ['keepalive'], nats: ['pingInterval', 'maxPingOut'] }
  },
  { thing: 'certificates', word: 'tls' },
  { thing: 'user at the server', word: 'username', also: { kafka: ['sasl'] } },
  { thing: "the user's password", word: 'password', also: { kafka: ['sasl'] } },
  { thing: 'who a client is, for the service', word: 'credentials' },
  { thing: 'who may connect, and as which user', word: 'authenticate' },
  { thing: 'how data is encoded', word: 'codec' },
  { thing: 'limits of work and memory', word: 'limits' },
  { thing: 'whether a lost connection goes on', word: 'resume', also: { tcp: ['rsocket.resume'] } },
  { thing: 'processes that get an event', word: 'events' },
  { thing: 'name of the connection, for tools', word: 'clientName' },
  { thing: "the user's part of the names of inboxes", word: 'inboxPrefix' },
  {
    thing: 'where clients that are not ours may want answers',
    word: 'replyTo',
    also: { rabbitmq: ['nest.replyQueues'] }
  },
  { thing: 'how events are stored', word: 'durable' },
  { thing: 'connections to each server', word: 'connections' },
  { thing: 'milliseconds between two look-ups of names', word: 'resolveInterval' },
  { thing: 'whether and when a client connects again', word: 'reconnect' },
  { thing: 'which calls are retried', word: 'retry' },
  { thing: 'when a server gets no calls for a while', word: 'eject' },
  { thing: 'whether several processes listen on the port', word: 'reusePort' },
  { thing: 'addresses that may connect', word: 'allow' }
]

/** Options of things that only one transport has. */
export const OWN: Readonly<Record<TransportName, readonly string[]>> = {
  tcp: ['protocol'],
  grpc: ['proto', 'pattern', 'errors', 'compression', 'health', 'reflection'],
  // `path` is that of the app.
  websocket: ['path', 'expose', 'origins', 'WebSocket'],
  // Options that NATS's driver gets unchanged.
  nats: [
    ...['authenticator', 'debug', 'ignoreClusterUpdates', 'noRandomize', 'resolve', 'token'],
    ...['reconnectDelayHandler', 'reconnectJitter', 'reconnectJitterTLS', 'reconnectTimeWait']
  ],
  redis: ['cluster', 'sentinelName', 'sentinelUsername', 'sentinelPassword', 'family', 'keepAlive'],
  rabbitmq: [],
  kafka: ['partitions', 'replicas', 'start', 'createPartitioner', 'advertised', 'readUncommitted'],
  // Not a name: the server closes an older connection with the same id.
  mqtt: ['clientId', 'will', 'qos']
}

/** Options of `connect()`, which a page's client has beside those of its transport. */
const OF_CONNECT = [
  ...['timeout', 'waitForConnection', 'onStatus', 'logger', 'wrap'],
  ...['name', 'forward', 'headers', 'within', 'inherit']
]

function ofEngine(name: string): readonly (readonly [string, string])[] {
  return [[`${packageFolder(name)}/dist/options/options.js`, `${name.toUpperCase()}_OPTIONS`]]
}

/** The names of all options of each transport. */
export async function optionNames(): Promise<Readonly<Record<TransportName, readonly string[]>>> {
  const all = await Promise.all(
    Object.entries(TRANSPORTS).map(async ([transport, tables]) => {
      const names = await Promise.all(tables.map(([file, table]) => namesIn(file, table)))
      return [transport, [...new Set(names.flat())].filter((name) => !OF_CONNECT.includes(name))] as const
    })
  )
  return Object.fromEntries(all) as Readonly<Record<string, readonly string[]>> as Readonly<
    Record<TransportName, readonly string[]>
  >
}

async function namesIn(file: string, table: string): Promise<readonly string[]> {
  const module = (await import(pathToFileURL(join(rootFolder, file)).href)) as Record<string, object>
  const found = module[table] as object
  return 'own' in found ? (found.own as readonly string[]) : Object.keys(found)
}

/** The words for a thing that a transport has, that of the table first. */
export function wordsFor(
  { word, also, not }: Thing,
  transport: TransportName,
  names: readonly string[]
): readonly string[] {
  const own = names.includes(word) && !(not ?? []).includes(transport) ? [word] : []
  return [...own, ...(also?.[transport] ?? [])]
}

/** The table for the documentation. */
export async function wordsTable(): Promise<string> {
  const names = await optionNames()
  const transports = Object.keys(TRANSPORTS) as TransportName[]
  const code = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ')
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`.replaceAll('|  |', '| |')
  return [
    row(['', ...transports]),
    row(['---', ...transports.map(() => '---')]),
    ...THINGS.map((thing) =>
      row([thing.thing, ...transports.map((one) => code(wordsFor(thing, one, names[one])))]).replaceAll(
        '|  |',
        '| |'
      )
    )
  ].join('\n')
}
