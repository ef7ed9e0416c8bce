/** The options that both ends have, and those of a client, with their defaults in one table each. */
import { hasCodec, knownMimeTypes, mimeTypeOfCodec } from '../codec/codecs.ts'
import type { Dispatcher } from '../dispatch.ts'
import { ValidationError } from '../errors.ts'
import { consoleLogger, type Logger } from '../logger.ts'
import type { Credentials } from '../protocol/rsocket/composite-metadata.ts'
import { MAX_FRAME_LENGTH } from '../protocol/rsocket/frame-type.ts'
import { RESUME_DEFAULTS, type ResumeOptions } from '../protocol/rsocket/resume.ts'
import { nativeSockets } from '../socket/index.ts'
import type { SocketRuntime } from '../socket/socket.ts'
import { atLeast, defined } from './check-option.ts'
import type { ResilienceOptions } from './resilience-options.ts'
import {
  type ClientSecurityOptions,
  checkClientTls,
  checkPath,
  type SecurityOptions
} from './security-options.ts'

/** Options that both ends have. A key that is `undefined` has its default. */
export interface TcpOptions extends SecurityOptions {
  /** Host name or address. Default: `'localhost'`. */
  readonly host?: string | undefined
  /** Port. Default: 4000 (Nest's is 3000, which is where HTTP servers listen). A server takes 0 for any. */
  readonly port?: number | undefined
  /**
   * What may be received and wait to be handled: UTF-16 code units on Nest's wire, bytes on RSocket's. No frame
   * of RSocket may be longer. Default: 134,217,728, as in Nest.
   */
  readonly maxBufferSize?: number | undefined
  /** Bytes that may be written and wait to be sent; 0 for no limit. Default: 134,217,728, as in Nest. */
  readonly maxSendBufferSize?: number | undefined
  /**
   * Milliseconds after which a message that has begun to arrive and makes no progress ends the connection; 0 for
   * no limit. Less than 1 KB is no progress: in Nest each byte is. Default: 30,000, as in Nest.
   */
  readonly incompleteMessageTimeout?: number | undefined
  /** RSocket: bytes of one message that comes in fragments. Default: 67,108,864. */
  readonly maxPayloadSize?: number | undefined
  /** RSocket: bytes of a frame that is sent; longer messages are cut into fragments. Default: 16,777,215, the most. */
  readonly fragmentSize?: number | undefined
  /** RSocket: takes what the other side sends by METADATA_PUSH. Default: it is ignored. */
  readonly onMetadataPush?: ((metadata: Uint8Array) => void) | undefined
  /** Where to report what no caller can be told. Default: the console. */
  readonly logger?: Logger | undefined
  /** Whose sockets to use. Default: those of the runtime (`Bun.listen` under Bun, else `node:net`). */
  readonly sockets?: SocketRuntime | undefined
}

/** Options of a TCP client. */
export interface TcpClientOptions extends TcpOptions, ClientSecurityOptions, ResilienceOptions {
  /** What to speak: `'rsocket'`, or `'nest'`, the wire of NestJS 12. Default: `'rsocket'`. */
  readonly protocol?: 'rsocket' | 'nest' | undefined
  /**
   * RSocket: how data is encoded: `'json'`, `'msgpack'`, `'msgpack-records'` (both ends are this library),
   * `'bytes'`, or a MIME type. Default: `'json'`.
   */
  readonly codec?: string | undefined
  /** Milliseconds until the (first) answer of a call must be here; 0 for no limit. Default: 30,000. */
  readonly timeout?: number | undefined
  /** Milliseconds until a connection must be made, TLS handshake included. Default: 10,000. */
  readonly connectTimeout?: number | undefined
  /** RSocket: milliseconds between KEEPALIVE frames. Default: 20,000. */
  readonly keepaliveInterval?: number | undefined
  /** RSocket: milliseconds without any frame after which the server is taken for dead. Default: 90,000. */
  readonly keepaliveLifetime?: number | undefined
  /** RSocket: wait for the server's leases before each request. Default: false. */
  readonly lease?: boolean | undefined
  /** RSocket: who the client is, sent when it connects. */
  readonly credentials?: Credentials | undefined
  /**
   * RSocket: resume a lost connection, with nothing lost or doubled, if the server allows it. `true`: with the
   * defaults. Default: false.
   */
  readonly resume?: boolean | ResumeOptions | undefined
  /** RSocket: answers requests that the server makes. */
  readonly dispatcher?: Dispatcher | undefined
}

/** Options that stay `undefined` when they are not given, or are checked elsewhere. */
type Optional =
  | 'onMetadataPush'
  | 'authenticate'
  | 'credentials'
  | 'dispatcher'
  | 'resume'
  | 'path'
  | 'tls'
  | 'allow'
  | 'concurrency'
  | keyof ResilienceOptions
/** Options with their defaults. */
export type Defaults<Options> = {
  readonly [Key in Exclude<keyof Options, Optional>]-?: NonNullable<Options[Key]>
} & {
  readonly [Key in Extract<keyof Options, Optional>]?: Options[Key]
}

/** Options as they are used. */
export type Checked<Options> = Omit<Defaults<Options>, 'resume'> & {
  readonly resume: Required<ResumeOptions> | undefined
}

/** What both ends do where their options are silent. */
export const DEFAULTS: Defaults<TcpOptions> = {
  host: 'localhost',
  port: 4000,
  maxBufferSize: 128 * 1024 * 1024,
  maxSendBufferSize: 128 * 1024 * 1024,
  incompleteMessageTimeout: 30_000,
  maxPayloadSize: 64 * 1024 * 1024,
  fragmentSize: MAX_FRAME_LENGTH,
  logger: consoleLogger,
  sockets: nativeSockets
}

/** What a client does where its options are silent. */
export const CLIENT_DEFAULTS: Defaults<TcpClientOptions> = {
  ...DEFAULTS,
  protocol: 'rsocket',
  codec: 'json',
  timeout: 30_000,
  connectTimeout: 10_000,
  keepaliveInterval: 20_000,
  keepaliveLifetime: 90_000,
  lease: false
}

/**
 * Options with every default filled in.
 * @throws {ValidationError} an option is not what it must be
 */
export function clientOptions(options: TcpClientOptions): Checked<TcpClientOptions> {
  const all: Defaults<TcpClientOptions> = checked({ ...CLIENT_DEFAULTS, ...defined(options) })
  const { protocol } = all
  if (protocol !== 'nest' && protocol !== 'rsocket') {
    throw new ValidationError('options.protocol', "'rsocket' or 'nest'", protocol)
  }
  const codec = mimeTypeOfCodec(all.codec)
  if (!hasCodec(codec)) {
    throw new ValidationError('options.codec', `one of ${knownMimeTypes().join(', ')}`, all.codec)
  }
  atLeast(0, 'timeout', all.timeout)
  atLeast(1, 'connectTimeout', all.connectTimeout)
  atLeast(1, 'keepaliveInterval', all.keepaliveInterval)
  atLeast(1, 'keepaliveLifetime', all.keepaliveLifetime)
  checkClientTls(all.tls)
  return { ...all, codec, resume: resumeOptions(options.resume) }
}

/** @throws {ValidationError} a figure is none */
export function resumeOptions(
  resume: boolean | ResumeOptions | undefined
): Required<ResumeOptions> | undefined {
  if (resume === undefined || resume === false) return undefined
  const all = { ...RESUME_DEFAULTS, ...(resume === true ? {} : defined(resume)) }
  atLeast(0, 'resume.window', all.window)
  atLeast(0, 'resume.bufferSize', all.bufferSize)
  return all
}

/** A frame must hold its header and at least a little of a payload. */
const MIN_FRAGMENT_SIZE = 64

/**
 * Checks what both ends have.
 * @throws {ValidationError} an option is not what it must be
 */
export function checked<Options extends Defaults<TcpOptions>>(options: Options): Options {
  const { host, port, fragmentSize } = options
  if (typeof host !== 'string' || host === '') {
    throw new ValidationError('options.host', "a host name or address, such as 'localhost'", host)
  }
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new ValidationError('options.port', 'a whole number from 0 to 65535', port)
  }
  checkPath(options.path)
  atLeast(0, 'maxBufferSize', options.maxBufferSize)
  atLeast(0, 'maxSendBufferSize', options.maxSendBufferSize)
  atLeast(0, 'incompleteMessageTimeout', options.incompleteMessageTimeout)
  atLeast(1, 'maxPayloadSize', options.maxPayloadSize)
  if (
    !Number.isInteger(fragmentSize) ||
    fragmentSize < MIN_FRAGMENT_SIZE ||
    fragmentSize > MAX_FRAME_LENGTH
  ) {
    const expected = `a whole number from ${MIN_FRAGMENT_SIZE} to ${MAX_FRAME_LENGTH}`
    throw new ValidationError('options.fragmentSize', expected, fragmentSize)
  }
  // 0 is how users say that there is no limit; here it is a limit that is never reached.
  return options.maxSendBufferSize === 0
    ? { ...options, maxSendBufferSize: Number.POSITIVE_INFINITY }
    : options
}
