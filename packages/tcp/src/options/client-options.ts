/** The options of a TCP client, with their defaults in one table. */

import { type RSocketClientOptions, rsocketClientOptions, rsocketNames } from '@elysia-microservices/rsocket'
import {
  type CheckedResilience,
  RESILIENCE_DEFAULTS,
  type ResilienceOptions,
  resilienceOptions
} from '@elysia-microservices/rsocket/pool'
import {
  codecsInWords,
  type Filled,
  hasCodec,
  milliseconds,
  mimeTypeOfCodec,
  OptionError,
  withDefaults
} from '@elysia-microservices/transport/kit'
import type { TlsClientOptions } from '../socket/tls.ts'
import { type CheckedClientLimits, type ClientLimits, CONNECTION_LIMITS, clientLimits } from './limits.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { CLIENT_TLS_NAMES, checkClientTls, type Source } from './security-options.ts'
import { checkPlace, PLACE, type PlaceOptions, TEST_DEFAULTS, type TestOptions } from './shared-options.ts'

/** Options of a TCP client. A key whose value is `undefined` has its default. */
export interface TcpClientOptions extends PlaceOptions, ResilienceOptions {
  /** The protocol: `'rsocket'`, or `'nest'` for the wire of NestJS 12. Default: `'rsocket'`. */
  readonly protocol?: 'rsocket' | 'nest' | undefined
  /**
   * Whether the client uses TLS. `true` trusts the certificate authorities of the runtime; a function is called for
   * each connection. Default: no TLS.
   */
  readonly tls?: boolean | Source<TlsClientOptions> | undefined
  /** Most milliseconds for making a connection, TLS handshake included. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** Limits of each connection. */
  readonly limits?: ClientLimits | undefined
  /** Options for RSocket only. */
  readonly rsocket?: RSocketClientOptions | undefined
}

const DEFAULTS = {
  ...PLACE,
  ...RESILIENCE_DEFAULTS,
  protocol: 'rsocket',
  tls: undefined,
  connectTimeout: 10_000,
  limits: undefined,
  rsocket: undefined
}

const ALL_DEFAULTS = { ...DEFAULTS, ...TEST_DEFAULTS }

/** The names of all options of a client. */
export const CLIENT_OPTION_NAMES: OptionNames = {
  end: 'a TCP client',
  own: Object.keys(DEFAULTS),
  inside: { limits: Object.keys(CONNECTION_LIMITS), rsocket: rsocketNames('client'), tls: CLIENT_TLS_NAMES }
}

type Given = TcpClientOptions & TestOptions

/** Checked options of a client, with their defaults. */
export type CheckedClientOptions = Omit<
  Filled<Given, typeof ALL_DEFAULTS>,
  'limits' | 'rsocket' | keyof ResilienceOptions
> & {
  readonly limits: CheckedClientLimits
  readonly rsocket: ReturnType<typeof rsocketClientOptions>
  /** The MIME type of the codec. */
  readonly dataMimeType: string
  readonly resilience: CheckedResilience
}

/**
 * Checks the options and fills in the defaults.
 * @throws {OptionError} an option has a wrong value or an unknown name
 */
export function clientOptions(given: TcpClientOptions | undefined): CheckedClientOptions {
  if (given !== undefined) checkOptionNames(given, [CLIENT_OPTION_NAMES])
  const { endpoints, connections, resolveInterval, reconnect, retry, eject, ...all } = withDefaults(
    'options',
    given as Given | undefined,
    ALL_DEFAULTS
  )
  const host = checkPlace(all)
  const { protocol } = all
  if (protocol !== 'nest' && protocol !== 'rsocket')
    throw OptionError.expected('options.protocol', "'rsocket' or 'nest'", protocol)
  milliseconds(1, 'options.connectTimeout', all.connectTimeout)
  checkClientTls(all.tls)
  const rsocket = rsocketClientOptions(all.rsocket)
  const dataMimeType = mimeTypeOfCodec(rsocket.codec)
  if (!hasCodec(dataMimeType))
    throw OptionError.expected('options.rsocket.codec', codecsInWords(rsocket.codec), rsocket.codec)
  const resilience = resilienceOptions({ endpoints, connections, resolveInterval, reconnect, retry, eject })
  return { ...all, host, limits: clientLimits(all.limits), rsocket, dataMimeType, resilience }
}
