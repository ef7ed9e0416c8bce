/** Options for RSocket only. They are in a separate group because Nest's wire has none of them. */
import {
  atLeast,
  milliseconds,
  mustBeBoolean,
  OptionError,
  withDefaults
} from '@elysia-microservices/transport/kit'
import type { Credentials } from '../protocol/composite-metadata.ts'
import {
  RESUME_DEFAULTS,
  type ResumeOptions,
  SERVER_RESUME_DEFAULTS,
  type ServerResumeOptions
} from '../protocol/resume.ts'

/** Options for RSocket on a server. */
export interface RSocketServerOptions {
  /** Lets clients resume lost connections. `true`: with the default options. Default: false. */
  readonly resume?: boolean | ServerResumeOptions | undefined
}

/** Returns credentials when they are needed, such as a token that is still valid. */
export type AskCredentials = () => Credentials | undefined | Promise<Credentials | undefined>

/** Options for RSocket on a client. */
export interface RSocketClientOptions {
  /** Whether the client waits for the server's leases before each request. Default: false. */
  readonly lease?: boolean | undefined
  /**
   * Resumes a lost connection, so that nothing is lost or repeated, if the server allows it. `true`: with the default
   * options. Default: false.
   */
  readonly resume?: boolean | ResumeOptions | undefined
  /** Options by which the client notices a dead server. */
  readonly keepalive?: KeepaliveOptions | undefined
}

/** Intervals by which a client notices a dead server. */
export interface KeepaliveOptions {
  /** Milliseconds between KEEPALIVE frames. Default: 20,000. */
  readonly interval?: number | undefined
  /** Milliseconds without any frame after which the server counts as dead. Default: 90,000. */
  readonly lifetime?: number | undefined
}

const SERVER_DEFAULTS = { resume: undefined }
const CLIENT_DEFAULTS = {
  lease: false,
  resume: undefined,
  keepalive: undefined
}
const KEEPALIVE_DEFAULTS = { interval: 20_000, lifetime: 90_000 }

/** The names of the options of `rsocket` of a client or of a server. */
export function rsocketNames(of: 'client' | 'server'): readonly string[] {
  return Object.keys(of === 'client' ? CLIENT_DEFAULTS : SERVER_DEFAULTS)
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function rsocketServerOptions(given: RSocketServerOptions | undefined) {
  refuseMoved(given)
  const { resume } = withDefaults('options.rsocket', given, SERVER_DEFAULTS)
  return { resume: resumeOptions(resume, SERVER_RESUME_DEFAULTS) }
}

/** @throws {OptionError} an option has a wrong value or an unknown name */
export function rsocketClientOptions(given: RSocketClientOptions | undefined) {
  refuseMoved(given)
  const all = withDefaults('options.rsocket', given, CLIENT_DEFAULTS)
  mustBeBoolean('options.rsocket.lease', all.lease)
  const keepalive = withDefaults('options.rsocket.keepalive', all.keepalive, KEEPALIVE_DEFAULTS)
  milliseconds(1, 'options.rsocket.keepalive.interval', keepalive.interval)
  milliseconds(1, 'options.rsocket.keepalive.lifetime', keepalive.lifetime)
  return {
    ...all,
    keepalive,
    resume: resumeOptions(all.resume, RESUME_DEFAULTS)
  }
}

/** Refuses options that stand beside `rsocket`, because they do not depend on the protocol. */
function refuseMoved(given: object | undefined): void {
  for (const name of ['authenticate', 'codec', 'credentials'])
    if (given !== undefined && Object.hasOwn(Object(given), name))
      throw new OptionError(
        `options.rsocket.${name}`,
        `options.rsocket.${name} is not an option; give options.${name}`
      )
}

/** Checks the option `credentials`. @throws {OptionError} they are of an unknown kind, or incomplete */
export function credentialsOption(
  given: Credentials | AskCredentials | undefined
): Credentials | AskCredentials | undefined {
  if (typeof given === 'function') return async () => checkedCredentials(await given())
  return checkedCredentials(given)
}

function checkedCredentials(given: Credentials | undefined): Credentials | undefined {
  if (given !== undefined) checkCredentials(given)
  return given
}

const TEXTS_OF_CREDENTIALS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['simple', ['username', 'password']],
  ['bearer', ['token']],
  ['other', ['name']]
])

/** @throws {OptionError} the credentials are of an unknown kind, or incomplete; the error does not contain them */
function checkCredentials(given: Credentials): void {
  const { type } = Object(given) as Credentials
  const texts = TEXTS_OF_CREDENTIALS.get(type)
  if (texts === undefined)
    throw new OptionError(
      'options.credentials',
      "options.credentials must be { type: 'bearer', token }, { type: 'simple', username, password } or { type: 'other', name, payload }"
    )
  for (const name of texts) {
    if (typeof Reflect.get(given, name) !== 'string')
      throw new OptionError(`options.credentials.${name}`, `options.credentials.${name} must be a string`)
  }
  if (given.type !== 'other') return
  if (!/^[\x21-\x7e]{1,127}$/.test(given.name))
    throw OptionError.expected('options.credentials.name', '1 to 127 ASCII characters', given.name)
  if (!(given.payload instanceof Uint8Array))
    throw new OptionError('options.credentials.payload', 'options.credentials.payload must be a Uint8Array')
}

function resumeOptions<Options extends ServerResumeOptions>(
  resume: boolean | Options | undefined,
  defaults: Required<Options>
): Required<Options> | undefined {
  if (resume === undefined || resume === false) return undefined
  const all = withDefaults('options.rsocket.resume', resume === true ? {} : resume, defaults)
  for (const [name, value] of Object.entries(all)) {
    const check = name === 'window' ? milliseconds : atLeast
    check(0, `options.rsocket.resume.${name}`, value)
  }
  return all as unknown as Required<Options>
}
