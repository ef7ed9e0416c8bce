/** Finds and starts the engines of a project. */
import net from 'node:net'
import { relative } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { DevEngine, EngineName } from '../config.ts'
import type { Start } from '../process-group.ts'
import { claim } from './claim.ts'
import type { Engine } from './engine.ts'
import { dataFolder } from './folder.ts'
import { kafka } from './kafka.ts'
import { mqtt } from './mqtt.ts'
import { nats } from './nats.ts'
import { postgres } from './postgres.ts'
import { rabbitmq } from './rabbitmq.ts'
import { redis } from './redis.ts'

export type { Engine } from './engine.ts'

const ENGINES: Readonly<Record<EngineName, Engine>> = { nats, redis, mqtt, postgres, rabbitmq, kafka }

/** An engine for services. */
export interface FoundEngine {
  readonly engine: Engine
  readonly url: string
  readonly port: number
  /** The line that `dev` prints about the engine. */
  readonly said: string
  /** Returns the command that starts the engine; missing if the engine runs already. */
  readonly start?: () => Promise<Start>
  /** The folder of its data, if `dev` starts the engine. */
  readonly folder?: string
}

/** The engines that a project needs, from the packages that it uses. */
export function neededEngines(packages: readonly string[]): EngineName[] {
  return Object.values(ENGINES)
    .filter(({ neededBy }) => neededBy.some((name) => packages.includes(name)))
    .map(({ name }) => name)
}

/**
 * Finds a running engine, or the way to start it.
 * @throws {OptionError} no engine runs, and it cannot be started
 */
export async function findEngine(
  name: EngineName,
  { port: wanted }: DevEngine,
  root: string,
  folders: readonly string[]
): Promise<FoundEngine> {
  const engine = ENGINES[name]
  const { title, variable } = engine
  const given = process.env[variable]
  if (given !== undefined && given !== '') return ofUser(engine, given)
  const port = wanted === 0 ? await freePort() : (wanted ?? engine.port)
  const usual = await engine.probe('127.0.0.1', port)
  const own = `set ${variable} to use another server`
  if (usual === 'engine' && engine.isFoundByPort)
    return {
      engine,
      port,
      url: engine.url(port),
      said: `${title} answers on 127.0.0.1:${port} already; ${own}`
    }
  if (usual !== 'nobody')
    throw new OptionError(
      `engines.${name}`,
      `${title} cannot be started: port ${port} is taken${usual === 'engine' ? ` by another ${title}` : ''}; set ${variable} to use one that runs, or engines.${name}.port in microservices.config.ts to another port (0: any)`
    )
  const folder = dataFolder(engine.name, root)
  const found = engine.find(root, folders)
  if (found === undefined) throw missing(engine)
  const start = () => engine.start({ root, found, port, folder })
  const shown = folder.startsWith(root) ? relative(root, folder) : folder
  return {
    engine,
    port,
    url: engine.url(port),
    start,
    folder,
    said: `${title} is started on 127.0.0.1:${port}, ${engine.login ?? ''}its data is in ${shown}; ${own}`
  }
}

/**
 * Claims the data of an engine before it is started.
 * @param socket the path of a socket that is open while this process runs
 * @returns a function that releases the data
 * @throws {OptionError} another `dev` uses the data
 */
export async function claimData({ engine, url, folder }: FoundEngine, socket: string): Promise<() => void> {
  if (folder === undefined) return () => {}
  const claimed = await claim(folder, { socket, url })
  if ('release' in claimed) return claimed.release
  const { name, title, variable } = engine
  throw new OptionError(
    `engines.${name}`,
    `${title} cannot be started: another dev of this project uses its data; stop that dev, or set ${variable}=${claimed.owner.url} to use its ${title}`
  )
}

/** Resolves when an engine answers. @param isOver whether waiting is pointless, because the engine has ended */
export async function answers({ engine, port }: FoundEngine, isOver: () => boolean): Promise<void> {
  while (!isOver() && (await engine.probe('127.0.0.1', port)) !== 'engine')
    await new Promise((resolve) => setTimeout(resolve, 50))
}

async function ofUser(engine: Engine, url: string): Promise<FoundEngine> {
  const { title, variable } = engine
  const { hostname, port } = urlOf(url)
  const number = Number(port || engine.port)
  const probed = await engine.probe(hostname.replace(/^\[|\]$/g, ''), number)
  if (probed === 'nobody')
    throw new OptionError(
      `engines.${engine.name}`,
      `${title} does not answer at ${hostname}:${number}, the address in ${variable}: start it, or unset ${variable} to let dev start one`
    )
  return {
    engine,
    url,
    port: number,
    said: `${title} is at the address in ${variable}, ${hostname}:${number}`
  }
}

/**
 * The URL under which the page reaches an engine. A user's variable may hold several addresses, or one without a scheme,
 * as is usual for Kafka.
 */
export function pageUrlOf(engine: Engine, url: string): string {
  const [first = ''] = url.split(',')
  const [scheme] = engine.url(engine.port).split('//')
  return first.includes('://') ? first : `${scheme}//${first}`
}

/** If there are several URLs, only the first one is probed. */
function urlOf(text: string): URL {
  const [first = ''] = text.split(',')
  try {
    return new URL(first.includes('://') ? first : `any://${first}`)
  } catch {
    return new URL('any://localhost')
  }
}

/** The error for an engine whose program this machine does not have. */
function missing({ name, title, variable, install }: Engine): OptionError {
  return new OptionError(
    `engines.${name}`,
    `${title} is needed, and is not on this machine: ${install}; or set ${variable} to a server that runs elsewhere`
  )
}

/** A free port on 127.0.0.1. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
