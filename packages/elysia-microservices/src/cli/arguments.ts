/** The command line, read and checked before anything is sent. */
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { nearest, OptionError, type Pattern } from '@elysia-microservices/transport/kit'
import type { TcpConnectOptions } from '../client/connect.ts'

/** What can be asked for. */
export const COMMANDS = ['call', 'stream', 'emit', 'describe', 'health', 'top'] as const
export type Command = (typeof COMMANDS)[number]

/** A command line that is what it must be. */
export interface Arguments {
  readonly command: Command
  readonly url: string
  readonly connect: TcpConnectOptions
  /** Empty of commands that take none. */
  readonly pattern: Pattern
  readonly data: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds. */
  readonly timeout: number
  /** `Infinity` if it was not given. */
  readonly count: number
  /** Milliseconds. */
  readonly interval: number
  readonly json: boolean
}

/** Certificates and a key; on the command line the names of their files. */
interface Certificates {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** Answers of more bytes end the connection: whoever is asked need not be trusted. */
const RECEIVE_BUFFER = 64 * 1024 * 1024

const OPTIONS = {
  protocol: { type: 'string', default: 'rsocket' },
  header: { type: 'string', multiple: true, default: [] as string[] },
  timeout: { type: 'string', default: '30000' },
  count: { type: 'string' },
  interval: { type: 'string', default: '1000' },
  ca: { type: 'string' },
  cert: { type: 'string' },
  key: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false }
} as const

/**
 * Reads a command line.
 * @param stdin gives all of the standard input
 * @returns `'help'` or `'version'` if that is asked for
 * @throws {OptionError} it is not what it must be
 */
export async function readArguments(
  args: readonly string[],
  stdin: () => Promise<string>
): Promise<Arguments | 'help' | 'version'> {
  const { values, positionals } = parse(args)
  if (values.version) return 'version'
  if (values.help || positionals.length === 0) return 'help'
  const [command, url, ...rest] = positionals as [string, ...string[]]
  if (!isCommand(command)) {
    const near = nearest(command, COMMANDS)
    throw wrong('command', `There is no command ${command}; ${near ? `did you mean ${near}?` : 'see --help'}`)
  }
  if (url === undefined) throw wrong('url', `${command} needs a url, such as tcp://localhost:4000`)
  const takesPattern = command === 'call' || command === 'stream' || command === 'emit'
  if (takesPattern && rest.length === 0) throw wrong('pattern', `${command} needs a pattern behind the url`)
  const surplus = rest[takesPattern ? 2 : 0]
  if (surplus !== undefined)
    throw wrong(
      'arguments',
      `${command} has no use for ${surplus}; put data with spaces in it between quotes`
    )
  return {
    command,
    url,
    connect: {
      ...(await addressOf(url, values)),
      protocol: protocolOf(values.protocol),
      limits: { receiveBuffer: RECEIVE_BUFFER }
    },
    pattern: patternOf(rest[0] ?? ''),
    data: await dataOf(rest[1], stdin),
    headers: Object.fromEntries(values.header.map(headerOf)),
    timeout: numberOf('timeout', values.timeout, 0),
    count: values.count === undefined ? Number.POSITIVE_INFINITY : numberOf('count', values.count, 1),
    interval: numberOf('interval', values.interval, 10),
    json: values.json
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

async function addressOf(
  text: string,
  given: Certificates
): Promise<{ host: string; port: number; tls?: true | Certificates }> {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw wrong('url', `${text} is not a url, such as tcp://localhost:4000`)
  }
  if (url.protocol !== 'tcp:' && url.protocol !== 'tls:')
    throw wrong('url', `${text} must begin with tcp:// or tls://`)
  if (url.hostname === '' || url.port === '') throw wrong('url', `${text} needs a host and a port`)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const files = Object.entries({ ca: given.ca, cert: given.cert, key: given.key }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined
  )
  const [first] = files
  if (url.protocol === 'tcp:') {
    if (first === undefined) return { host, port: Number(url.port) }
    throw wrong(`--${first[0]}`, `--${first[0]} is for urls that begin with tls://, but this one is ${text}`)
  }
  const read = await Promise.all(files.map(async ([name, file]) => [name, await textOf(name, file)]))
  return { host, port: Number(url.port), tls: first === undefined ? true : Object.fromEntries(read) }
}

function protocolOf(name: string): 'rsocket' | 'nest' {
  if (name === 'rsocket' || name === 'nest') return name
  throw wrong('--protocol', `--protocol must be rsocket or nest, but is ${name}`)
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

async function textOf(what: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw wrong(what, `${file} cannot be read: ${(error as Error).message}`)
  }
}

function json(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw wrong(
      what,
      `${what} is not JSON (${(error as Error).message}); a text needs quotes of its own: '"text"'`
    )
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
