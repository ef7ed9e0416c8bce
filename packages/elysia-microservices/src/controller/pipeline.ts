/**
 * Runs Nest's pipeline around a method: pre-request hooks, guards, interceptors, pipes, the method, and exception
 * filters around all of these. Synchronous steps stay synchronous, while Nest makes a promise of each step.
 */
import {
  consume,
  FEED,
  isStreamOfValues,
  type Logger,
  type StreamSink,
  type StreamSource,
  whenSettled
} from '@elysia-microservices/transport/kit'
import {
  catchError,
  defer,
  from,
  isObservable,
  lastValueFrom,
  mergeMap,
  type ObservableInput,
  of
} from 'rxjs'
import { isPromise, whenThere } from '../hooks/promise.ts'
import type { Message } from '../types/message.ts'
import { RpcContext } from './context.ts'
import type { Guard, Interceptor, PreRequestHook } from './enhancer.ts'
import { type AnyClass, RpcExecutionContext } from './execution-context.ts'
import { slowable } from './feed-subscriber.ts'
import type { Fail } from './filters.ts'
import { intercept } from './interceptors.ts'
import type { Arguments, Invoke, Method } from './parameters.ts'
import { runPreRequestHooks } from './pre-request-hooks.ts'

/** The stages of a pipeline. */
export interface Stages {
  readonly type: AnyClass
  readonly method: Method
  readonly preRequestHooks: readonly PreRequestHook[]
  readonly guards: readonly Guard[]
  /** Makes the error of a guard that refuses a call. */
  readonly refusal: () => Error
  readonly interceptors: readonly Interceptor[]
  /** Runs the pipes and the method. */
  readonly invoke: Invoke
  /** Runs the exception filters; `undefined` without filters. */
  readonly fail: Fail | undefined
  readonly logger: Logger
}

/** Combines the stages to one function of a message. */
export function pipeline(stages: Stages): (message: Message) => unknown {
  const run = pipelineOfArguments(stages)
  return (message) => run([message.data, new RpcContext(message, stages.logger)])
}

/** Combines the stages to one function of the arguments. */
export function pipelineOfArguments(stages: Stages): Invoke {
  const { fail, logger } = stages
  const run = prepared(stages, runner(stages))
  if (fail === undefined) return run
  return (args) => {
    // Filters get the original arguments, even if a guard has replaced the data.
    const given: Arguments = [...args]
    const failed = (error: unknown) => fail(error, given)
    try {
      const result = run(args)
      return isPromise(result)
        ? whenSettled(result, (value) => caught(value, failed, logger)).catch(failed)
        : caught(result, failed, logger)
    } catch (error) {
      return failed(error)
    }
  }
}

function prepared({ type, method, preRequestHooks, logger }: Stages, run: Invoke): Invoke {
  if (preRequestHooks.length === 0) return run
  return (args) =>
    runPreRequestHooks(
      preRequestHooks,
      new RpcExecutionContext(args, type, method),
      async () => run(args),
      logger
    )
}

function runner({ type, method, guards, refusal, interceptors, invoke, logger }: Stages): Invoke {
  const call: Invoke =
    interceptors.length === 0
      ? invoke
      : (args) =>
          intercept(
            interceptors,
            new RpcExecutionContext(args, type, method),
            async () => invoke(args),
            logger
          )
  if (guards.length === 0) return call
  const admitted = (allowed: unknown, args: Arguments) => {
    if (!allowed) throw refusal()
    return call(args)
  }
  return (args) => {
    const allowed = ask(guards, new RpcExecutionContext(args, type, method), 0)
    return whenThere(allowed, (value) => admitted(value, args))
  }
}

function ask(guards: readonly Guard[], context: RpcExecutionContext, from: number): unknown {
  for (let index = from; index < guards.length; index++) {
    const answer = (guards[index] as Guard).canActivate(context as never)
    if (answer === true) continue
    if (answer === false) return false
    return lastOf(answer).then((allowed) => (allowed ? ask(guards, context, index + 1) : false))
  }
  return true
}

async function lastOf(answer: unknown): Promise<unknown> {
  const value = await answer
  return isObservable(value) ? lastValueFrom(value) : value
}

/** Lets filters answer the errors of a stream too. */
function caught(result: unknown, failed: (error: unknown) => unknown, logger: Logger): unknown {
  if (!isStreamOfValues(result)) return result
  const answer = (error: unknown) => valuesOf(failed(error))
  if (!(FEED in result) && isObservable(result)) return from(result).pipe(catchError(answer))
  return slowable((sink) => caughtFeed(result, answer, sink), logger)
}

/** The values of a filter's answer: a promise of an Observable stands for the values of that Observable. */
function valuesOf(answer: unknown): ObservableInput<unknown> {
  if (!isPromise(answer)) return answer as ObservableInput<unknown>
  return from(answer).pipe(mergeMap((value) => (isObservable(value) ? from(value) : of(value))))
}

/** Consumes a stream as it is, so that it waits for its reader; if it fails, the answer of the filters follows. */
function caughtFeed(
  stream: object,
  answer: (error: unknown) => ObservableInput<unknown>,
  sink: StreamSink
): StreamSource {
  let isCanceled = false
  let answered: StreamSource | undefined
  const source = consume(stream, {
    next: (value, size) => sink.next(value, size),
    complete: () => sink.complete(),
    error(error) {
      if (isCanceled) return
      const filtered = consume(
        defer(() => answer(error)),
        sink
      )
      // The sink may have had enough at the first value of the answer.
      if (isCanceled) filtered.cancel()
      else answered = filtered
    },
    teardownFailed: (error) => sink.teardownFailed(error)
  })
  return {
    resume: () => source.resume(),
    cancel() {
      isCanceled = true
      source.cancel()
      answered?.cancel()
    }
  }
}
