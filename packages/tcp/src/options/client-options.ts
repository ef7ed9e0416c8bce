/** The options of a TCP client, with their defaults in one table. */

import {
  type AskCredentials,
  type Credentials,
  credentialsOption,
  type RSocketClientOptions,
  rsocketClientOptions,
  rsocketNames
} from '@elysia-microservices/rsocket'
import {
  type CheckedResilience,
  RESILIENCE_DEFAULTS,
  type ResilienceOptions,
  resilienceOptions
} from '@elysia-microservices/rsocket/pool'
import {
  type CodecName,
  codecsInWords,
  type Filled,
  hasCodec,
  milliseconds,
  mimeTypeOfCodec,
  OptionError,
  SAME_OPTIONS,
  withDefaults
} from '@elysia-microservices/transport/kit'
import type { TlsClientOptions } from '../socket/tls.ts'
import { type CheckedClientLimits, type ClientLimits, CONNECTION_LIMITS, clientLimits } from './limits.ts'
import { checkOptionNames, type OptionNames } from './option-names.ts'
import { CLIENT_TLS_NAMES, checkClientTls, type Source } from './security-options.ts'
import { checkPlace, PLACE, type PlaceOptions, TEST_DEFAULTS, type TestOptions } from './shared-options.ts'

/** Options of a TCP client. A key whose value is `undefined` has its default. */
export interface TcpClientOptions<Codec extends CodecName = CodecName>
  extends PlaceOptions,
    ResilienceOptions {
  /** The protocol: `'rsocket'`, or `'nest'` for the wire of NestJS 12. Default: `'rsocket'`. */
  readonly protocol?: 'rsocket' | 'nest' | undefined
  /**
   * Whether the client uses TLS. `true` trusts the certificate authorities of the runtime; a function is called for
   * each connection. Default: no TLS.
   */
  readonly tls?: boolean | Source<TlsClientOptions> | undefined
  /** Most milliseconds for making a connection, TLS handshake included. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /**
   * Credentials of the client, or a function that returns them and is called before each connection. Nest's wire has
   * none. Default: none.
   */
  readonly credentials?: Credentials | AskCredentials | undefined
  /** Codec of the data; Nest's wire has only `'json'`. Default: `'json'`. */
  readonly codec?: Codec | undefined
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
  credentials: undefined,
  codec: 'json' as CodecName,
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
  const { url, connections, resolveInterval, reconnect, retry, eject, ...all } = withDefaults(
    'options',
    given as Given | undefined,
    ALL_DEFAULTS,
    SAME_OPTIONS
  )
  for (const name of ['host', 'path'] as const)
    if (url !== undefined && given?.[name] !== undefined)
      throw new OptionError(
        `options.${name}`,
        `options.${name} says where the server is, as options.url does: give only one of them`
      )
  const host = checkPlace(all)
  const { protocol } = all
  if (protocol !== 'nest' && protocol !== 'rsocket')
    throw OptionError.expected('options.protocol', "'rsocket' or 'nest'", protocol)
  milliseconds(1, 'options.connectTimeout', all.connectTimeout)
  checkClientTls(all.tls)
  const rsocket = rsocketClientOptions(all.rsocket)
  const dataMimeType = mimeTypeOfCodec(all.codec)
  if (!hasCodec(dataMimeType))
    throw OptionError.expected('options.codec', codecsInWords(all.codec), all.codec)
  if (protocol === 'nest') refuseOnNest(given ?? {})
  const credentials = credentialsOption(all.credentials)
  const resilience = resilienceOptions({ url, connections, resolveInterval, reconnect, retry, eject })
  return { ...all, host, limits: clientLimits(all.limits), credentials, rsocket, dataMimeType, resilience }
}

/** @throws {OptionError} an option is given that Nest's wire does not have */
function refuseOnNest({ codec, ...given }: TcpClientOptions): void {
  const all = {
    codec: codec === 'json' ? undefined : codec,
    credentials: given.credentials,
    rsocket: given.rsocket
  }
  for (const [name, value] of Object.entries(all))
    if (value !== undefined)
      throw new OptionError(
        `options.${name}`,
        `options.${name} has no effect with protocol: 'nest': Nest's wire is JSON without credentials; leave it out, or leave out the protocol`
      )
}
