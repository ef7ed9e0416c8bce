/**
 * Interfaces for the parts of Nest's pipeline. Their methods have parameters of type `never`, so that a class fits
 * whether it names Nest's types or this library's (`RpcExecutionContext`, `PipeMetadata`).
 */
import type { Observable } from 'rxjs'
import type { AnyClass } from './execution-context.ts'

/** Decides whether a call may go on. Its argument is an `RpcExecutionContext`. */
export interface Guard {
  /** The call goes on only if the result is `true`, or a promise or Observable of `true`. */
  canActivate(context: never): unknown
}

/** Nest's description of the value that is passed to a pipe. */
export interface PipeMetadata {
  readonly metatype: unknown
  readonly type: 'body' | 'custom'
  readonly data: unknown
  readonly schema: unknown
}

/** Checks a value, or turns it into another value. Its second argument is a `PipeMetadata`. */
export interface Pipe {
  /** Returns the value for the method, or a promise of that value. An error that it throws becomes the answer. */
  transform(value: unknown, metadata: never): unknown
}

/**
 * Runs around a call. Its arguments are an `RpcExecutionContext` and the next handler, whose `handle()` returns an
 * Observable of the answer.
 */
export interface Interceptor {
  /** Returns the Observable of the answer, or a promise of that Observable. */
  intercept(context: never, next: never): unknown
}

/** Turns an error into an answer. Its second argument is an `RpcExecutionContext` without class and method. */
export interface Filter {
  /** Returns an Observable that fails with the answer, or that emits values in place of the error. */
  catch(error: unknown, host: never): unknown
}

/**
 * Runs before the guards of every method. Its arguments are an `RpcExecutionContext` and `next`. It returns the
 * result of `next()`, an Observable of the answer, or another Observable.
 */
export type PreRequestHook = (context: never, next: () => Observable<unknown>) => unknown

/** The enhancers of one method, by kind, in the order in which they run. */
export interface Enhancers {
  readonly guards: readonly Guard[]
  readonly pipes: readonly Pipe[]
  readonly interceptors: readonly Interceptor[]
  readonly filters: readonly Filter[]
}

/** An enhancer as users give it: an instance, or a class to instantiate. */
export type Given<Enhancer extends object = object> = Enhancer | AnyClass
