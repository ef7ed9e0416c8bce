/** The arguments of Nest's handlers for gRPC, and the answers that their results make. */
import { exhaust, isStreamOfValues, isThenable, whenSettled } from '@elysia-microservices/transport/kit'
import type { GrpcClasses, InvokeGrpc } from '@elysia-microservices/transport/nest'
import { type EmitterClass, grpcCallOver } from './call.ts'
import { OneValue } from './one-value.ts'
import { type ObservableClass, requestsOf } from './requests.ts'
import { type DuplexClass, type GrpcStreamCall, grpcStreamCallOver } from './stream-call.ts'

/** The classes of calls, by those that they extend. */
const made = new WeakMap<GrpcClasses, Made>()

interface Made {
  readonly Call: ReturnType<typeof grpcCallOver>
  readonly StreamCall: ReturnType<typeof grpcStreamCallOver>
}

function madeOf(classes: GrpcClasses): Made {
  let found = made.get(classes)
  if (found === undefined) {
    const Call = grpcCallOver(classes.EventEmitter as EmitterClass)
    found = { Call, StreamCall: grpcStreamCallOver(classes.Duplex as unknown as DuplexClass) }
    made.set(classes, found)
  }
  return found
}

/** Prepares one call of a handler. */
export const invokeGrpc: InvokeGrpc = (classes, form, message) => {
  const { Call, StreamCall } = madeOf(classes)
  const answersOne = message.calledMethod?.serverStreams === false
  if (form === 'pt_stream') {
    const call = new StreamCall(message)
    return {
      args: answersOne ? [call, call.callback] : [call],
      answer(result) {
        watch(result, call)
        return answersOne ? new OneValue(call.answer, false) : call.answer
      }
    }
  }
  const isStream = form === 'rx_stream'
  const { data } = message
  const requests = isStream ? requestsOf(classes.Observable as ObservableClass<object>, data) : undefined
  const call = new Call(message, isStream ? undefined : data)
  return {
    args: [requests === undefined ? data : requests.values, call.metadata, call],
    answer(result) {
      if (requests !== undefined) whenDone(result, requests.settled)
      return answersOne ? oneOf(result, isStream) : result
    }
  }
}

/** A handler of `@GrpcStreamCall()` answers by its call; its result only says whether it has failed. */
function watch(result: unknown, call: GrpcStreamCall): void {
  const fail = (error: unknown) => call.fail(error)
  if (isStreamOfValues(result)) exhaust(result).catch(fail)
  else if (isPromise(result)) void whenSettled(result, (value) => watch(value, call), fail)
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
