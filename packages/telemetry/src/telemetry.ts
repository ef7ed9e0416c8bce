/** `telemetry()`: figures and traces of the messages of a service, or of the calls of a client. */
import {
  type Around,
  type AroundAny,
  type AroundMessage,
  type ClientEvent,
  type Handle,
  IncomingMessage,
  type ReceivedMessage,
  type SentMessage,
  tap
} from '@elysia-microservices/transport/kit'
import { context } from '@opentelemetry/api'
import { figures } from './figures/figures.ts'
import { handlerFigures } from './figures/handler-figures.ts'
import { watchService } from './figures/services.ts'
import { registerInstruments } from './metrics/instruments.ts'
import { Followed, Measured, nameOf, Recorded } from './observation.ts'
import { startAttempt, startReceived, startSent, tracer } from './traces/tracing.ts'

/**
 * Counts messages and their durations, and, if an OpenTelemetry SDK is registered, makes spans of them and carries the
 * trace in their headers. For both ends: `service.use(telemetry())`, `connect({ use: [telemetry()] })`. What is counted
 * is of the process: `metrics()` and `metricProducer()` give it.
 */
export function telemetry(): AroundAny {
  registerInstruments()
  const around = <Message extends AroundMessage>(next: Handle<Message>): Handle<Message> => {
    let handle: ((message: AroundMessage) => unknown) | undefined
    // What stands around messages stands at one end, which the first message tells.
    return (message) => {
      handle ??= (
        message instanceof IncomingMessage
          ? received(next as unknown as Handle<ReceivedMessage>)
          : sent(next as unknown as Handle<SentMessage>)
      ) as (message: AroundMessage) => unknown
      return handle(message)
    }
  }
  return Object.assign(around, {
    figures: handlerFigures,
    attach(end: Parameters<NonNullable<AroundAny['attach']>>[0]) {
      if ('stats' in end) watchService(end)
      else end.onEvent(clientEvent)
      // A transport's figures are known from here on.
      registerInstruments()
    }
  })
}

const received: Around<ReceivedMessage> = (next) => (message) => {
  const start = performance.now()
  const side = message.kind === 'event' ? 'consumer' : 'server'
  const sdk = tracer()
  let watcher: Measured | undefined
  let result: unknown
  try {
    if (sdk === undefined) {
      result = next(message)
      if (typeof result !== 'object' || result === null) {
        figures[side].of(nameOf(message)).ended('OK', performance.now() - start)
        return result
      }
      watcher = new Measured(side, message, start)
    } else {
      const traced = startReceived(sdk, side, message)
      const Watcher = traced.span.isRecording() ? Recorded : Followed
      watcher = new Watcher(side, message, start, traced)
      result = context.with(traced.context, next, undefined, message)
    }
  } catch (error) {
    watcher ??= new Measured(side, message, start)
    watcher.ended({ outcome: 'failed', error })
    throw error
  }
  return tap(result, watcher)
}

const sent: Around<SentMessage> = (next) => (call) => {
  const start = performance.now()
  const side = call.kind === 'event' ? 'producer' : 'client'
  const sdk = tracer()
  if (sdk === undefined) return tap(next(call), new Measured(side, call, start))
  const { headers, ...traced } = startSent(sdk, side, call)
  if (!traced.span.isRecording())
    return tap(next(call.withHeaders(headers)), new Followed(side, call, start, traced))
  const watcher = new Recorded(side, call, start, traced)
  calls.set(headers, watcher)
  return tap(next(call.withHeaders(headers)), watcher)
}

/** Recorded calls by the headers they were made with, which is what a client tells of a call it makes again. */
const calls = new WeakMap<object, Recorded>()

function clientEvent(event: ClientEvent): void {
  if (event.type === 'ejected') figures.ejections++
  if (event.type !== 'retry') return
  figures.client.of(event.pattern).retries++
  const sdk = tracer()
  const call = event.headers === undefined ? undefined : calls.get(event.headers)
  if (sdk !== undefined) call?.madeAgain((traced) => startAttempt(sdk, traced, event))
}
