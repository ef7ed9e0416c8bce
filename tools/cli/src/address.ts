/** Finds the transport that a URL names, and the options of a client for that URL. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionError, type Transport } from '@elysia-microservices/transport/kit'
import type { ConnectOptions } from 'elysia-microservices/client'

/** Certificates and a key; on the command line these are file names. */
export interface Certificates {
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
}

/** The command-line options that say how to connect. */
export interface AddressOptions extends Certificates {
  readonly protocol: string
}

/** An engine: its npm package, and the function that makes the package's transport for a URL. */
interface EngineUrl {
  readonly package: string
  make(module: Readonly<Record<string, unknown>>, url: URL, tls: true | Certificates | undefined): Transport
}

/** The engines by the schemes of their URLs. */
const ENGINES: Readonly<Record<string, EngineUrl>> = {
  'nats:': {
    package: '@elysia-microservices/nats',
    make({ nats }, { href }, tls) {
      return (nats as (options: object) => Transport)({
        url: href,
        ...(tls !== undefined && { tls: tls === true ? {} : tls })
      })
    }
  },
  'redis:': ofUrl('redis'),
  'rediss:': ofUrl('redis'),
  'amqp:': ofUrl('rabbitmq'),
  'amqps:': ofUrl('rabbitmq'),
  'mqtt:': ofUrl('mqtt'),
  'mqtts:': ofUrl('mqtt'),
  'kafka:': {
    package: '@elysia-microservices/kafka',
    make({ kafka }, { hostname, port, username, password }, tls) {
      const sasl = {
        mechanism: 'PLAIN',
        username: decodeURIComponent(username),
        password: decodeURIComponent(password)
      }
      return (kafka as (options: object) => Transport)({
        url: `${hostname}:${port || 9092}`,
        ...(username !== '' && { sasl }),
        ...(tls !== undefined && { tls })
      })
    }
  }
}

/**
 * An engine whose transport takes the whole URL. @param name the name in its npm package's name, and of the
 * function that makes the transport
 */
function ofUrl(name: 'redis' | 'rabbitmq' | 'mqtt'): EngineUrl {
  return {
    package: `@elysia-microservices/${name}`,
    make(module, { href }, tls) {
      return (module[name] as (options: object) => Transport)({
        url: href,
        ...(typeof tls === 'object' && { tls })
      })
    }
  }
}

/** A connection ends if it sends an answer with more bytes, because the service is not trusted. */
const RECEIVE_BUFFER = 64 * 1024 * 1024
/** The supported schemes, for errors. */
const KNOWN = ['tcp:', 'tls:', ...Object.keys(ENGINES)].map((scheme) => `${scheme}//`)

/**
 * Returns the client's options for a URL.
 * @throws {OptionError} the text is not a URL, or the npm package of the engine is not installed
 */
export async function addressOf(text: string, given: AddressOptions): Promise<ConnectOptions> {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new OptionError('url', `${text} is not a url, such as tcp://localhost:4000`)
  }
  const engine = ENGINES[url.protocol]
  if (engine !== undefined) return ofEngine(engine, url, given)
  if (url.protocol !== 'tcp:' && url.protocol !== 'tls:')
    throw new OptionError(
      'url',
      `${text} must begin with ${KNOWN.slice(0, -1).join(', ')} or ${KNOWN.at(-1)}`
    )
  if (url.hostname === '' || url.port === '') throw new OptionError('url', `${text} needs a host and a port`)
  const { protocol } = given
  if (protocol !== 'rsocket' && protocol !== 'nest')
    throw new OptionError('--protocol', `--protocol must be rsocket or nest, but is ${protocol}`)
  const files = filesOf(given)
  const [first] = files
  if (url.protocol === 'tcp:' && first !== undefined)
    throw new OptionError(
      `--${first[0]}`,
      `--${first[0]} is only for urls that begin with tls://, but the url is ${text}`
    )
  const tls = url.protocol === 'tls:' ? ((await read(files)) ?? true) : undefined
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port),
    protocol,
    // The client does not reconnect: a failed call has to be reported, and must not wait for the service.
    reconnect: false,
    limits: { receiveBuffer: RECEIVE_BUFFER },
    ...(tls !== undefined && { tls })
  }
}

async function ofEngine(engine: EngineUrl, url: URL, given: AddressOptions): Promise<ConnectOptions> {
  if (url.hostname === '') throw new OptionError('url', `${url} needs a host`)
  const module = await imported(engine.package, url.protocol)
  return { transport: engine.make(module, url, await read(filesOf(given))), waitForConnection: 0 }
}

function filesOf({ ca, cert, key }: Certificates): [string, string][] {
  return Object.entries({ ca, cert, key }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined
  )
}

async function read(files: readonly (readonly [string, string])[]): Promise<Certificates | undefined> {
  if (files.length === 0) return undefined
  return Object.fromEntries(
    await Promise.all(files.map(async ([name, file]) => [name, await textOf(name, file)]))
  ) as Certificates
}

/** Reads a file as text. @throws {OptionError} the file cannot be read */
export async function textOf(what: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new OptionError(what, `${file} cannot be read: ${(error as Error).message}`)
  }
}

/** Imports the npm package of an engine: the one beside this program, or else the one in the working directory. */
async function imported(name: string, scheme: string): Promise<Readonly<Record<string, unknown>>> {
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    let file: string
    try {
      file = createRequire(from).resolve(name)
    } catch {
      continue
    }
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>
  }
  throw new OptionError('url', `${scheme}// needs the package ${name}: npm install --save-dev ${name}`)
}
