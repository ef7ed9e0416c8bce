/** `telemetry()`: figures and traces for the messages of a service, or for the calls of a client. */
import {
  type AnyMiddleware,
  type ConnectionEvent,
  checkNames,
  type Handle,
  isStream,
  isThenable,
  type Middleware,
  type MiddlewareMessage,
  OptionError,
  type ReceivedMessage,
  type SentMessage,
  tap,
  writeTracesBy
} from '@elysia-microservices/transport/kit'
import { context } from '@opentelemetry/api'
import { beginning, endedAtOnce, endsLater } from './figures/clock.ts'
import { figures, type Side } from './figures/figures.ts'
import { handlerFigures } from './figures/handler-figures.ts'
import { watchService } from './figures/services.ts'
import { registerInstruments } from './metrics/instruments.ts'
import { Followed, figuresOf, Measured, nameOf, type Observed, Recorded } from './observation.ts'
import { OK } from './outcome.ts'
import {
  end,
  startAttempt,
  startReceived,
  startSent,
  type Traced,
  tracer,
  withTraceOf
} from './traces/tracing.ts'

/** Options of `telemetry()`. */
export interface TelemetryOptions {
  /**
   * The share of new traces for which the SDK is asked, from 0 to 1. The SDK's own sampler decides too, but asking
   * it costs more than most messages need. Use a sampler that follows the parent's decision. Default: 1.
   */
  readonly sample?: number | undefined
}

/**
 * Counts messages and their durations. If an OpenTelemetry SDK is registered, also makes a span for each message
 * and sends the trace in its headers. Works for services, `service.wrap(telemetry())`, and for clients, `connect({
 * wrap: [telemetry()] })`. There is one set of figures for the whole process, which `prometheus()` and
 * `metricProducer()` export.
 * @throws {OptionError} an option is invalid
 * @example
 * ```ts
 * import { telemetry } from '@elysia-microservices/telemetry'
 * import { microservice } from 'elysia-microservices'
 * import { connect } from 'elysia-microservices/client'
 *
 * microservice({ name: 'orders', transport: 'tcp' }).wrap(telemetry())
 * connect({ port: 4000, wrap: [telemetry({ sample: 0.1 })] })
 * ```
 */
export function telemetry(options: TelemetryOptions = {}): AnyMiddleware {
  checkNames('options', options, ['sample'])
  const { sample = 1 } = options
  if (typeof sample !== 'number' || !(sample >= 0 && sample <= 1))
    throw OptionError.expected('options.sample', 'a number from 0 to 1', sample)
  registerInstruments()
  writeTracesBy(withTraceOf)
  const middleware = <Message extends MiddlewareMessage>(next: Handle<Message>): Handle<Message> => {
    let handle: ((message: MiddlewareMessage) => unknown) | undefined
    // A middleware runs either in a service or in a client; its first message shows in which.
    return (message) => {
      handle ??= (
        'withHeaders' in message
          ? sending(sample)(next as unknown as Handle<SentMessage>)
          : receiving(sample)(next as unknown as Handle<ReceivedMessage>)
      ) as (message: MiddlewareMessage) => unknown
      return handle(message)
    }
  }
  return Object.assign(middleware, {
    ignoresValues: true,
    figures: handlerFigures,
    attach(end: Parameters<NonNullable<AnyMiddleware['attach']>>[0]) {
      if ('stats' in end) watchService(end)
      else end.onStatus(clientEvent)
      // From here on the figures of the service's transports are available to the instruments.
      registerInstruments()
    }
  })
}

const receiving =
  (sample: number): Middleware<ReceivedMessage> =>
  (next) =>
  (message) => {
    const start = beginning(message.peer !== undefined)
    const side = message.kind === 'event' ? 'consumer' : 'server'
    const traced = startReceived(side, message, sample)
    let result: unknown
    let isLater: boolean
    try {
      result = traced === undefined ? next(message) : context.with(traced.context, next, undefined, message)
      isLater = typeof result === 'object' && result !== null && (isThenable(result) || isStream(result))
    } catch (error) {
      endsLater()
      observed(side, message, start, traced).ended({ outcome: 'failed', error })
      throw error
    }
    const span = traced?.isRecorded === true ? traced.span : undefined
    const name = nameOf(message)
    if (isLater || (span !== undefined && (message.isAborted || name !== message.pattern))) {
      endsLater()
      return tap(result, observed(side, message, start, traced))
    }
    // Most handlers answer synchronously. For these, no object is made to observe the result.
    figuresOf(side, message, name).ended('OK', endedAtOnce() - start)
    if (span !== undefined) end(span, side, message.transport, OK)
    return result
  }

const sending =
  (sample: number): Middleware<SentMessage> =>
  (next) =>
  (call) => {
    const start = performance.now()
    const side = call.kind === 'event' ? 'producer' : 'client'
    const traced = startSent(side, call, sample)
    const watcher = observed(side, call, start, traced)
    if (traced !== undefined && watcher instanceof Recorded) calls.set(traced.headers, watcher)
    try {
      return tap(next(traced === undefined ? call : call.withHeaders(traced.headers)), watcher)
    } catch (error) {
      watcher.ended({ outcome: 'failed', error })
      throw error
    }
  }

function observed(side: Side, message: Observed, start: number, traced: Traced | undefined): Measured {
  if (traced === undefined) return new Measured(side, message, start)
  return new (traced.isRecorded ? Recorded : Followed)(side, message, start, traced)
}

/** Recorded calls, by the headers object of the call. A client's event for a retry has the same headers object. */
const calls = new WeakMap<object, Recorded>()

function clientEvent(event: ConnectionEvent): void {
  if (event.type === 'ejected') figures.ejections++
  if (event.type !== 'retry') return
  figures.client.of(event.pattern).retries++
  const sdk = tracer()
  const call = event.headers === undefined ? undefined : calls.get(event.headers)
  if (sdk !== undefined) call?.madeAgain((traced) => startAttempt(sdk, traced, event))
}
