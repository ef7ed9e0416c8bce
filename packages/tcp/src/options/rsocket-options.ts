/** The options for RSocket only, in a group of their own because Nest's wire has none of them. */
import { atLeast, OptionError, withDefaults } from '@elysia-microservices/transport/kit'
import type { Authenticate } from '../rsocket/authenticate.ts'
import type { Credentials } from '../rsocket/composite-metadata.ts'
import { RESUME_DEFAULTS, type ResumeOptions } from '../rsocket/resume.ts'

/** Options for RSocket on a server. */
export interface RSocketServerOptions {
  /**
   * Is asked about each connection, and about each request with credentials. Only `true` accepts. Default: all are
   * accepted.
   */
  readonly authenticate?: Authenticate | undefined
  /** Let clients resume lost connections. `true`: with the defaults. Default: false. */
  readonly resume?: boolean | ResumeOptions | undefined
}

/** Options for RSocket on a client. */
export interface RSocketClientOptions {
  /**
   * How data is encoded: `'json'`, `'msgpack'`, `'msgpack-records'` (both ends are this library), `'bytes'`, or a MIME
   * type. Default: `'json'`.
   */
  readonly codec?: string | undefined
  /** The client's credentials, sent when it connects. */
  readonly credentials?: Credentials | undefined
  /** Wait for the server's leases before each request. Default: false. */
  readonly lease?: boolean | undefined
  /**
   * Resume a lost connection without losing or repeating anything, if the server allows it. `true`: with the defaults.
   * Default: false.
   */
  readonly resume?: boolean | ResumeOptions | undefined
  /** How the client notices a dead server. */
  readonly keepalive?: KeepaliveOptions | undefined
}

/** How a client notices a dead server. */
export interface KeepaliveOptions {
  /** Milliseconds between KEEPALIVE frames. Default: 20,000. */
  readonly interval?: number | undefined
  /** Milliseconds without any frame after which the server counts as dead. Default: 90,000. */
  readonly lifetime?: number | undefined
}

const SERVER_DEFAULTS = { authenticate: undefined, resume: undefined }
const CLIENT_DEFAULTS = {
  codec: 'json',
  credentials: undefined,
  lease: false,
  resume: undefined,
  keepalive: undefined
}
const KEEPALIVE_DEFAULTS = { interval: 20_000, lifetime: 90_000 }

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function rsocketServerOptions(given: RSocketServerOptions | undefined) {
  const { authenticate, resume } = withDefaults('options.rsocket', given, SERVER_DEFAULTS)
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw OptionError.expected('options.rsocket.authenticate', 'a function', authenticate)
  return { authenticate, resume: resumeOptions(resume) }
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function rsocketClientOptions(given: RSocketClientOptions | undefined) {
  const all = withDefaults('options.rsocket', given, CLIENT_DEFAULTS)
  const keepalive = withDefaults('options.rsocket.keepalive', all.keepalive, KEEPALIVE_DEFAULTS)
  atLeast(1, 'options.rsocket.keepalive.interval', keepalive.interval)
  atLeast(1, 'options.rsocket.keepalive.lifetime', keepalive.lifetime)
  return { ...all, keepalive, resume: resumeOptions(all.resume) }
}

function resumeOptions(resume: boolean | ResumeOptions | undefined): Required<ResumeOptions> | undefined {
  if (resume === undefined || resume === false) return undefined
  const all = withDefaults('options.rsocket.resume', resume === true ? {} : resume, RESUME_DEFAULTS)
  atLeast(0, 'options.rsocket.resume.window', all.window)
  atLeast(0, 'options.rsocket.resume.bufferSize', all.bufferSize)
  return all as Required<ResumeOptions>
}
