/**
 * `microservices.config.ts`: the services of a project and their options. The configuration is checked before
 * anything is started.
 */
import { checkNames, milliseconds, nearest, OptionError } from '@elysia-microservices/transport/kit'
import { OWN } from './lines.ts'

/** The runtimes that can run an entry file. */
export const RUNTIMES = ['bun', 'node', 'deno'] as const
/** A runtime that can run an entry file. */
export type Runtime = (typeof RUNTIMES)[number]

/** The engines that `dev` starts if they are needed and do not answer. */
export const ENGINE_NAMES = ['nats', 'redis', 'mqtt', 'postgres', 'rabbitmq', 'kafka'] as const
/** An engine that `dev` starts if it does not answer. RabbitMQ and Kafka are only found, not started. */
export type EngineName = (typeof ENGINE_NAMES)[number]

/** The options of one service. */
export interface DevService<Names extends string = string> {
  /** The file to run. Each service needs either `entry` or `command`. */
  readonly entry?: string | undefined
  /** A shell command to run instead of a file. It reloads edited files by itself, or not at all. */
  readonly command?: string | undefined
  /** The working directory, relative to the folder of the configuration. Default: that folder. */
  readonly cwd?: string | undefined
  /**
   * The runtime of the entry. Default: Bun if `dev` runs under Bun or `bun.lock` exists; Deno if `dev` runs under
   * Deno, or `deno.lock` exists, or `deno.json` without `package.json`; else Node.
   */
  readonly runtime?: Runtime | undefined
  /** Arguments of the runtime, such as `--inspect`. */
  readonly flags?: readonly string[] | undefined
  /** Arguments of the program. */
  readonly args?: readonly string[] | undefined
  /** Environment variables, in addition to those of `dev` and of engines. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Services that must be ready before this service is started. */
  readonly after?: readonly Names[] | undefined
  /**
   * A URL that answers when the service is ready (`http://…`, or `tcp://host:port`); `false` if the service does
   * not need to listen. Default: the service is ready when its process listens on a port, or when one of its
   * services listens.
   */
  readonly ready?: string | false | undefined
  /**
   * Files and folders whose edits restart the service, in addition to those that its entry imports. `false`: edits
   * do not restart the service.
   */
  readonly watch?: readonly string[] | false | undefined
}

/** Options of an engine that `dev` starts. */
export interface DevEngine {
  /** The port on 127.0.0.1; 0 for any free port, which services get in their environment. */
  readonly port?: number | undefined
}

/** The default export of `microservices.config.ts`. */
export interface DevConfig<Names extends string = string> {
  /** The services by their names: an entry file, or an object with options. */
  readonly services: Readonly<Record<Names, string | DevService<NoInfer<Names>>>>
  /** The engines that services need. Default: those whose packages are in `package.json`. */
  readonly engines?: Readonly<Partial<Record<EngineName, boolean | DevEngine>>> | undefined
  /** The page about all services; `false` for no page. */
  readonly page?: boolean | { readonly port?: number | undefined } | undefined
  /** Milliseconds after which `dev` reports that a service is not ready. Default: 15,000. */
  readonly patience?: number | undefined
  /** Milliseconds that a process may take to end before it is killed. Default: 12,000. */
  readonly grace?: number | undefined
}

/** A checked service. */
export interface ServicePlan extends Omit<DevService, 'after'> {
  readonly name: string
  readonly after: readonly string[]
}

/** The services and engines to run. Paths are relative to the root. */
export interface Plan {
  readonly root: string
  /** The configuration file, if there is one. */
  readonly file?: string | undefined
  readonly services: readonly ServicePlan[]
  readonly engines: ReadonlyMap<EngineName, DevEngine>
  /** Whether each service gets the name of a file of its own for `sqlite()`. */
  readonly hasEventFiles: boolean
  readonly pagePort: number | undefined
  readonly patience: number
  readonly grace: number
}

/** The default port of the page. */
const PAGE_PORT = 4400
const PATIENCE = 15_000
/** This is more than the 10 s that services give to work in flight. */
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
 * @param needed the engines that are needed if the configuration names none
 * @param hasEventFiles whether the project uses `sqlite()`
 * @throws {OptionError} the configuration is invalid
 */
export function readConfig(
  root: string,
  given: unknown,
  needed: readonly EngineName[],
  hasEventFiles: boolean
): Plan {
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
    hasEventFiles,
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

/** The options of a service, and the kind of each: `undefined` for those that are checked on their own. */
const SERVICE_OPTIONS = {
  entry: checkText,
  command: checkText,
  cwd: checkText,
  runtime: undefined,
  flags: checkTexts,
  args: checkTexts,
  env: checkEnvironment,
  after: checkTexts,
  ready: (path: string, value: unknown) => value === false || checkText(path, value),
  watch: (path: string, value: unknown) => value === false || checkTexts(path, value)
} as const

/** The operating system ends a text at NUL, so no file, argument or variable can contain it. */
function checkText(path: string, value: unknown): void {
  if (typeof value !== 'string' || value === '' || value.includes('\0'))
    throw OptionError.expected(path, 'a text that is not empty and has no NUL', value)
}

function checkTexts(path: string, value: unknown): void {
  if (!Array.isArray(value)) throw OptionError.expected(path, 'a list of texts', value)
  for (const [index, each] of value.entries())
    if (typeof each !== 'string' || each.includes('\0'))
      throw OptionError.expected(`${path}[${index}]`, 'a text without NUL', each)
}

function checkEnvironment(path: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw OptionError.expected(path, 'an object of texts, by the names of variables', value)
  for (const [name, each] of Object.entries(value)) {
    if (name === '' || /[=\0]/.test(name))
      throw new OptionError(
        path,
        `${path} has the name ${JSON.stringify(name)}, but the name of a variable is not empty and has no '=' and no NUL`
      )
    if (each !== undefined && (typeof each !== 'string' || each.includes('\0')))
      throw OptionError.expected(`${path}.${name}`, 'a text without NUL', each)
  }
}

function readService(name: string, given: unknown, names: readonly string[]): ServicePlan {
  const path = `config.services.${name}`
  // The name is printed before each line of the service, and is used in the list of `--only`.
  if (!/^[\w.@-]+$/.test(name) || name.length > MAX_NAME)
    throw new OptionError(
      path,
      `The name of a service is made of letters, digits, '-', '_' and '.', at most ${MAX_NAME}, but is ${JSON.stringify(name)}`
    )
  if (name === OWN)
    throw new OptionError(
      path,
      `No service can be called ${OWN}: its lines would look like those of this command; give it another name`
    )
  const options = typeof given === 'string' ? { entry: given } : given
  checkNames(path, options, Object.keys(SERVICE_OPTIONS))
  // Read once: an option may be a getter.
  const service = { ...options } as DevService
  for (const [option, check] of Object.entries(SERVICE_OPTIONS)) {
    const value = service[option as keyof DevService]
    if (value !== undefined) check?.(`${path}.${option}`, value)
  }
  const { entry, command, runtime, after = [], ready } = service
  if ((typeof entry === 'string') === (typeof command === 'string'))
    throw new OptionError(path, `${path} needs either a file as entry, or a command line as command`)
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

/** Checks that services do not wait for each other in a circle. @throws {OptionError} they do */
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
      `${[...left.keys()].join(', ')} wait for each other: remove one of these names from the list 'after' of another service`
    )
}
