/** Reads and checks the command line before anything is sent. */
import { parseArgs } from 'node:util'
import { nearest, OptionError, type Pattern } from '@elysia-microservices/transport/kit'
import type { ConnectOptions } from 'elysia-microservices/client'
import { addressOf, isOverConnect } from './address.ts'
import { type Certificates, certificatesFor, textOf } from './certificates.ts'
import { type Letters, NO_LETTERS, readLetters } from './letters.ts'
import { NO_WAITING, readWaiting, type Waiting } from './waiting-arguments.ts'

/** The commands. */
export const COMMANDS = [
  'call',
  'stream',
  'emit',
  'describe',
  'health',
  'top',
  'types',
  'dead-letters',
  'backlog',
  'waiting'
] as const
export type Command = (typeof COMMANDS)[number]

/** A valid command line. */
export interface Arguments {
  readonly command: Command
  readonly url: string
  readonly connect: ConnectOptions
  /** For urls of apps that speak Connect, which have no client: their certificates. */
  readonly certificates: Certificates | undefined
  /** The pattern; empty for commands without a pattern. */
  readonly pattern: Pattern
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds. */
  readonly timeout: number
  /** The largest number of values; `Infinity` if the option was not given. */
  readonly count: number
  /** Milliseconds. */
  readonly interval: number
  readonly json: boolean
  /** The service to ask for its description; `undefined` for the service to which the URL leads. */
  readonly service: string | undefined
  /** The instance of that service; `undefined` for any instance. */
  readonly instance: string | undefined
  /** The group of `backlog`; empty for other commands. */
  readonly group: string
  readonly letters: Letters
  readonly waiting: Waiting
}

/** The arguments of `types` with a file: contracts are read from the file, and no service is called. */
export interface FileArguments {
  readonly command: 'types'
  readonly file: string
}

const OPTIONS = {
  protocol: { type: 'string', default: 'rsocket' },
  header: { type: 'string', multiple: true, default: [] as string[] },
  timeout: { type: 'string', default: '30000' },
  count: { type: 'string' },
  interval: { type: 'string', default: '1000' },
  ca: { type: 'string' },
  cert: { type: 'string' },
  key: { type: 'string' },
  proto: { type: 'string', multiple: true, default: [] as string[] },
  include: { type: 'string', multiple: true, default: [] as string[] },
  service: { type: 'string' },
  instance: { type: 'string' },
  all: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false }
} as const

const URL_START = /^[a-z]+:\/\//

/**
 * Reads a command line.
 * @param stdin reads the whole standard input
 * @returns `'help'` or `'version'` if the user has asked for that
 * @throws {OptionError} the command line is invalid
 */
export async function readArguments(
  args: readonly string[],
  stdin: () => Promise<string>
): Promise<Arguments | FileArguments | 'help' | 'version'> {
  const { values, positionals } = parse(args)
  if (values.version) return 'version'
  if (values.help || positionals.length === 0) return 'help'
  const [command, ...others] = positionals as [string, ...string[]]
  if (!isCommand(command)) {
    const near = nearest(command, [...COMMANDS, 'dev', 'migrate', 'proto'])
    throw wrong('command', `There is no command ${command}; ${near ? `did you mean ${near}?` : 'see --help'}`)
  }
  const isLetters = command === 'dead-letters'
  const isWaiting = command === 'waiting'
  const action = isLetters || isWaiting ? others.shift() : undefined
  const [url, ...rest] = others
  const letters = isLetters ? readLetters(action, rest, values.all) : NO_LETTERS
  const waiting = isWaiting ? readWaiting(action, rest, patternOf) : NO_WAITING
  if (values.all && !isLetters) throw wrong('--all', '--all is for dead-letters')
  if (url === undefined)
    throw wrong(
      'url',
      `${command} needs a url, such as tcp://localhost:4000${command === 'types' ? ', or the file of a service' : ''}`
    )
  const takesPattern = command === 'call' || command === 'stream' || command === 'emit'
  if (takesPattern && rest.length === 0) throw wrong('pattern', `${command} needs a pattern behind the url`)
  const isBacklog = command === 'backlog'
  if (isBacklog && rest.length === 0) throw wrong('group', 'backlog needs the name of a group after the url')
  const surplus = isLetters || isWaiting ? undefined : rest[takesPattern ? 2 : isBacklog ? 1 : 0]
  if (surplus !== undefined)
    throw wrong(
      'arguments',
      `${command} does not take the argument ${surplus}; put data with spaces between quotes`
    )
  if (command === 'types' && !URL_START.test(url)) return { command, file: url }
  const { service, instance } = values
  if (instance !== undefined && service === undefined)
    throw wrong(
      '--instance',
      '--instance needs --service, the name of the service that the instance belongs to'
    )
  const isConnect = isOverConnect(url)
  if (isConnect && command !== 'call' && command !== 'stream')
    throw wrong('url', `${command} is not possible over Connect; only call and stream are`)
  return {
    command,
    url,
    connect: isConnect ? {} : await addressOf(url, values, takesPattern ? rest[0] : ''),
    certificates: isConnect ? await certificatesFor(url, values) : undefined,
    pattern: patternOf(takesPattern ? (rest[0] as string) : ''),
    data: takesPattern ? await dataOf(rest[1], stdin) : undefined,
    headers: Object.fromEntries(values.header.map(headerOf)),
    timeout: numberOf('timeout', values.timeout, 0),
    count: values.count === undefined ? Number.POSITIVE_INFINITY : numberOf('count', values.count, 1),
    interval: numberOf('interval', values.interval, 10),
    json: values.json,
    service,
    instance,
    group: isBacklog ? (rest[0] as string) : '',
    letters,
    waiting
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    throw wrong('arguments', `${(error as Error).message}; see --help`)
  }
}

function isCommand(name: string): name is Command {
  return (COMMANDS as readonly string[]).includes(name)
}

function patternOf(text: string): Pattern {
  if (!text.startsWith('{')) return text
  return json('pattern', text) as object
}

async function dataOf(text: string | undefined, stdin: () => Promise<string>): Promise<unknown> {
  if (text === undefined) return undefined
  if (text === '-') return json('standard input', await stdin())
  if (!text.startsWith('@')) return json('data', text)
  const file = text.slice(1)
  return json(file, await textOf('data', file))
}

function json(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw wrong(what, `${what} is not JSON (${(error as Error).message}); a text needs JSON quotes: '"text"'`)
  }
}

function headerOf(text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw wrong('--header', `--header must be name=value, but is ${text}`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function numberOf(name: string, text: string, least: number): number {
  const number = Number(text)
  if (text.trim() !== '' && Number.isInteger(number) && number >= least) return number
  throw wrong(`--${name}`, `--${name} must be a whole number of at least ${least}, but is ${text}`)
}

function wrong(path: string, message: string): OptionError {
  return new OptionError(path, message)
}
