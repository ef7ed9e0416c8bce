/** The options of a service. */
import {
  type AnyStore,
  checkLogger,
  consoleLogger,
  DEFAULT_DRAIN,
  type FromTable,
  type Logger,
  mustBe,
  mustBeMilliseconds,
  mustBeText,
  OptionError,
  type OptionTable,
  readTable,
  type Transport
} from '@elysia-microservices/transport/kit'
import { checkWorkers, SHUTDOWN_SIGNALS, type ShutdownSignal } from '@elysia-microservices/workers'
import type { ChaosOptions } from '../chaos/options.ts'
import type { Controller } from '../controller/entry.ts'
import type { NestOptions } from '../controller/nest-app.ts'
import { type ShortServerOptions, shortForm, strayOption } from '../short-form.ts'
import type { DescribeTo } from './describe.ts'

/** Options of every service, whichever transport carries its messages. */
export interface ServiceOptions {
  /**
   * The name of the service. It is used in traces and descriptions, and brokers share events and requests among the
   * instances of one name. Over a broker, a service with events needs a name. Default: none.
   */
  readonly name?: string | undefined
  /**
   * The name under which instances share events and requests, in place of `name`: all services with this group count as
   * one. Durable handlers have it, too, unless they name their own. Default: the name.
   */
  readonly group?: string | undefined
  /** The version of the service, such as `'1.2.0'`. Default: none. */
  readonly version?: string | undefined
  /**
   * Classes with `@MessagePattern` and `@EventPattern` methods, instances of such classes, or `{ controller,
   * resolve }` for a class with its own container.
   */
  readonly controllers?: readonly Controller[] | undefined
  /** The container of the controllers, and the settings from Nest that apply to all controllers. */
  readonly nest?: NestOptions | undefined
  /**
   * The number of worker processes that answer messages, each running this program again; `'auto'`: one for each
   * processor that this process may use. This process then supervises the workers, and answers no messages itself.
   * Limits are per worker. Refused with a Unix socket, and, beyond 1, under Bun on systems other than Linux.
   * Default: no workers; this process answers.
   */
  readonly workers?: number | 'auto' | undefined
  /** Milliseconds that work in flight may take when the service stops. Default: 10,000. */
  readonly drain?: number | undefined
  /**
   * The signals at which the service, or the app that uses it, stops and the process ends. A second signal ends the
   * process at once; the same one within 0.5 s counts once, because npm passes on what the terminal has sent already. If
   * the program listens to the signal itself, the program has to end the process. With
   * `workers`, SIGTERM and SIGINT always stop the service. Default: SIGTERM and SIGINT if the service listens by
   * itself, by `service.listen()`; none if an app starts it.
   */
  readonly shutdownOn?: readonly ShutdownSignal[] | undefined
  /**
   * The store of the service's durable handlers, beside its transports: a store such as `sqlite('events.db')`, or a
   * transport that stores events, of which only the store is used. Default: the transport, if it stores events.
   */
  readonly store?: AnyStore | undefined
  /**
   * Milliseconds for which the start of the service waits for an engine or a database that cannot be reached. Default: 0,
   * the start fails at once, and whatever has started the process starts it again.
   */
  readonly waitForConnection?: number | undefined
  /** Receives failures that no caller can be told of. Default: the console. */
  readonly logger?: Logger | undefined
  /**
   * Faults to inject into this service's messages, for tests and staging. Refused where `NODE_ENV` is `'production'`,
   * unless `allowInProduction` is set. Default: none.
   */
  readonly chaos?: ChaosOptions | undefined
  /**
   * The callers who may ask for the service's description with the pattern `elysia-microservices.describe`: its
   * patterns with their schemas, addresses, figures. A function decides for each such message. Default: nobody;
   * under `elysia-microservices dev` everybody, for the page of that command.
   */
  readonly describe?: DescribeTo | undefined
}

/** Options of a service over any transports: `transport: tcp({ port: 4000 })`, or a list of transports. */
export interface TransportServiceOptions extends ServiceOptions {
  /**
   * The transport that carries messages, or a list of transports. Each transport value can be used by one service
   * only.
   */
  readonly transport: Transport | readonly Transport[]
}

/** Options of a service over TCP in the short form: `transport: 'tcp', port: 4000`. */
export interface TcpServiceOptions extends ServiceOptions, ShortServerOptions {}

/** Options of a service without a transport: other services use it, or it answers at the port of its app only. */
export interface PluginServiceOptions extends ServiceOptions {
  readonly transport?: undefined
}

/** Options of `microservice()`. */
export type MicroserviceOptions = TcpServiceOptions | TransportServiceOptions | PluginServiceOptions

/** All options of the service itself. `tests/docs` checks the table in docs/services.md against this table. */
export const SERVICE_OPTIONS = {
  name: { check: mustBeText },
  group: { check: mustBeText },
  version: { check: mustBeText },
  controllers: { byDefault: [], check: mustBe('a list of classes', Array.isArray) },
  nest: {},
  workers: { check: (_path, value) => checkWorkers(value as ServiceOptions['workers']) },
  drain: { byDefault: DEFAULT_DRAIN, check: mustBeMilliseconds(0) },
  shutdownOn: { check: mustBe(`a list of ${SHUTDOWN_SIGNALS.join(', ')}`, isListOfSignals) },
  store: {},
  waitForConnection: { byDefault: 0, check: mustBeMilliseconds(0) },
  logger: { byDefault: consoleLogger, check: checkLogger },
  chaos: {},
  describe: {}
} as const satisfies OptionTable<ServiceOptions>

const NAMES: readonly string[] = [...Object.keys(SERVICE_OPTIONS), 'transport']

/**
 * Checks the options, and separates the service's own options from its transports. @throws {OptionError} an option
 * is invalid
 */
export function readOptions(options: MicroserviceOptions = {}): {
  readonly service: FromTable<ServiceOptions, typeof SERVICE_OPTIONS>
  readonly transports: readonly Transport[]
} {
  if (typeof options !== 'object' || options === null)
    throw OptionError.expected('options', 'an object of options', options)
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  const isOwn = ([name]: [string, unknown]) => name !== 'transport' && NAMES.includes(name)
  const own: ServiceOptions = Object.fromEntries(entries.filter(isOwn))
  const service = readTable('options', own, SERVICE_OPTIONS)
  const others = entries.filter((entry) => entry[0] !== 'transport' && !isOwn(entry))
  const { transport } = options
  if (transport === 'tcp')
    return { service, transports: [shortForm(Object.fromEntries(others), 'server', NAMES)] }
  const isWithout = transport === undefined
  const transports = isWithout ? [] : [transport as Transport | readonly Transport[]].flat()
  if ((!isWithout && transports.length === 0) || !transports.every(isTransport))
    throw OptionError.expected(
      'options.transport',
      "'tcp', or a transport such as tcp({ port: 4000 })",
      transport
    )
  const [unknown] = others
  if (unknown !== undefined) throw strayOption(unknown[0], 'a service', NAMES)
  return { service, transports }
}

function isListOfSignals(value: unknown): boolean {
  return Array.isArray(value) && value.every((signal) => SHUTDOWN_SIGNALS.includes(signal))
}

function isTransport(value: unknown): value is Transport {
  const { server, client, traits } = Object(value) as Partial<Transport>
  return typeof server === 'function' && typeof client === 'function' && typeof traits === 'object'
}
