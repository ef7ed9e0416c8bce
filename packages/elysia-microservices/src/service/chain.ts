/** The chainable methods of a service. Each method changes the core of the service and returns the service. */
import {
  isThenable,
  type Middleware,
  OptionError,
  type ReceivedMessage,
  type WatchedService,
  whenSettled
} from '@elysia-microservices/transport/kit'
import { checkElysiaPlugin } from '../app/elysia-plugin.ts'
import type { Host } from '../hooks/environment.ts'
import { type HookType, hookOf, scopeOf } from '../hooks/hook.ts'
import { classesOf } from '../hooks/known-errors.ts'
import type { Macro } from '../hooks/macro.ts'
import type { Patterns } from '../router/handler-pattern.ts'
import { assertPrefix } from '../router/prefix.ts'
import { isPart } from './life.ts'
import type { HandlerOptions, ServiceCore } from './service-core.ts'

/** The core of each service, hidden from users. */
const cores = new WeakMap<object, ServiceCore>()

/** The argument of `use`: a service, an Elysia app, a function that is called with the service, or a part. */
type Plugin = object

/** Adds the methods to a service. `newGroup` makes the service that the callback of a group gets. */
export function addChain(service: object, core: ServiceCore, newGroup: () => object): void {
  cores.set(service, core)
  const group = (define: unknown, prefix?: string) => {
    if (typeof define !== 'function')
      throw OptionError.expected('The callback of group() or guard()', 'a function', define)
    const empty = newGroup()
    checkDefined(define(empty), empty)
    core.includeGroup(cores.get(empty) as ServiceCore, prefix)
  }
  const hook = (type: HookType) => (first: unknown, second?: unknown) => {
    core.addHook(hookOf(type, first, second))
    return service
  }

  Object.assign(service, {
    message(patterns: Patterns, handler: unknown, options?: HandlerOptions) {
      core.add('message', patterns, handler, options)
      return service
    },
    event(patterns: Patterns, handler: unknown, options?: HandlerOptions) {
      core.add('event', patterns, handler, options)
      return service
    },
    use(plugin: Plugin) {
      const used = cores.get(plugin)
      if (used !== undefined) core.include(used)
      else if (isHost(plugin)) {
        checkElysiaPlugin(plugin)
        core.environment.useApp(plugin)
      } else if (typeof plugin === 'function') {
        checkPlugged((plugin as (service: object) => unknown)(service), service, plugin.name)
      } else if (isPart(plugin)) core.addPart(plugin)
      else
        throw OptionError.expected(
          'The argument of use()',
          'a service, an Elysia app, a plugin (a function that gets the service), or a part with start, stop or close',
          plugin
        )
      return service
    },
    wrap(given: unknown) {
      if (typeof given !== 'function' || cores.has(given))
        throw OptionError.expected(
          'The argument of wrap()',
          'middleware, (next) => (message) => next(message)',
          given
        )
      const middleware = given as Middleware<ReceivedMessage>
      core.addWrap(middleware)
      middleware.attach?.(service as WatchedService)
      return service
    },
    group(prefix: unknown, define: unknown) {
      assertPrefix(prefix)
      group(define, prefix)
      return service
    },
    guard({ as, schema, ...options }: HandlerOptions, define?: unknown) {
      if (define === undefined) core.addGuard(options, scopeOf({ as }), isStandalone(schema))
      else {
        checkGroupGuard(as, schema)
        group((guarded: object) => {
          cores.get(guarded)?.addGuard(options, 'local', true)
          return (define as (group: object) => unknown)(guarded)
        })
      }
      return service
    },
    decorate(names: string | object, value?: unknown) {
      core.environment.addDecorators(record(names, value))
      return service
    },
    state(names: string | object, value?: unknown) {
      core.environment.addState(record(names, value))
      return service
    },
    error(first: string | object, second?: unknown) {
      const hasScope = typeof first === 'object' && second !== undefined
      const classes = hasScope ? (second as object) : record(first, second)
      core.addClasses(classesOf(classes, scopeOf(hasScope ? first : {})))
      return service
    },
    macro(names: string | object, macro?: unknown) {
      core.addMacros(record(names, macro) as Record<string, Macro>)
      return service
    },
    model(names: string | object, schema?: unknown) {
      core.addModels(record(names, schema))
      return service
    },
    as(scope: 'scoped' | 'global') {
      if (scopeOf({ as: scope }) === 'local')
        throw OptionError.expected('The argument of as()', "'scoped' or 'global'", scope)
      core.widen(scope)
      return service
    },
    onStart(run: unknown) {
      core.addLifeHook('start', run)
      return service
    },
    onStop(run: unknown) {
      core.addLifeHook('stop', run)
      return service
    },
    derive: hook('derive'),
    resolve: hook('resolve'),
    onBeforeHandle: hook('beforeHandle'),
    onAfterHandle: hook('afterHandle'),
    onError: hook('error'),
    onAfterResponse: hook('afterResponse')
  })
}

/** Whether the schemas of a guard hold beside a handler's own. @throws {OptionError} another value was given */
function isStandalone(schema: unknown): boolean {
  if (schema === undefined || schema === 'override') return false
  if (schema === 'standalone') return true
  throw OptionError.expected('options.schema', "'override' or 'standalone'", schema)
}

/**
 * Checks the options of a guard with a callback.
 * @throws {OptionError} the guard has an option that has no meaning for the handlers of a callback
 */
function checkGroupGuard(as: unknown, schema: unknown): void {
  if (as !== undefined && scopeOf({ as }) !== 'local')
    throw new OptionError(
      'options.as',
      'A guard with a callback applies to the handlers of the callback only, so it cannot be scoped or global'
    )
  if (schema !== undefined && !isStandalone(schema))
    throw new OptionError(
      'options.schema',
      'The schemas of a guard with a callback hold beside those of its handlers: they cannot be replaced'
    )
}

/** @throws {OptionError} a function in `use()` has not returned the service that it was called with */
function checkPlugged(result: unknown, service: object, name: string): void {
  if (result === service || result === undefined) return
  const refuse = (why: string) => {
    throw new OptionError('The argument of use()', why)
  }
  if (typeof result === 'object' && result !== null && isThenable(result)) {
    ignore(result)
    refuse(
      'A plugin in use() must not be asynchronous: handlers that it adds after an await would be lost. Await what it needs before the chain'
    )
  }
  if (cores.has(Object(result)))
    refuse(
      `use() has got a function that makes a service, and not a service: call it, use(${name === '' ? 'make' : name}())`
    )
  if (typeof result === 'function')
    refuse(
      'use() calls a function with the service, as Elysia does, and it must return the service; middleware, (next) => (message) => next(message), is given to wrap()'
    )
  throw OptionError.expected(
    'The result of a plugin in use()',
    'the service that the plugin was called with',
    result
  )
}

/** A promise that nobody waits for: its failure comes later than the error that tells of it. */
function ignore(promise: PromiseLike<unknown>): void {
  void whenSettled(
    promise,
    () => {},
    () => {}
  )
}

/** @throws {OptionError} the callback is asynchronous, or returns another service than its group */
function checkDefined(result: unknown, group: object): void {
  if (result === group || (typeof result !== 'object' && typeof result !== 'function') || result === null)
    return
  if (isThenable(result)) {
    ignore(result)
    throw new OptionError(
      'The callback of group() or guard()',
      'The callback of group() or guard() must not be asynchronous: handlers that it adds after an await would be lost. Await what it needs before the chain'
    )
  }
  if (cores.has(Object(result)))
    throw new OptionError(
      'The callback of group() or guard()',
      'The callback of group() or guard() has returned another service, whose handlers would be lost: write (group) => group.use(service)'
    )
}

function isHost(plugin: object): plugin is Host {
  return typeof plugin === 'object' && plugin !== null && 'decorator' in plugin && 'store' in plugin
}

function record(names: string | object, value: unknown): Record<string, unknown> {
  return (typeof names === 'string' ? { [names]: value } : names) as Record<string, unknown>
}
