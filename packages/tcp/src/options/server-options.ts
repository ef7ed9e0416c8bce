/** The options of a TCP server, with their defaults in one table. */

import {
  type Authenticate,
  type RSocketServerOptions,
  rsocketNames,
  rsocketServerOptions
} from '@elysia-microservices/rsocket'
import {
  type Filled,
  mustBeFunction,
  OptionError,
  SAME_OPTIONS,
  withDefaults
} from '@elysia-microservices/transport/kit'
import type { TlsServerOptions } from '../socket/tls.ts'
import { type CheckedServerLimits, SERVER_LIMITS, type ServerLimitOptions, serverLimits } from './limits.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { checkAllow, checkServerTls, SERVER_TLS_NAMES, type Source } from './security-options.ts'
import { checkPlace, PLACE, type PlaceOptions, TEST_DEFAULTS, type TestOptions } from './shared-options.ts'

/** Options of a TCP server. A key whose value is `undefined` has its default. */
export interface TcpServerOptions extends PlaceOptions {
  /**
   * Lets other processes listen on the same port, if all of them set this option: the system distributes connections
   * among them (`SO_REUSEPORT`, on Linux only; under Bun, and on Node from 22.12). Default: false.
   */
  readonly reusePort?: boolean | undefined
  /**
   * Makes the server accept only TLS. A function is called when the server starts and by `reloadTls()`, so that it can
   * read files again. Default: no TLS.
   */
  readonly tls?: Source<TlsServerOptions> | undefined
  /**
   * Addresses and networks that may connect, such as `['10.0.0.0/8', '::1']`; other connections are closed at once.
   * Default: every address may connect.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * Called for each connection on RSocket, and for each request with its own credentials. It accepts with `true` or with
   * `{ user }`, whom messages have as `peer.user`. On Nest's wire, which carries no credentials, it is not called. Default:
   * everything is accepted.
   */
  readonly authenticate?: Authenticate | undefined
  /** Limits of the server and of its connections. */
  readonly limits?: ServerLimitOptions | undefined
  /** Options for RSocket only. */
  readonly rsocket?: RSocketServerOptions | undefined
}

const DEFAULTS = {
  ...PLACE,
  reusePort: false,
  tls: undefined,
  allow: undefined,
  authenticate: undefined,
  limits: undefined,
  rsocket: undefined
}

const ALL_DEFAULTS = { ...DEFAULTS, ...TEST_DEFAULTS }

/** The names of all options of a server. */
export const SERVER_OPTION_NAMES: OptionNames = {
  end: 'a TCP server',
  own: Object.keys(DEFAULTS),
  inside: { limits: Object.keys(SERVER_LIMITS), rsocket: rsocketNames('server'), tls: SERVER_TLS_NAMES }
}

type Given = TcpServerOptions & TestOptions

/** Checked options of a server, with their defaults. */
export type CheckedServerOptions = Omit<Filled<Given, typeof ALL_DEFAULTS>, 'limits' | 'rsocket'> & {
  readonly limits: CheckedServerLimits
  readonly rsocket: ReturnType<typeof rsocketServerOptions>
}

/**
 * Checks the options and fills in the defaults.
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export function serverOptions(given: TcpServerOptions | undefined): CheckedServerOptions {
  if (given !== undefined) checkOptionNames(given, [SERVER_OPTION_NAMES])
  const all = withDefaults('options', given as Given | undefined, ALL_DEFAULTS, SAME_OPTIONS)
  const host = checkPlace(all)
  const { reusePort, path, tls, allow } = all
  if (typeof reusePort !== 'boolean')
    throw OptionError.expected('options.reusePort', 'true or false', reusePort)
  if (reusePort && path !== undefined)
    throw new OptionError(
      'options.reusePort',
      'options.reusePort cannot be combined with options.path: one process owns a Unix socket'
    )
  if (all.authenticate !== undefined) mustBeFunction('options.authenticate', all.authenticate)
  checkServerTls(tls)
  checkAllow(allow, path)
  return { ...all, host, limits: serverLimits(all.limits), rsocket: rsocketServerOptions(all.rsocket) }
}
