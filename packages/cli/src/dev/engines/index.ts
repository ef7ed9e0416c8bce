/** The engines that are started where none answers. */
import net from 'node:net'
import { relative } from 'node:path'
import { OptionError } from '@elysia-microservices/transport/kit'
import type { DevEngine, EngineName } from '../config.ts'
import type { Start } from '../process-group.ts'
import { claim } from './claim.ts'
import type { Engine, Fetching } from './engine.ts'
import { dataFolder, programsFolder } from './folder.ts'
import { kafka } from './kafka.ts'
import { mqtt } from './mqtt.ts'
import { nats } from './nats.ts'
import { postgres } from './postgres.ts'
import { rabbitmq } from './rabbitmq.ts'
import { redis } from './redis.ts'

export type { Engine } from './engine.ts'

const ENGINES: Readonly<Record<EngineName, Engine>> = { nats, redis, mqtt, postgres, rabbitmq, kafka }

/** An engine that services get. */
export interface FoundEngine {
  readonly engine: Engine
  readonly url: string
  readonly port: number
  /** A line about it. */
  readonly said: string
  /** Makes its program and arguments; missing: it runs already. */
  readonly start?: () => Promise<Start>
  /** The folder of its data, if it is started. */
  readonly folder?: string
}

/** The engines that a project needs by the packages it uses. */
export function neededEngines(packages: readonly string[]): EngineName[] {
  return Object.values(ENGINES)
    .filter(({ neededBy }) => neededBy.some((name) => packages.includes(name)))
    .map(({ name }) => name)
}

/**
 * Finds an engine, or how to start it.
 * @throws {OptionError} there is none, and it cannot be started
 */
export async function findEngine(
  name: EngineName,
  { port: wanted }: DevEngine,
  root: string,
  folders: readonly string[],
  fetching: Omit<Fetching, 'folder'>
): Promise<FoundEngine> {
  const engine = ENGINES[name]
  const { title, variable } = engine
  const given = process.env[variable]
  if (given !== undefined && given !== '') return ofUser(engine, given)
  const port = wanted === 0 ? await freePort() : (wanted ?? engine.port)
  const usual = await engine.probe('127.0.0.1', port)
  const own = `set ${variable} to use another one`
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
  const found = engine.find(root, folders) ?? (await fetched(engine, root, folders, fetching))
  const start = () => engine.start({ root, found, port, folder })
  const shown = folder.startsWith(root) ? relative(root, folder) : folder
  return {
    engine,
    port,
    url: engine.url(port),
    start,
    folder,
    said: `${title} is started on 127.0.0.1:${port}, its data lies in ${shown}; ${own}`
  }
}

/**
 * Takes the data of an engine that is to be started.
 * @param socket is open while this process runs
 * @returns gives them back
 * @throws {OptionError} another `dev` has them
 */
export async function claimData({ engine, url, folder }: FoundEngine, socket: string): Promise<() => void> {
  if (folder === undefined) return () => {}
  const claimed = await claim(folder, { socket, url })
  if ('release' in claimed) return claimed.release
  const { name, title, variable } = engine
  throw new OptionError(
    `engines.${name}`,
    `${title} cannot be started: another dev of this project uses its data; end that one, or set ${variable}=${claimed.owner.url} to use its ${title}`
  )
}

/** Resolves when an engine answers. @param isOver whether it will not any more */
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
      `${title} does not answer at ${hostname}:${number}, where ${variable} says it is: start it, or unset ${variable}, and dev starts one`
    )
  return { engine, url, port: number, said: `${title} is the one of ${variable}, at ${hostname}:${number}` }
}

/** The first of several urls is enough to know whether somebody is there. */
function urlOf(text: string): URL {
  const [first = ''] = text.split(',')
  try {
    return new URL(first.includes('://') ? first : `any://${first}`)
  } catch {
    return new URL('any://localhost')
  }
}

/** @returns the program. @throws {OptionError} it is not on this machine, and cannot be fetched */
async function fetched(
  engine: Engine,
  root: string,
  folders: readonly string[],
  { say, signal }: Omit<Fetching, 'folder'>
): Promise<string> {
  const { name, title, variable, install, fetch = [] } = engine
  const fetching: Fetching = {
    folder: programsFolder(root),
    say: (text) => say(`${title} is not on this machine: ${text}`),
    signal
  }
  const reasons: string[] = []
  for (const each of fetch) {
    if (signal.aborted) break
    await each(fetching).catch((error: Error) => reasons.push(error.message))
    const found = engine.find(root, folders)
    if (found !== undefined) return found
  }
  const reason = reasons.length === 0 ? '' : ` (it could not be fetched: ${reasons.join('; ')})`
  throw new OptionError(
    `engines.${name}`,
    `${title} is needed, and is not on this machine${reason}: ${install}; or set ${variable} to one that runs elsewhere`
  )
}

/** A port that nobody listens on. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
