/**
 * Uses a Nest application context as the container of a service, and reads the settings that its modules make for
 * all controllers.
 */
import {
  mustBe,
  mustBeBoolean,
  mustBeFunction,
  OptionError,
  type OptionTable,
  readTable
} from '@elysia-microservices/transport/kit'
import type { Filter, Given, Guard, Interceptor, Pipe, PreRequestHook } from './enhancer.ts'
import type { RpcExceptionClass } from './filters.ts'
import type { Resolve } from './instances.ts'

/** The application that `NestFactory.createApplicationContext()` returns. */
export interface NestApp {
  /** Returns the instance of a class. Throws if no module provides the class. */
  get(type: new (...args: unknown[]) => object): object
}

/** Settings from Nest that apply to all controllers. */
export interface NestOptions {
  /**
   * The application context. It makes the instances, in place of `resolve`, and calls their lifecycle hooks itself.
   * Enhancers that its modules provide as `APP_GUARD`, `APP_PIPE`, `APP_INTERCEPTOR` and `APP_FILTER`, or that its
   * methods such as `useGlobalGuards` and `registerPreRequestHook` have registered before the service starts, run
   * before those of the lists in these options.
   */
  readonly app?: NestApp | undefined
  /**
   * Asks a container for the instances of controllers, guards, pipes, interceptors and exception filters that are
   * given as classes. Called once for each class, when the service starts. Default: the classes are instantiated
   * without arguments.
   */
  readonly resolve?: Resolve | undefined
  /**
   * Whether this library calls Nest's lifecycle hooks (`onModuleInit` and so on) of these instances. Set it to
   * `false` if the container calls the hooks itself, as Nest's container does. Default: `true`.
   */
  readonly lifecycle?: boolean | undefined
  /** Guards for all controllers, as with `useGlobalGuards`. */
  readonly guards?: readonly Given<Guard>[] | undefined
  /** Pipes for all controllers, as with `useGlobalPipes`. */
  readonly pipes?: readonly Given<Pipe>[] | undefined
  /** Interceptors for all controllers, as with `useGlobalInterceptors`. */
  readonly interceptors?: readonly Given<Interceptor>[] | undefined
  /** Exception filters for all controllers, as with `useGlobalFilters`. */
  readonly filters?: readonly Given<Filter>[] | undefined
  /** Pre-request hooks for all controllers, as with `registerPreRequestHook`. */
  readonly preRequestHooks?: readonly PreRequestHook[] | undefined
  /**
   * The class `RpcException` of `@nestjs/microservices`. When a guard refuses a call, exception filters get an
   * instance of this class.
   */
  readonly RpcException?: RpcExceptionClass | undefined
}

/** The container of the controllers, and the settings that all of them share. */
export interface Settings {
  readonly resolve: Resolve | undefined
  readonly lifecycle: boolean
  readonly nest: NestOptions
}

/**
 * The part of Nest's `ApplicationConfig` that is read here. This part is not Nest's public API, so a method may be
 * missing, which is reported as an error.
 */
type Config = Readonly<Record<string, (() => unknown) | undefined>>

const LIST = { check: mustBe('a list', Array.isArray) }

const NEST_OPTIONS = {
  app: {},
  resolve: { check: mustBeFunction },
  lifecycle: { check: mustBeBoolean },
  guards: LIST,
  pipes: LIST,
  interceptors: LIST,
  filters: LIST,
  preRequestHooks: LIST,
  RpcException: { check: mustBeFunction }
} as const satisfies OptionTable<NestOptions>

const PRE_REQUEST = 'getGlobalPreRequestHooks'

/**
 * Returns the settings that the options mean, completed from the application context.
 * @throws {OptionError} an option does not exist, or `app` is not an application context, or `app` provides
 * something that is not supported
 */
export function settingsOf(nest: NestOptions = {}): Settings {
  const { app, resolve, lifecycle } = readTable('options.nest', nest, NEST_OPTIONS)
  if (app === undefined) return { resolve, lifecycle: lifecycle ?? true, nest }
  const globals = globalsOf(app)
  return {
    resolve: resolve ?? ((type) => app.get(type)),
    lifecycle: lifecycle ?? false,
    // The lists are read when the service starts, because more enhancers may be registered with the application
    // until then.
    nest: {
      ...nest,
      get guards() {
        return [...(globals('getGlobalGuards') as readonly Guard[]), ...(nest.guards ?? [])]
      },
      get pipes() {
        return [...(globals('getGlobalPipes') as readonly Pipe[]), ...(nest.pipes ?? [])]
      },
      get interceptors() {
        return [...(globals('getGlobalInterceptors') as readonly Interceptor[]), ...(nest.interceptors ?? [])]
      },
      get filters() {
        return [...(globals('getGlobalFilters') as readonly Filter[]), ...(nest.filters ?? [])]
      },
      get preRequestHooks() {
        const hooks = globals(PRE_REQUEST) as readonly PreRequestHook[]
        return [...hooks, ...(nest.preRequestHooks ?? [])]
      }
    }
  }
}

/** Reads the lists of enhancers of an application, by the names of the methods in its configuration. */
function globalsOf(app: object): (name: string) => readonly unknown[] {
  const { container } = app as { container?: { applicationConfig?: Config } }
  const config = container?.applicationConfig
  const read = (name: string): readonly unknown[] => {
    // Nest has pre-request hooks since version 12; an older application has none.
    if (name === PRE_REQUEST && config !== undefined && !('registerPreRequestHook' in config)) return []
    const list = config?.[name]?.call(config)
    if (Array.isArray(list)) return list
    throw OptionError.expected(
      'options.nest.app',
      'an application context, as NestFactory.createApplicationContext() returns',
      app
    )
  }
  for (const kind of ['Guards', 'Pipes', 'Interceptors', 'Filters']) {
    if (read(`getGlobalRequest${kind}`).length === 0) continue
    const token = `APP_${kind.slice(0, -1).toUpperCase()}`
    throw new OptionError(
      'options.nest.app',
      `options.nest.app provides ${token} in a scope of its own; it must be of singleton scope`
    )
  }
  return read
}
