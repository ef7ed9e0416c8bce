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
import { OptionError } from '@elysia-microservices/transport/kit'
import { LONGEST_FRAME } from '../wire/messages.ts'
import { linkOptions } from './client.ts'
import {
  checked,
  contextOf,
  forUsers,
  type UntypedWebClient,
  type WebClientOf,
  type WebSocketClientOptions
} from './connect.ts'
import { Link } from './link.ts'

/** Options of a client of several servers. */
export interface PoolOptions extends WebSocketClientOptions, Omit<ResilienceOptions, 'endpoints'> {
  /**
   * The scheme and the path of all servers, and the port of servers without one. Without `endpoints` also the only
   * server.
   */
  readonly url: string | URL
  /**
   * The servers, in place of the host of `url`: `'host'`, `'host:port'` or `'[::1]:port'`. A function returns the
   * list, and is called again every `resolveInterval`. Each endpoint gets a connection. Default: the host of `url`.
   */
  readonly endpoints?: ResilienceOptions['endpoints']
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
 * const client = connect({ url: 'wss://shop.example/rsocket', endpoints: ['eu.shop.example', 'us.shop.example'] })
 * console.log(await client.request('shop.items'))
 * ```
 */
export function connect(options: PoolOptions): UntypedWebClient
export function connect<Service, Door = undefined>(options: PoolOptions): WebClientOf<Service, Door>
export function connect(options: PoolOptions): object {
  const {
    endpoints,
    connections = RESILIENCE_DEFAULTS.connections,
    resolveInterval = RESILIENCE_DEFAULTS.resolveInterval,
    reconnect = RESILIENCE_DEFAULTS.reconnect,
    retry = RESILIENCE_DEFAULTS.retry,
    eject = RESILIENCE_DEFAULTS.eject,
    ...others
  } = options
  const { logger, timeout, waitForConnection, onStatus, url, ...init } = checked({ resume: false, ...others })
  if (Array.isArray(endpoints)) for (const name of endpoints) refuseLookUps(name)
  const resilience = resilienceOptions({ endpoints, connections, resolveInterval, reconnect, retry, eject })
  const context = contextOf({ logger, timeout, waitForConnection })
  const shared = { ...linkOptions({ ...init, responder: undefined }, context), toWireError }
  const client = new PoolClient(
    {
      name: 'websocket',
      resilience,
      own: addressOf(url),
      scheme: `${url.protocol}//`,
      connectTimeout: init.connectTimeout,
      resolver: NO_LOOK_UPS,
      newLink: (address, { protocol, over }) => {
        const where = urlAt(url, address)
        const owner = { paused() {}, resumed() {}, over: (_link: Link, reason: Error) => over(reason) }
        return new Link({ ...shared, where }, owner, protocol(where) as ClientConnection)
      },
      newProtocol: (parts) =>
        new ClientConnection({
          ...shared,
          ...parts,
          lease: true,
          maxFrameLength: LONGEST_FRAME,
          sayCaller: (out) => writeCaller(out, undefined)
        })
    },
    context
  )
  return forUsers(client, onStatus)
}

/** DNS look-ups are refused: edge runtimes have no DNS, and certificates are made for names, not for addresses. */
const NO_LOOK_UPS: Resolver = {
  lookup: (host) => Promise.reject(noLookUp(`dns:${host}`)),
  srv: (name) => Promise.reject(noLookUp(`srv:${name}`))
}

function refuseLookUps(endpoint: unknown): void {
  if (typeof endpoint === 'string' && /^(dns|srv):/.test(endpoint)) throw noLookUp(endpoint)
}

function noLookUp(endpoint: string): OptionError {
  return OptionError.expected(
    'options.endpoints',
    'names of servers, or a function that looks them up',
    endpoint
  )
}

function addressOf({ hostname, port, protocol }: URL): Address {
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'wss:' ? 443 : 80) : Number(port)
  }
}

function urlAt(url: URL, address: Address): string {
  const there = new URL(url)
  there.host = addressName(address)
  return there.href
}
