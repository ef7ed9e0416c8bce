/** The arguments of Nest's handlers for gRPC, and the answers that their results make. */
import { exhaust, isStreamOfValues, isThenable, whenSettled } from '../../stream.ts'
import { type CallMessage, type EmitterClass, grpcCallOver } from './call.ts'
import { OneValue } from './one-value.ts'
import type { GrpcForm } from './patterns.ts'
import { type ObservableClass, requestsOf } from './requests.ts'
import { type DuplexClass, type GrpcStreamCall, grpcStreamCallOver } from './stream-call.ts'

/** Classes of Node and of rxjs: this package depends on neither. */
export interface GrpcClasses {
  readonly Observable: ObservableClass<object>
  readonly EventEmitter: EmitterClass
  readonly Duplex: DuplexClass
}

/** One call of a handler. */
export interface GrpcInvocation {
  /** The arguments: data, metadata and call; of a handler of `@GrpcStreamCall()` the call and its callback. */
  readonly args: readonly unknown[]
  /** The answer for the transport. @param result of the handler */
  answer(result: unknown): unknown
}

/**
 * Makes the function that prepares calls.
 * @param failed makes the error for the caller of one with which a handler of `@GrpcStreamCall()` has failed
 */
export function grpcInvocations(
  { Observable, EventEmitter, Duplex }: GrpcClasses,
  failed: (error: unknown) => unknown = (error) => error
): (form: GrpcForm, message: CallMessage) => GrpcInvocation {
  const Call = grpcCallOver(EventEmitter)
  const StreamCall = grpcStreamCallOver(Duplex)
  return (form, message) => {
    const answersOne = message.calledMethod?.serverStreams === false
    if (form === 'pt_stream') {
      const call = new StreamCall(message)
      return {
        args: answersOne ? [call, call.callback] : [call],
        answer(result) {
          watch(result, call, failed)
          return answersOne ? new OneValue(call.answer, false) : call.answer
        }
      }
    }
    const isStream = form === 'rx_stream'
    const { data } = message
    const requests = isStream ? requestsOf(Observable, data) : undefined
    const call = new Call(message, isStream ? undefined : data)
    return {
      args: [requests === undefined ? data : requests.values, call.metadata, call],
      answer(result) {
        if (requests !== undefined) whenDone(result, requests.settled)
        return answersOne ? oneOf(result, isStream) : result
      }
    }
  }
}

/** A handler of `@GrpcStreamCall()` answers by its call; its result only says whether it has failed. */
function watch(result: unknown, call: GrpcStreamCall, failed: (error: unknown) => unknown): void {
  const fail = (error: unknown) => call.fail(failed(error))
  if (isStreamOfValues(result)) exhaust(result).catch(fail)
  else if (isPromise(result)) void whenSettled(result, (value) => watch(value, call, failed), fail)
}

function whenDone(result: unknown, act: () => void): void {
  if (isPromise(result)) void whenSettled(result, act, act)
  else act()
}

function oneOf(result: unknown, takesLast: boolean): unknown {
  if (isPromise(result)) return whenSettled(result, (value) => oneOf(value, takesLast))
  return isStreamOfValues(result) ? new OneValue(result, takesLast) : result
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && isThenable(value)
}
