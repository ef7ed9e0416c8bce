/**
 * The controllers of a service. The patterns are read at once. The instances are made when the service starts,
 * because a container may be asynchronous.
 */
import {
  type DurableSettings,
  type Logger,
  OptionError,
  type Pattern
} from '@elysia-microservices/transport/kit'
import type { HandlerTerms } from '../hooks/terms.ts'
import type { MessageSchema } from '../schema/message-schema.ts'
import { bind } from './bind.ts'
import type { Binding } from './binding.ts'
import type { Enhancers, Pipe } from './enhancer.ts'
import { type Controller, type Entry, entryOf, type LateHandler } from './entry.ts'
import type { AnyClass } from './execution-context.ts'
import type { RpcExceptionClass } from './filters.ts'
import { Instances } from './instances.ts'
import { callStartHooks, callStopHooks } from './lifecycle-hooks.ts'
import { ENHANCERS, type EnhancerKind } from './metadata.ts'
import type { Settings } from './nest-app.ts'
import type { HandlerMethod } from './reader.ts'

/** The controllers of a service, and their settings. */
export interface ControllersOptions extends Settings {
  readonly controllers: readonly Controller[]
  readonly logger: Logger
}

/** A handler of a controller. */
export interface ControllerHandler {
  readonly kind: 'message' | 'event'
  readonly patterns: readonly Pattern[]
  readonly handler: LateHandler
  readonly durable: DurableSettings | undefined
  readonly terms: HandlerTerms
  /** The errors that the handler declares. */
  readonly schema: MessageSchema
  /** The transport to which the handler is bound; `undefined` if it answers over all transports. */
  readonly binding: Binding | undefined
}

const KINDS = Object.keys(ENHANCERS) as EnhancerKind[]

/** The controllers of one service. */
export class Controllers {
  readonly #options: ControllersOptions
  readonly #entries: readonly Entry[]
  /** The instances made at the start; their lifecycle hooks are called. */
  #living = new Set<object>()
  #users = 0
  #starting: Promise<void> | undefined

  /**
   * Reads the metadata of all controllers. @throws {OptionError} a controller uses a part of Nest that is not
   * supported, or cannot be instantiated
   */
  constructor(options: ControllersOptions) {
    this.#options = options
    for (const hook of options.nest.preRequestHooks ?? [])
      if (typeof hook !== 'function')
        throw OptionError.expected('options.nest.preRequestHooks', 'functions', hook)
    const shared = new Instances(options.resolve)
    this.#entries = options.controllers.map((controller) => entryOf(controller, shared))
    for (const entry of this.#entries) this.#check(entry)
  }

  get handlers(): ControllerHandler[] {
    return this.#entries.flatMap(({ handlers }) =>
      handlers.map(({ kind, patterns, late, durable, terms, schema, transport, where }) => ({
        ...{ kind, patterns, handler: late, durable, terms, schema },
        binding: transport === undefined ? undefined : { transport, where }
      }))
    )
  }

  /**
   * Makes the instances and calls their start hooks. Several services may share these controllers: the first
   * service that starts does this work.
   */
  async start(): Promise<void> {
    this.#users++
    this.#starting ??= this.#start()
    try {
      await this.#starting
    } catch (error) {
      this.#users--
      this.#starting = undefined
      throw error
    }
  }

  /** Calls the stop hooks when the last service with these controllers has stopped. */
  async stop(): Promise<void> {
    if (--this.#users > 0) return
    this.#starting = undefined
    if (this.#options.lifecycle) await callStopHooks([...this.#living], this.#options.logger)
  }

  async #start(): Promise<void> {
    this.#living = new Set()
    const bound = []
    for (const entry of this.#entries) {
      const { type, instances } = entry
      const instance = entry.instance ?? (await instances.of({ type, where: type.name }))
      this.#living.add(instance)
      for (const handler of entry.handlers) {
        bound.push({ instance, handler, entry, enhancers: await this.#enhancers(entry, handler) })
      }
    }
    const known = await this.#rpcException(bound.flatMap(({ enhancers }) => enhancers.filters))
    const { logger, nest } = this.#options
    const { preRequestHooks = [] } = nest
    for (const { instance, handler, entry, enhancers } of bound) {
      const pipes = new Map<unknown, Pipe>()
      for (const pipe of handler.parameters.flatMap((parameter) => parameter.pipes))
        pipes.set(pipe, (await this.#enhancer(entry, 'pipes', pipe, handler.where)) as Pipe)
      handler.late.current = await bind(instance, handler, enhancers, pipes, preRequestHooks, known, logger)
      handler.late.isIntercepted = preRequestHooks.length + enhancers.interceptors.length > 0
    }
    if (this.#options.lifecycle) await callStartHooks([...this.#living])
  }

  /** The user's class `RpcException`: from the options, or else from a filter that catches this class. */
  async #rpcException(filters: Enhancers['filters']): Promise<RpcExceptionClass | undefined> {
    const { RpcException } = this.#options.nest
    if (RpcException !== undefined || filters.length === 0) return RpcException
    return (await import('./filters.ts')).rpcExceptionIn(filters)
  }

  /**
   * The enhancers of a method: first those of all controllers, then those of the method's class, then the method's
   * own.
   */
  async #enhancers(entry: Entry, { enhancers, where }: HandlerMethod): Promise<Enhancers> {
    const found: Record<EnhancerKind, object[]> = { guards: [], pipes: [], interceptors: [], filters: [] }
    for (const kind of KINDS) {
      for (const given of this.#options.nest[kind] ?? [])
        found[kind].push(await this.#enhancer(entry, kind, given, `options.nest.${kind}`))
      for (const given of enhancers[kind]) found[kind].push(await this.#enhancer(entry, kind, given, where))
    }
    return found as unknown as Enhancers
  }

  async #enhancer(entry: Entry, kind: EnhancerKind, given: unknown, where: string): Promise<object> {
    const { method, decorator } = ENHANCERS[kind]
    let made = given
    if (typeof given === 'function') {
      const instance = await entry.instances.of({ type: given as AnyClass, where })
      this.#living.add(instance)
      // As in Nest, a class may itself do the work of an enhancer, with a static method.
      made = typeof Reflect.get(instance, method) === 'function' ? instance : given
    }
    if (typeof (made as Record<string, unknown> | null)?.[method] === 'function') return made as object
    throw new OptionError(where, `${where}: the argument of ${decorator} must have a method ${method}`)
  }

  /** Checks early what would otherwise fail when the service starts. */
  #check({ type, instance, instances, handlers }: Entry): void {
    if (instance === undefined) instances.check({ type, where: type.name })
    const check = (given: unknown, where: string) => {
      if (typeof given === 'function') instances.check({ type: given as AnyClass, where })
    }
    for (const kind of KINDS)
      for (const given of this.#options.nest[kind] ?? []) check(given, `options.nest.${kind}`)
    for (const { where, enhancers, parameters } of handlers) {
      for (const kind of KINDS) for (const given of enhancers[kind]) check(given, where)
      for (const { pipes } of parameters) for (const pipe of pipes) check(pipe, where)
    }
    this.#refuseUnreadSchemas(handlers)
  }

  /**
   * Refuses a parameter with a schema if the method has no pipe: only pipes read such schemas, so the data would
   * not be checked.
   */
  #refuseUnreadSchemas(handlers: readonly HandlerMethod[]): void {
    if (this.#options.nest.pipes?.length) return
    for (const { where, enhancers, parameters } of handlers) {
      for (const { index, metadata, pipes } of parameters) {
        if (metadata.schema === undefined || pipes.length + enhancers.pipes.length > 0) continue
        throw new OptionError(
          `parameter ${index} of ${where}`,
          `Parameter ${index} of ${where} has a schema, but the method has no pipe to check it, such as StandardSchemaValidationPipe`
        )
      }
    }
  }
}

/** Starts all controllers. If one fails, those that have started are stopped again. */
export async function startAll(all: readonly Controllers[]): Promise<void> {
  const started: Controllers[] = []
  try {
    for (const controllers of all) {
      await controllers.start()
      started.push(controllers)
    }
  } catch (error) {
    await Promise.all(started.map((controllers) => controllers.stop()))
    throw error
  }
}
