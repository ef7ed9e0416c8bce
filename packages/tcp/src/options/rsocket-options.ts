/** The options of RSocket alone: grouped, because Nest's wire knows nothing of them. */
import { atLeast, OptionError, withDefaults } from '@elysia-microservices/transport/kit'
import type { Authenticate } from '../rsocket/authenticate.ts'
import type { Credentials } from '../rsocket/composite-metadata.ts'
import { RESUME_DEFAULTS, type ResumeOptions } from '../rsocket/resume.ts'

/** RSocket on a server. */
export interface RSocketServerOptions {
  /**
   * Is asked about each connection, and about each request that carries credentials. Only `true` lets in. Default:
   * everybody is welcome.
   */
  readonly authenticate?: Authenticate | undefined
  /** Let clients resume lost connections. `true`: with the defaults. Default: false. */
  readonly resume?: boolean | ResumeOptions | undefined
}

/** RSocket on a client. */
export interface RSocketClientOptions {
  /**
   * How data is encoded: `'json'`, `'msgpack'`, `'msgpack-records'` (both ends are this library), `'bytes'`, or a MIME
   * type. Default: `'json'`.
   */
  readonly codec?: string | undefined
  /** Who the client is, sent when it connects. */
  readonly credentials?: Credentials | undefined
  /** Wait for the server's leases before each request. Default: false. */
  readonly lease?: boolean | undefined
  /**
   * Resume a lost connection, with nothing lost or doubled, if the server allows it. `true`: with the defaults.
   * Default: false.
   */
  readonly resume?: boolean | ResumeOptions | undefined
  /** How a dead server is noticed. */
  readonly keepalive?: KeepaliveOptions | undefined
}

/** How a dead server is noticed. */
export interface KeepaliveOptions {
  /** Milliseconds between KEEPALIVE frames. Default: 20,000. */
  readonly interval?: number | undefined
  /** Milliseconds without any frame after which the server is taken for dead. Default: 90,000. */
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

/** The names of the options of a server's `rsocket`. */
export const SERVER_RSOCKET_NAMES = Object.keys(SERVER_DEFAULTS)
/** The names of the options of a client's `rsocket`. */
export const CLIENT_RSOCKET_NAMES = Object.keys(CLIENT_DEFAULTS)

/** @throws {OptionError} an option is not what it must be */
export function rsocketServerOptions(given: RSocketServerOptions | undefined) {
  const { authenticate, resume } = withDefaults('options.rsocket', given, SERVER_DEFAULTS)
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw OptionError.expected('options.rsocket.authenticate', 'a function', authenticate)
  return { authenticate, resume: resumeOptions(resume) }
}

/** @throws {OptionError} an option is not what it must be */
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
