/** The options of `mqtt()`. */
import type { SecureContextOptions } from 'node:tls'
import { checkNames, milliseconds, OptionError } from '@elysia-microservices/transport/kit'
import { addressOfCall, isInboxPrefix, whyNoFilter } from '../words/topics.ts'

/** What the server publishes for a connection that ends without a word. */
export interface MqttWill {
  /** The pattern of the event. */
  readonly pattern: string
  /** Its data. Default: none. */
  readonly data?: unknown
  /** Whether the server keeps it for those who subscribe later. Default: false. */
  readonly retain?: boolean | undefined
  /** Seconds until it is published; not at all if the connection is there again before. Default: 0. */
  readonly delay?: number | undefined
}

/** Options of `mqtt()`. */
export interface MqttOptions {
  /** `mqtt://[user:password@]host:port`, or `mqtts://` for TLS. Default: `mqtt://localhost:1883`. */
  readonly url?: string | undefined
  /** The user; in place of that in the address. Default: none. */
  readonly username?: string | undefined
  /** The user's password. Default: none. */
  readonly password?: string | undefined
  /** Certificates and keys, as Node's `tls.connect` has them, with `mqtts://`. */
  readonly tls?:
    | (Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'pfx'> & {
        readonly servername?: string
      })
    | undefined
  /**
   * Names a connection; the server ends an older one of the same name. Default: the service's name and a secret, so that
   * each connection has its own.
   */
  readonly clientId?: string | undefined
  /**
   * The group of a service's shared subscriptions: its processes share what comes. Default: the service's name. A service
   * without a name shares requests with all such services, and gets every event.
   */
  readonly queue?: string | undefined
  /** Who gets an event: `one` process of the group, or `all` processes, which get retained events, too. Default: `one`. */
  readonly events?: 'one' | 'all' | undefined
  /**
   * Filters of topics on which devices may want their answers, such as `devices/+/answers`: a service answers nowhere
   * else, but in inboxes and where Nest's clients wait. Default: none.
   */
  readonly replyTopics?: readonly string[] | undefined
  /** Stands in front of the names of inboxes: the name of the user, where each has rights of its own. Default: none. */
  readonly inboxPrefix?: string | undefined
  /** What the server publishes for a connection that ends without a word. Default: nothing. */
  readonly will?: MqttWill | undefined
  /** Milliseconds for connecting, and until a server that says nothing is lost. Default: 10,000. */
  readonly timeout?: number | undefined
}

/** What is checked of them. */
export interface CheckedOptions
  extends Pick<MqttOptions, 'username' | 'password' | 'tls' | 'clientId' | 'queue' | 'inboxPrefix' | 'will'> {
  readonly protocol: 'mqtt' | 'mqtts'
  readonly host: string
  readonly port: number
  readonly events: 'one' | 'all'
  readonly replyTopics: readonly string[]
  readonly timeout: number
  /** The server, for errors; without credentials. */
  readonly where: string
}

/** @throws {OptionError} an option is invalid */
export function mqttOptions(given: MqttOptions): CheckedOptions {
  checkNames('options', given, [
    'url',
    'username',
    'password',
    'tls',
    'clientId',
    'queue',
    'events',
    'replyTopics',
    'inboxPrefix',
    'will',
    'timeout'
  ])
  const { clientId, queue, events = 'one', replyTopics = [], inboxPrefix, tls, timeout = 10_000 } = given
  const address = readUrl(given.url ?? 'mqtt://localhost:1883')
  if (queue !== undefined && !(typeof queue === 'string' && /^[^\s/+#]+$/.test(queue)))
    throw OptionError.expected('options.queue', 'a text without blanks, /, + and #', queue)
  if (events !== 'one' && events !== 'all')
    throw OptionError.expected('options.events', "'one' or 'all'", events)
  if (!Array.isArray(replyTopics) || replyTopics.some((one) => typeof one !== 'string' || whyNoFilter(one)))
    throw OptionError.expected(
      'options.replyTopics',
      "a list of filters such as 'devices/+/answers'",
      replyTopics
    )
  if (inboxPrefix !== undefined && !isInboxPrefix(inboxPrefix))
    throw OptionError.expected(
      'options.inboxPrefix',
      'a text of 1 to 64 letters, digits, - and _',
      inboxPrefix
    )
  if (tls !== undefined) {
    checkNames('options.tls', tls, ['ca', 'cert', 'key', 'passphrase', 'pfx', 'servername'])
    if (address.protocol === 'mqtt')
      throw new OptionError(
        'options.tls',
        'options.tls is for an address that begins with mqtts://; change options.url'
      )
  }
  milliseconds(100, 'options.timeout', timeout)
  const username = text('username', given.username) ?? address.username
  const password = text('password', given.password) ?? address.password
  if (password !== undefined && username === undefined)
    throw new OptionError(
      'options.password',
      'options.password belongs to a user; give options.username, too'
    )
  const { protocol, host, port } = address
  return {
    protocol,
    host,
    port,
    username,
    password,
    tls,
    clientId: text('clientId', clientId),
    queue,
    events,
    replyTopics,
    inboxPrefix,
    will: checkWill(given.will),
    timeout,
    where: `${host}:${port}`
  }
}

function text(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const isText = typeof value === 'string' && value !== '' && !/[\0\p{Cs}]/u.test(value)
  if (!isText || Buffer.byteLength(value) > 65_535)
    throw OptionError.expected(`options.${name}`, 'a text', name === 'password' ? 'none' : value)
  return value
}

function checkWill(will: unknown): MqttWill | undefined {
  if (will === undefined) return undefined
  if (typeof will !== 'object' || will === null)
    throw OptionError.expected('options.will', "an object such as { pattern: 'devices/7/gone' }", will)
  checkNames('options.will', will, ['pattern', 'data', 'retain', 'delay'])
  const { pattern, retain = false, delay = 0 } = will as MqttWill
  if (typeof pattern !== 'string') throw OptionError.expected('options.will.pattern', 'a text', pattern)
  addressOfCall(pattern)
  if (typeof retain !== 'boolean') throw OptionError.expected('options.will.retain', 'a boolean', retain)
  if (!Number.isInteger(delay) || delay < 0 || delay >= 2 ** 32)
    throw OptionError.expected('options.will.delay', 'a whole number of seconds', delay)
  return will as MqttWill
}

const PORTS = { mqtt: 1883, mqtts: 8883 } as const

function readUrl(url: unknown): {
  readonly protocol: 'mqtt' | 'mqtts'
  readonly host: string
  readonly port: number
  readonly username: string | undefined
  readonly password: string | undefined
} {
  const wanted = "an address such as 'mqtt://localhost:1883', or mqtts:// for TLS"
  let read: URL
  try {
    if (typeof url !== 'string') throw new TypeError('no text')
    read = new URL(url)
  } catch {
    // An address may have a password in it.
    throw OptionError.expected('options.url', wanted, typeof url === 'string' ? 'no address' : url)
  }
  const { hostname, port, username, password, pathname } = read
  const protocol = read.protocol.slice(0, -1)
  if ((protocol !== 'mqtt' && protocol !== 'mqtts') || hostname === '' || pathname.length > 1)
    throw OptionError.expected('options.url', wanted, pathname.length > 1 ? 'one with a path' : protocol)
  return {
    protocol,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? PORTS[protocol] : Number(port),
    username: username === '' ? undefined : decodeURIComponent(username),
    password: password === '' ? undefined : decodeURIComponent(password)
  }
}
