/** Finds the transport that a URL names, and the options of a client for that URL. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { OptionError, type Transport } from '@elysia-microservices/transport/kit'
import type { ConnectOptions } from 'elysia-microservices/client'
import { type Certificates, tlsFiles, tlsOf } from './certificates.ts'

/** The command-line options that say how to connect. */
export interface AddressOptions extends Certificates {
  readonly protocol: string
  /** Whether a lost connection is restored: a failed command reports the loss, and must not wait. Default: false. */
  readonly reconnect?: boolean
  /** Over gRPC: files; none: the server is asked. */
  readonly proto?: readonly string[]
  /** Folders with what these files import. */
  readonly include?: readonly string[]
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
const KNOWN = ['tcp:', 'tls:', 'grpc:', 'grpcs:', 'http:', 'https:', ...Object.keys(ENGINES)].map(
  (scheme) => `${scheme}//`
)

/** Whether a URL is that of an app that speaks Connect, for which there is no client. */
export function isOverConnect(url: string): boolean {
  return /^https?:\/\//.test(url)
}

/**
 * Returns the client's options for a URL.
 * @param method the pattern of the call, for gRPC, whose servers are asked for their services; empty: there is none
 * @throws {OptionError} the text is not a URL, or the npm package of the engine is not installed
 */
export async function addressOf(text: string, given: AddressOptions, method = ''): Promise<ConnectOptions> {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new OptionError('url', `${text} is not a url, such as tcp://localhost:4000`)
  }
  const engine = ENGINES[url.protocol]
  if (engine !== undefined) return ofEngine(engine, url, given)
  if (url.protocol === 'grpc:' || url.protocol === 'grpcs:') return overGrpc(url, given, method)
  if (url.protocol !== 'tcp:' && url.protocol !== 'tls:')
    throw new OptionError(
      'url',
      `${text} must begin with ${KNOWN.slice(0, -1).join(', ')} or ${KNOWN.at(-1)}`
    )
  if (url.hostname === '' || url.port === '') throw new OptionError('url', `${text} needs a host and a port`)
  const { protocol } = given
  if (protocol !== 'rsocket' && protocol !== 'nest')
    throw new OptionError('--protocol', `--protocol must be rsocket or nest, but is ${protocol}`)
  const tls = await tlsOf(url, given, 'tls:')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port),
    protocol,
    reconnect: given.reconnect ?? false,
    limits: { receiveBuffer: RECEIVE_BUFFER },
    ...(tls !== undefined && { tls })
  }
}

async function ofEngine(engine: EngineUrl, url: URL, given: AddressOptions): Promise<ConnectOptions> {
  if (url.hostname === '') throw new OptionError('url', `${url} needs a host`)
  const module = await imported(engine.package, url.protocol)
  return { transport: engine.make(module, url, await tlsFiles(given)), waitForConnection: 0 }
}

async function overGrpc(url: URL, given: AddressOptions, method: string): Promise<ConnectOptions> {
  if (url.hostname === '') throw new OptionError('url', `${url} needs a host`)
  const { proto = [], include = [] } = given
  const tls = await tlsOf(url, given, 'grpcs:')
  const { grpc } = await imported('@elysia-microservices/grpc', url.protocol)
  // Reading a .proto takes time, which other urls do not need.
  const { grpcAddress } = await import('./rpc/grpc-address.ts')
  const make = (options: object) =>
    (grpc as (options: object) => Transport)({ reconnect: given.reconnect ?? false, ...options })
  return grpcAddress(url, make, { proto, include }, method, tls)
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
