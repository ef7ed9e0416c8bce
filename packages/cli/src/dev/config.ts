/** `microservices.config.ts`: which services there are, and what they need. Checked before anything is started. */
import { checkNames, milliseconds, nearest, OptionError } from '@elysia-microservices/transport/kit'

/** The runtimes that can run an entry file. */
export const RUNTIMES = ['bun', 'node', 'deno'] as const
/** The runtime that runs an entry file. */
export type Runtime = (typeof RUNTIMES)[number]

/** Engines that are started where none answers. */
export const ENGINE_NAMES = ['nats', 'redis', 'mqtt', 'postgres', 'rabbitmq', 'kafka'] as const
/** An engine that is started where none answers; RabbitMQ is only found. */
export type EngineName = (typeof ENGINE_NAMES)[number]

/** One service. */
export interface DevService<Names extends string = string> {
  /** The file that is run. One of `entry` and `command` is needed. */
  readonly entry?: string | undefined
  /** A command line for the shell, in place of a file; it reloads by itself, or not at all. */
  readonly command?: string | undefined
  /** The folder that it is run in, from the folder of the configuration. Default: that folder. */
  readonly cwd?: string | undefined
  /**
   * The runtime of the entry. Default: Bun where `dev` runs under it or `bun.lock` is there; Deno where `dev` runs
   * under it, or `deno.lock`, or `deno.json` without `package.json`, is there; else Node.
   */
  readonly runtime?: Runtime | undefined
  /** Arguments of the runtime, such as `--inspect`. */
  readonly flags?: readonly string[] | undefined
  /** Arguments of the program. */
  readonly args?: readonly string[] | undefined
  /** Variables of its environment, besides those of `dev` and of engines. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Services that must be ready before it is started. */
  readonly after?: readonly Names[] | undefined
  /**
   * A url that answers when it is ready (`http://…`, or `tcp://host:port`); `false`: it need not listen at all. Default: it is ready
   * when it listens on a port, or one of its services listens.
   */
  readonly ready?: string | false | undefined
  /** Files and folders whose edits restart it, besides what its entry imports. `false`: no edit does. */
  readonly watch?: readonly string[] | false | undefined
}

/** Options of an engine that is started. */
export interface DevEngine {
  /** Where it listens on 127.0.0.1; 0: on any free port, which services learn from their environment. */
  readonly port?: number | undefined
}

/** Default export of `microservices.config.ts`. */
export interface DevConfig<Names extends string = string> {
  /** Services by their names: an entry file, or more. */
  readonly services: Readonly<Record<Names, string | DevService<NoInfer<Names>>>>
  /** Engines that services need. Default: those whose packages `package.json` names. */
  readonly engines?: Readonly<Partial<Record<EngineName, boolean | DevEngine>>> | undefined
  /** The page about all services; `false`: none. */
  readonly page?: boolean | { readonly port?: number | undefined } | undefined
  /** Milliseconds after which `dev` says that a service is not ready. Default: 15,000. */
  readonly patience?: number | undefined
  /** Milliseconds that a process may take to end before it is killed. Default: 12,000. */
  readonly grace?: number | undefined
}

/** A service as it is run. */
export interface ServicePlan extends Omit<DevService, 'after'> {
  readonly name: string
  readonly after: readonly string[]
}

/** The services and engines to run. Paths are from the root. */
export interface Plan {
  readonly root: string
  /** The configuration, if it is a file. */
  readonly file?: string | undefined
  readonly services: readonly ServicePlan[]
  readonly engines: ReadonlyMap<EngineName, DevEngine>
  readonly pagePort: number | undefined
  readonly patience: number
  readonly grace: number
}

/** Where the page is if nobody says otherwise. */
const PAGE_PORT = 4400
const PATIENCE = 15_000
/** More than the 10 s that services let work in flight end in. */
const GRACE = 12_000
const MAX_NAME = 40

/**
 * The configuration of `elysia-microservices dev`, with its names checked by the compiler.
 * @example
 * ```ts
 * import { defineConfig } from '@elysia-microservices/cli'
 *
 * export default defineConfig({
 *   services: { orders: 'src/orders.ts', gateway: { entry: 'src/gateway.ts', after: ['orders'] } }
 * })
 * ```
 */
export function defineConfig<Names extends string>(config: DevConfig<Names>): DevConfig<Names> {
  return config
}

/**
 * Checks a configuration.
 * @param needed the engines that are needed where it names none
 * @throws {OptionError} it is not what it must be
 */
export function readConfig(root: string, given: unknown, needed: readonly EngineName[]): Plan {
  checkNames('config', given, ['services', 'engines', 'page', 'patience', 'grace'])
  const {
    services,
    engines = Object.fromEntries(needed.map((name) => [name, true])),
    page = true,
    patience = PATIENCE,
    grace = GRACE
  } = given as Partial<DevConfig>
  if (typeof services !== 'object' || services === null || Object.keys(services).length === 0)
    throw OptionError.expected(
      'config.services',
      "an object of services, such as { orders: 'src/orders.ts' }",
      services
    )
  milliseconds(1, 'config.patience', patience)
  milliseconds(0, 'config.grace', grace)
  checkNames('config.engines', engines, ENGINE_NAMES)
  const names = Object.keys(services)
  const plans = names.map((name) => readService(name, services[name], names))
  checkOrder(plans)
  return {
    root,
    services: plans,
    engines: new Map(
      Object.entries(engines).flatMap(([name, engine]) =>
        engine === false || engine === undefined
          ? []
          : [[name as EngineName, engine === true ? {} : readPort(`config.engines.${name}`, engine)]]
      )
    ),
    pagePort:
      page === false
        ? undefined
        : page === true
          ? PAGE_PORT
          : (readPort('config.page', page).port ?? PAGE_PORT),
    patience,
    grace
  }
}

function readPort(path: string, given: DevEngine): DevEngine {
  checkNames(path, given, ['port'])
  const { port } = given
  if (port !== undefined && (!Number.isInteger(port) || port < 0 || port > 65_535))
    throw OptionError.expected(`${path}.port`, 'a port, from 0 to 65535', port)
  return given
}

const SERVICE_OPTIONS = [
  'entry',
  'command',
  'cwd',
  'runtime',
  'flags',
  'args',
  'env',
  'after',
  'ready',
  'watch'
]

function readService(name: string, given: unknown, names: readonly string[]): ServicePlan {
  const path = `config.services.${name}`
  // The name stands in front of each line, and in one of `--only`.
  if (!/^[\w.@-]+$/.test(name) || name.length > MAX_NAME)
    throw new OptionError(
      path,
      `The name of a service is made of letters, digits, '-', '_' and '.', at most ${MAX_NAME}, but is ${JSON.stringify(name)}`
    )
  const options = typeof given === 'string' ? { entry: given } : given
  checkNames(path, options, SERVICE_OPTIONS)
  const service = options as DevService
  const { entry, command, runtime, after = [], ready } = service
  if ((typeof entry === 'string') === (typeof command === 'string'))
    throw new OptionError(path, `${path} needs a file as entry, or a command line as command: one of the two`)
  if (runtime !== undefined && !RUNTIMES.includes(runtime))
    throw OptionError.expected(`${path}.runtime`, `one of ${RUNTIMES.join(', ')}`, runtime)
  for (const other of after) {
    if (names.includes(other)) continue
    const near = nearest(other, names)
    throw new OptionError(
      `${path}.after`,
      `${path}.after: there is no service ${other}; ${near === undefined ? `there are ${names.join(', ')}` : `did you mean ${near}?`}`
    )
  }
  if (ready !== undefined && ready !== false && !/^(https?|tcp):\/\/./.test(ready))
    throw OptionError.expected(`${path}.ready`, 'a url that begins with http:// or tcp://, or false', ready)
  return { ...service, name, after }
}

/** @throws {OptionError} services wait for each other */
function checkOrder(plans: readonly ServicePlan[]): void {
  const left = new Map(plans.map(({ name, after }) => [name, after]))
  for (;;) {
    const free = [...left].filter(([, after]) => !after.some((other) => left.has(other)))
    if (free.length === 0) break
    for (const [name] of free) left.delete(name)
  }
  if (left.size > 0)
    throw new OptionError(
      'config.services',
      `${[...left.keys()].join(', ')} wait for each other: take one of them out of 'after' of another`
    )
}
