/**
 * The parts of Nest's pipeline, by what they can do. What they get is `never` here, so that classes written for
 * Nest's types are accepted, as well as those that say `RpcExecutionContext` or `PipeMetadata`.
 */
import type { Observable } from 'rxjs'
import type { AnyClass } from './execution-context.ts'

/** Says whether a call may go on. Gets an `RpcExecutionContext`. */
export interface Guard {
  canActivate(context: never): unknown
}

/** What a pipe learns of the value it gets. */
export interface PipeMetadata {
  readonly metatype: unknown
  readonly type: 'body' | 'custom'
  readonly data: unknown
  readonly schema: unknown
}

/** Checks a value or makes another one of it. Gets `PipeMetadata`. */
export interface Pipe {
  transform(value: unknown, metadata: never): unknown
}

/**
 * Stands around a call. Gets an `RpcExecutionContext`, and the rest of the way, whose `handle()` is an Observable
 * of the answer.
 */
export interface Interceptor {
  intercept(context: never, next: never): unknown
}

/** Makes an answer of an error. Gets an `RpcExecutionContext` that knows neither class nor method. */
export interface Filter {
  catch(error: unknown, host: never): unknown
}

/**
 * Runs before the guards of every method. Gets an `RpcExecutionContext`, and gives what `next()` gives: an Observable
 * of the answer.
 */
export type PreRequestHook = (context: never, next: () => Observable<unknown>) => unknown

/** The parts of one method, in the order in which they are asked. */
export interface Enhancers {
  readonly guards: readonly Guard[]
  readonly pipes: readonly Pipe[]
  readonly interceptors: readonly Interceptor[]
  readonly filters: readonly Filter[]
}

/** Part of the pipeline as users give it: an instance, or a class that one is made of. */
export type Given<Enhancer extends object = object> = Enhancer | AnyClass
