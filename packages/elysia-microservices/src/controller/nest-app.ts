/** A Nest application context as the container of a service, and what its modules set for all controllers. */
import { checkNames, OptionError } from '@elysia-microservices/transport/kit'
import type { Filter, Given, Guard, Interceptor, Pipe, PreRequestHook } from './enhancer.ts'
import type { RpcExceptionClass } from './filters.ts'
import type { Resolve } from './instances.ts'

/** The application that `NestFactory.createApplicationContext()` returns. */
export interface NestApp {
  /** The instance of a class. Throws if no module provides it. */
  get(type: new (...args: unknown[]) => object): object
}

/** Settings of a Nest application for all its controllers. */
export interface NestOptions {
  /**
   * The application context. It makes the instances, in place of `resolve`, and calls their lifecycle hooks itself.
   * What its modules provide as `APP_GUARD`, `APP_PIPE`, `APP_INTERCEPTOR` and `APP_FILTER`, and what its methods
   * such as `useGlobalGuards` and `registerPreRequestHook` were given before the service starts, comes before the
   * lists given here.
   */
  readonly app?: NestApp | undefined
  /**
   * Asks a container for the instances of controllers, guards, pipes, interceptors and exception filters that
   * are given as classes, once for each class, when the service starts. Default: they are made without arguments.
   */
  readonly resolve?: Resolve | undefined
  /**
   * Whether to call Nest's lifecycle hooks (`onModuleInit` and so on) of these instances. Say `false` where the
   * container calls them itself, as Nest's does. Default: `true`.
   */
  readonly lifecycle?: boolean | undefined
  /** Guards of all controllers, as by `useGlobalGuards`. */
  readonly guards?: readonly Given<Guard>[] | undefined
  /** Pipes of all controllers, as by `useGlobalPipes`. */
  readonly pipes?: readonly Given<Pipe>[] | undefined
  /** Interceptors of all controllers, as by `useGlobalInterceptors`. */
  readonly interceptors?: readonly Given<Interceptor>[] | undefined
  /** Exception filters of all controllers, as by `useGlobalFilters`. */
  readonly filters?: readonly Given<Filter>[] | undefined
  /** Pre-request hooks of all controllers, as by `registerPreRequestHook`. */
  readonly preRequestHooks?: readonly PreRequestHook[] | undefined
  /** The class of this name of `@nestjs/microservices`, which exception filters get when a guard refuses. */
  readonly RpcException?: RpcExceptionClass | undefined
}

/** The container of the controllers, and the settings that all of them share. */
export interface Settings {
  readonly resolve: Resolve | undefined
  readonly lifecycle: boolean
  readonly nest: NestOptions
}

/** The part of Nest's `ApplicationConfig` that is read. Nest does not publish it, so a missing method is an error. */
type Config = Readonly<Record<string, (() => unknown) | undefined>>

const NAMES = [
  'app',
  'resolve',
  'lifecycle',
  'guards',
  'pipes',
  'interceptors',
  'filters',
  'preRequestHooks',
  'RpcException'
] as const satisfies readonly (keyof NestOptions)[]

const PRE_REQUEST = 'getGlobalPreRequestHooks'

/**
 * The settings that the options stand for, completed by the application context.
 * @throws {OptionError} an option does not exist, or `app` is no application context or provides what is not
 *   supported
 */
export function settingsOf(nest: NestOptions = {}): Settings {
  checkNames('options.nest', nest, NAMES)
  const { app, resolve, lifecycle } = nest
  if (app === undefined) return { resolve, lifecycle: lifecycle ?? true, nest }
  const globals = globalsOf(app)
  return {
    resolve: resolve ?? ((type) => app.get(type)),
    lifecycle: lifecycle ?? false,
    // Read again when the service starts: an application may be given more until then.
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

/** Reads the lists of an application, by the names that its configuration has for them. */
function globalsOf(app: object): (name: string) => readonly unknown[] {
  const { container } = app as { container?: { applicationConfig?: Config } }
  const config = container?.applicationConfig
  const read = (name: string): readonly unknown[] => {
    // Nest knows pre-request hooks since version 12.
    if (name === PRE_REQUEST && config !== undefined && !('registerPreRequestHook' in config)) return []
    const list = config?.[name]?.call(config)
    if (Array.isArray(list)) return list
    throw OptionError.expected(
      'options.nest.app',
      'an application context, as NestFactory.createApplicationContext() gives it',
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
