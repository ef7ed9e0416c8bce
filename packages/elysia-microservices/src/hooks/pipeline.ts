/**
 * Combines hooks, schemas and handler to one function, once for each handler. A handler without hooks and schemas
 * is called directly. Synchronous steps stay synchronous: there is a promise only if a hook, a schema or the
 * handler returns one.
 */
import {
  ErrorAnswer,
  type IncomingMessage,
  isStream,
  isStreamOfValues,
  RpcError,
  whenSettled
} from '@elysia-microservices/transport/kit'
import type { PatternParams } from '../router/handler-pattern.ts'
import type { Check } from '../schema/check.ts'
import { asDeclared, passed } from '../schema/declared-errors.ts'
import { mapStream } from '../schema/mapped-stream.ts'
import { combined, type MessageSchema } from '../schema/message-schema.ts'
import { watchEnd } from './after-response.ts'
import { addFields, type MessageContext } from './context.ts'
import type { Hook, HookFunction, HookType } from './hook.ts'
import { codeOf, type KnownClass, type KnownErrors, knownErrors, toAnswer } from './known-errors.ts'
import { isPromise, whenThere } from './promise.ts'
import type { Surroundings } from './surroundings.ts'

/** A function that handles a message: the user's handler, or the function into which it was compiled. */
export type CompiledHandler = (message: IncomingMessage, params?: PatternParams) => unknown

/** A handler that exists only after its service has started. */
export interface LateHandler {
  readonly current: (context: never) => unknown
  /** Whether interceptors turn every answer into a stream, even a single value. */
  readonly isIntercepted: boolean
}

/** All that decides how a handler is called. */
export interface Plan {
  readonly handler: ((context: never) => unknown) | LateHandler
  readonly hooks: readonly Hook[]
  readonly schema: MessageSchema
  /** The registered classes of errors, those of the handler's own service last. */
  readonly classes: readonly KnownClass[]
  /** Whether a pattern has wildcards or groups. */
  readonly hasParams: boolean
}

/**
 * A step before the handler. It returns `undefined` to go on, any other value to answer with that value, or a
 * promise of either.
 */
type Step = (context: MessageContext) => unknown

/** Compiles the handler and all that runs around it. */
export function compile(plan: Plan, surroundings: Surroundings): CompiledHandler {
  const { hooks, classes, hasParams } = plan
  const schema = combined(plan.schema)
  const isBare = hooks.length + classes.length === 0 && Object.keys(schema).length === 0 && !hasParams
  const late = typeof plan.handler === 'function' ? undefined : plan.handler
  const given = late === undefined ? plan.handler : late.current
  if (isBare && surroundings.isEmpty) return given as CompiledHandler
  const Context = surroundings.contextClass()
  const handler = given as HookFunction
  const before = stepsBefore(hooks, schema)
  const known = knownErrors(classes)
  const after = stepAfter(hooks, schema, known, late?.isIntercepted === true)
  const fail = failure(hooks, schema, known)

  const answer = (early: unknown, context: MessageContext) => {
    const result = early === undefined ? handler(context) : early
    if (after === undefined) return result
    return whenThere(result, (value) => after(context, value))
  }
  const run = (context: MessageContext) => {
    const early = runSteps(before, context, 0)
    return isPromise(early) ? whenSettled(early, (value) => answer(value, context)) : answer(early, context)
  }
  const afterResponse = functionsOf(hooks, 'afterResponse')
  if (afterResponse.length > 0) {
    const handle = fail === undefined ? run : (context: MessageContext) => guarded(run, fail, context)
    const { logger } = surroundings
    return (message, params) => watchEnd(handle, new Context(message, params), message, afterResponse, logger)
  }
  if (fail === undefined) return (message, params) => run(new Context(message, params))
  return (message, params) => guarded(run, fail, new Context(message, params))
}

function guarded(
  run: Step,
  fail: (context: MessageContext, error: unknown) => unknown,
  context: MessageContext
): unknown {
  try {
    const result = run(context)
    return isPromise(result) ? whenSettled(result, identity, (error) => fail(context, error)) : result
  } catch (error) {
    return fail(context, error)
  }
}

/**
 * The steps before the handler, in Elysia's order: `derive`, then the schemas, then `resolve` and `beforeHandle` in
 * the order of registration.
 */
function stepsBefore(hooks: readonly Hook[], schema: MessageSchema): Step[] {
  const { data, headers } = schema
  const steps: Step[] = functionsOf(hooks, 'derive').map((run) => extend('derive', run))
  if (headers !== undefined) steps.push(checkOf('headers', headers))
  if (data !== undefined) steps.push(checkOf('data', data))
  for (const { type, run } of hooks) {
    if (type === 'resolve') steps.push(extend(type, run))
    else if (type === 'beforeHandle') steps.push(run)
  }
  return steps
}

/** Checks a field with a schema, and replaces the field by the schema's result. */
function checkOf(field: 'data' | 'headers', check: Check): Step {
  const replace = (context: MessageContext, value: unknown) => {
    context[field] = value as never
  }
  return (context) => {
    return whenThere(check(context[field]), (value) => replace(context, value))
  }
}

/** Adds the result of a hook to the context. A hook may return an error instead of throwing it. */
function extend(type: 'derive' | 'resolve', run: HookFunction): Step {
  return (context) => {
    return whenThere(run(context), (added) => addFields(context, thrownIfError(added), type))
  }
}

function thrownIfError(value: unknown): unknown {
  if (value instanceof Error) throw value
  return value
}

function thrownIfAnswer(value: unknown): unknown {
  if (value instanceof RpcError) throw value
  return value
}

function runSteps(steps: readonly Step[], context: MessageContext, from: number): unknown {
  for (let index = from; index < steps.length; index++) {
    const early = (steps[index] as Step)(context)
    if (early === undefined) continue
    if (!isPromise(early)) return thrownIfError(early)
    return whenSettled(early, (value) =>
      value === undefined ? runSteps(steps, context, index + 1) : thrownIfError(value)
    )
  }
  return undefined
}

/**
 * The step from a handler's result to the answer; `undefined` if there is nothing to do. `afterHandle` gets a
 * stream as a whole or, with `byValue`, each of its values.
 */
function stepAfter(
  hooks: readonly Hook[],
  { response, ...schema }: MessageSchema,
  known: KnownErrors,
  byValue: boolean
): ((context: MessageContext, result: unknown) => unknown) | undefined {
  const afterHandle = functionsOf(hooks, 'afterHandle')
  const fail = failure(hooks, { ...schema, ...(response && { response }) }, known)
  if (afterHandle.length === 0 && response === undefined && fail === undefined) return undefined
  // A handler may return a declared error instead of throwing it, as with Elysia's `status()`.
  const settled = schema.errors === undefined ? identity : thrownIfAnswer
  const fits = response ?? identity
  const check = schema.errors === undefined ? fits : (value: unknown) => fits(thrownIfAnswer(value))
  const checkStream = (context: MessageContext, stream: object, checkValue: Check) =>
    mapStream(stream, checkValue, fail && ((error) => fail(context, error)))
  const finish = (context: MessageContext, result: unknown) => {
    if (typeof result !== 'object' || result === null || !isStream(result)) return check(result)
    return response === undefined && fail === undefined ? result : checkStream(context, result, check)
  }
  if (afterHandle.length === 0) return finish
  const replace = (context: MessageContext, result: unknown) => {
    const replaced = runAfter(afterHandle, context, settled(result), 0)
    return whenThere(replaced, (value) => finish(context, value))
  }
  if (!byValue) return replace
  return (context, result) =>
    typeof result === 'object' && result !== null && isStream(result)
      ? checkStream(context, result, (value) => replace(context, value))
      : replace(context, result)
}

function runAfter(
  hooks: readonly HookFunction[],
  context: MessageContext,
  result: unknown,
  from: number
): unknown {
  let current = result
  for (let index = from; index < hooks.length; index++) {
    context.response = current
    const replaced = (hooks[index] as HookFunction)(context)
    if (isPromise(replaced)) {
      const before = current
      return whenSettled(replaced, (value) =>
        runAfter(hooks, context, value === undefined ? before : value, index + 1)
      )
    }
    if (replaced !== undefined) current = replaced
  }
  return current
}

/**
 * The step after a failure. The first `onError` hook that returns a value decides the answer; if no hook does, the
 * error is thrown. `undefined` if there is nothing to do after a failure.
 */
function failure(
  hooks: readonly Hook[],
  { response, errors: declared, passes }: MessageSchema,
  known: KnownErrors
): ((context: MessageContext, error: unknown) => unknown) | undefined {
  const onError = functionsOf(hooks, 'error')
  if (onError.length === 0 && known.size === 0 && declared === undefined && passes === undefined)
    return undefined
  const settle = (answer: unknown) => {
    thrownIfError(answer)
    if (response === undefined) return answer
    return isStreamOfValues(answer) ? mapStream(answer, response) : response(answer)
  }
  const next = (context: MessageContext, error: unknown, from: number): unknown => {
    for (let index = from; index < onError.length; index++) {
      const answer = (onError[index] as HookFunction)(context)
      if (isPromise(answer)) {
        return whenSettled(answer, (value) =>
          value === undefined ? next(context, error, index + 1) : settle(value)
        )
      }
      if (answer !== undefined) return settle(answer)
    }
    throw error
  }
  const thrown = (error: unknown): never => {
    throw error
  }
  const rethrow = (error: unknown): unknown => {
    const answer = toAnswer(passes === undefined ? error : passed(error, passes), known)
    if (declared === undefined) throw answer
    const leaving = asDeclared(answer, declared)
    if (leaving instanceof Promise) return leaving.then(thrown)
    throw leaving
  }
  return (context, error) => {
    // If a controller's filter has answered an error, the filter's answer is the error from now on.
    context.error = error instanceof ErrorAnswer ? error.value : error
    context.code = codeOf(error, known)
    try {
      const answer = next(context, error, 0)
      return isPromise(answer) ? whenSettled(answer, identity, rethrow) : answer
    } catch (failure) {
      return rethrow(failure)
    }
  }
}

function identity(value: unknown): unknown {
  return value
}

function functionsOf(hooks: readonly Hook[], wanted: HookType): HookFunction[] {
  return hooks.filter(({ type }) => type === wanted).map(({ run }) => run)
}
