/**
 * The parts of Nest's pipeline, by their methods. Their parameters are `never`, so that classes are accepted whether
 * they name Nest's types or ours (`RpcExecutionContext`, `PipeMetadata`).
 */
import type { Observable } from 'rxjs'
import type { AnyClass } from './execution-context.ts'

/** Says whether a call may go on. Gets an `RpcExecutionContext`. */
export interface Guard {
  /** Only `true`, also as a promise or an Observable, lets the call go on. */
  canActivate(context: never): unknown
}

/** Nest's description of the value that a pipe gets. */
export interface PipeMetadata {
  readonly metatype: unknown
  readonly type: 'body' | 'custom'
  readonly data: unknown
  readonly schema: unknown
}

/** Checks a value, or turns it into another one. Gets `PipeMetadata`. */
export interface Pipe {
  /** Gives the value that the method gets, also as a promise. What it throws is the answer. */
  transform(value: unknown, metadata: never): unknown
}

/**
 * Stands around a call. Gets an `RpcExecutionContext`, and the rest of the way, whose `handle()` is an Observable
 * of the answer.
 */
export interface Interceptor {
  /** Gives the Observable of the answer, also as a promise. */
  intercept(context: never, next: never): unknown
}

/** Turns an error into an answer. Gets an `RpcExecutionContext` that knows neither class nor method. */
export interface Filter {
  /** Gives an Observable that fails with the answer, or has values in place of the error. */
  catch(error: unknown, host: never): unknown
}

/**
 * Runs before the guards of every method. Gets an `RpcExecutionContext`, and gives what `next()` gives: an Observable
 * of the answer.
 */
export type PreRequestHook = (context: never, next: () => Observable<unknown>) => unknown

/** The parts around one method, in the order in which they run. */
export interface Enhancers {
  readonly guards: readonly Guard[]
  readonly pipes: readonly Pipe[]
  readonly interceptors: readonly Interceptor[]
  readonly filters: readonly Filter[]
}

/** Part of the pipeline as users give it: an instance, or a class to make one of. */
export type Given<Enhancer extends object = object> = Enhancer | AnyClass
