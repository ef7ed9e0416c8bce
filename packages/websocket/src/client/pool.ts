/**
 * `connect()` for programs that call several servers over WebSocket, with the same pool, balancing and retries as
 * over TCP.
 */
import { ClientConnection, toWireError, writeCaller } from '@elysia-microservices/rsocket'
import {
  type Address,
  addressName,
  PoolClient,
  RESILIENCE_DEFAULTS,
  type ResilienceOptions,
  type Resolver,
  resilienceOptions
} from '@elysia-microservices/rsocket/pool'
import type { CodecName } from '@elysia-microservices/transport/kit'
import { LONGEST_FRAME } from '../wire/messages.ts'
import { linkOptions } from './client.ts'
import {
  checked,
  contextOf,
  forUsers,
  type UntypedWebClient,
  urlOf,
  type WebClientOf,
  type WebSocketClientOptions
} from './connect.ts'
import { Link } from './link.ts'

type Urls = string | URL | readonly (string | URL)[]

/** Options of a client of several servers. */
export interface PoolOptions<Codec extends CodecName = 'json'>
  extends Omit<WebSocketClientOptions<Codec>, 'url'>,
    Omit<ResilienceOptions, 'url'> {
  /**
   * Where the servers are, one or several, such as `'wss://eu.shop.example/rsocket'`. A function returns the list, and is
   * called again every `resolveInterval`. Each address gets a connection.
   */
  readonly url: Urls | (() => Urls | Promise<Urls>)
  /** Whether a lost connection is resumed, if all servers allow it. Default: false. */
  readonly resume?: WebSocketClientOptions['resume']
}

/**
 * Makes a client of one or more servers of this library. It retries calls and balances the load as clients over TCP
 * do.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { connect } from '@elysia-microservices/websocket/pool'
 *
 * const client = connect({ url: ['wss://eu.shop.example/rsocket', 'wss://us.shop.example/rsocket'] })
 * console.log(await client.request('shop.items'))
 * ```
 */
export function connect(options: PoolOptions<CodecName>): UntypedWebClient
export function connect<Service, Door = undefined>(
  options: PoolOptions<'json' | 'shapes'>
): WebClientOf<Service, Door>
export function connect<Service, Door = undefined>(
  options: PoolOptions<'msgpack'>
): WebClientOf<Service, Door, 'msgpack'>
export function connect<Service, Door = undefined>(
  options: PoolOptions<'bytes'>
): WebClientOf<Service, Door, 'bytes'>
export function connect<Service, Door = undefined>(
  options: PoolOptions<CodecName>
): WebClientOf<Service, Door, CodecName>
export function connect(options: PoolOptions<CodecName>): object {
  const {
    url,
    connections = RESILIENCE_DEFAULTS.connections,
    resolveInterval = RESILIENCE_DEFAULTS.resolveInterval,
    reconnect = RESILIENCE_DEFAULTS.reconnect,
    retry = RESILIENCE_DEFAULTS.retry,
    eject = RESILIENCE_DEFAULTS.eject,
    ...others
  } = options
  const {
    logger,
    name,
    timeout,
    waitForConnection,
    onStatus,
    wrap,
    url: _,
    ...init
  } = checked({ resume: false, ...others, url: NO_URL })
  const places = new Places(url)
  const resilience = resilienceOptions({
    url: places.endpoints,
    connections,
    resolveInterval,
    reconnect,
    retry,
    eject
  })
  const context = contextOf({ logger, name, timeout, waitForConnection })
  const shared = { ...linkOptions({ ...init, responder: undefined }, context), toWireError }
  const client = new PoolClient(
    {
      name: 'websocket',
      resilience,
      own: NOWHERE,
      scheme: places.scheme,
      connectTimeout: init.connectTimeout,
      resolver: NO_LOOK_UPS,
      newLink: (address, { protocol, over }) => {
        const where = places.urlOf(address)
        const owner = { paused() {}, resumed() {}, over: (_link: Link, reason: Error) => over(reason) }
        return new Link({ ...shared, where }, owner, protocol(where) as ClientConnection)
      },
      newProtocol: (parts) =>
        new ClientConnection({
          ...shared,
          ...parts,
          lease: true,
          maxFrameLength: LONGEST_FRAME,
          introduce: (out) => writeCaller(out, context.name)
        })
    },
    context
  )
  return forUsers(client, onStatus, wrap)
}

/** The addresses of the servers, and the URL of each. */
class Places {
  readonly endpoints: readonly string[] | (() => Promise<readonly string[]>)
  /** The scheme for messages: that of the first address, if it is known. */
  readonly scheme: string
  readonly #urls = new Map<string, URL>()

  /** @throws {OptionError} an address is none */
  constructor(given: PoolOptions['url']) {
    this.endpoints = typeof given === 'function' ? async () => this.#take(await given()) : this.#take(given)
    const [first] = this.#urls.values()
    this.scheme = `${first?.protocol ?? 'wss:'}//`
  }

  #take(given: Urls): readonly string[] {
    return [given].flat().map((one) => {
      const url = urlOf(one)
      const name = addressName(addressOf(url))
      this.#urls.set(name, url)
      return name
    })
  }

  urlOf(address: Address): string {
    return (this.#urls.get(addressName(address)) as URL).href
  }
}

/** Are never used: all addresses are in the list. */
const NO_URL = 'ws://localhost'
const NOWHERE: Address = { host: 'localhost', port: 80 }

/** DNS is not asked: edge runtimes have no DNS, and certificates are made for names, not for addresses. */
const NO_LOOK_UPS: Resolver = {
  lookup: (host) => Promise.reject(new Error(`no look-up of ${host}`)),
  srv: (name) => Promise.reject(new Error(`no look-up of ${name}`))
}

function addressOf({ hostname, port, protocol }: URL): Address {
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'wss:' ? 443 : 80) : Number(port)
  }
}
