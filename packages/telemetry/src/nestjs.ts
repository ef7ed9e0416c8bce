/**
 * Traces and figures for Nest applications, including those over Nest's own servers and clients. The trace is sent
 * in the `metadata` of Nest's packets.
 */
import type { MessageHeaders, ResultEnd } from '@elysia-microservices/transport'
import { routeOfValue } from '@elysia-microservices/transport/kit'
import { Observable } from 'rxjs'
import { Followed, Measured, Recorded } from './observation.ts'
import { startReceived, startSent } from './traces/tracing.ts'

/** The `ExecutionContext` that Nest passes to a pre-request hook. */
export interface NestContext {
  /** The method that will be called. */
  getHandler(): object
  /** Returns the context of the message, from a transport of Nest or of this library. */
  switchToRpc(): { getContext(): unknown }
}

/**
 * The context of a message in Nest. Only contexts of TCP and Redis have metadata; the pattern that was received has
 * another name in the context of each transport.
 */
interface NestMessage {
  getPattern?(): unknown
  getChannel?(): unknown
  getSubject?(): unknown
  getTopic?(): unknown
  getMetadata?(): MessageHeaders | undefined
  /** The message in a context of this library. */
  readonly message?: { readonly transport?: string }
}

/** A packet that Nest's clients send. */
interface NestPacket {
  readonly pattern: unknown
  metadata?: MessageHeaders
}

type Answer = { readonly err?: unknown; readonly isDisposed?: boolean }

/** The methods with which a Nest client sends packets; they are protected in Nest's types. */
interface NestSender {
  publish(packet: NestPacket, callback: (answer: Answer) => void): () => void
  dispatchEvent(packet: NestPacket): Promise<unknown>
}

/** The method that reflect-metadata adds to `Reflect`. Every Nest application has loaded reflect-metadata. */
type MetadataReader = { readonly getMetadata?: (key: string, target: object) => unknown }

/** The key of Nest's metadata for the kind of a handler: 1 for requests, 2 for events. */
const HANDLER_TYPE = 'microservices:handler_type'
const EVENT_HANDLER = 2
/** The key of Nest's metadata for the patterns of a handler, an array. */
const PATTERNS = 'microservices:pattern'
/** Transports by the names of Nest's classes for their contexts and clients. All others count as TCP. */
const TRANSPORTS: Readonly<Record<string, string>> = {
  NatsContext: 'nats',
  ClientNats: 'nats',
  RedisContext: 'redis',
  ClientRedis: 'redis',
  RmqContext: 'rabbitmq',
  ClientRMQ: 'rabbitmq',
  MqttContext: 'mqtt',
  ClientMqtt: 'mqtt',
  KafkaContext: 'kafka',
  ClientKafka: 'kafka'
}

/**
 * A hook for `app.registerPreRequestHook(nestTelemetry())`. It counts the messages that the application handles,
 * and makes spans for them as part of the sender's trace. Guards, interceptors and handlers run inside the span.
 */
export function nestTelemetry() {
  return (execution: NestContext, next: () => Observable<unknown>): Observable<unknown> =>
    new Observable((subscriber) => {
      const watcher = begin(execution)
      const end = once((how) => {
        watcher.settled()
        watcher.ended(how)
      })
      const subscription = inside(watcher, () =>
        next().subscribe({
          next: (value) => subscriber.next(value),
          error(error: unknown) {
            end({ outcome: 'failed', error })
            subscriber.error(error)
          },
          complete() {
            end({ outcome: 'completed' })
            subscriber.complete()
          }
        })
      )
      return () => {
        end({ outcome: 'canceled' })
        subscription.unsubscribe()
      }
    })
}

/**
 * Instruments a Nest client with any transport: counts its calls, makes spans for them and puts the trace into the
 * metadata of its packets. Changes the client and returns it.
 */
export function traceNestClient<Client extends object>(client: Client): Client {
  const sender = client as unknown as NestSender
  const publish = sender.publish.bind(client)
  const dispatchEvent = sender.dispatchEvent.bind(client)
  const transport = transportOf(client)
  sender.publish = (packet, callback) => {
    const { watcher, end } = beginSent('client', transport, packet)
    const cancel = inside(watcher, () =>
      publish(packet, (answer) => {
        if (answer.err) end({ outcome: 'failed', error: answer.err })
        else if (answer.isDisposed) end({ outcome: 'completed' })
        callback(answer)
      })
    )
    return () => {
      end({ outcome: 'canceled' })
      cancel()
    }
  }
  sender.dispatchEvent = async (packet) => {
    const { watcher, end } = beginSent('producer', transport, packet)
    try {
      const sent = await inside(watcher, () => dispatchEvent(packet))
      end({ outcome: 'completed' })
      return sent
    } catch (error) {
      end({ outcome: 'failed', error })
      throw error
    }
  }
  return client
}

function begin(execution: NestContext): Measured {
  const message = execution.switchToRpc().getContext() as NestMessage
  const { getMetadata } = Reflect as MetadataReader
  const handler = execution.getHandler()
  const side = getMetadata?.(HANDLER_TYPE, handler) === EVENT_HANDLER ? 'consumer' : 'server'
  const received = {
    transport: message.message?.transport ?? transportOf(message),
    pattern: patternOf(message, getMetadata?.(PATTERNS, handler)),
    get headers() {
      return message.getMetadata?.() ?? {}
    }
  }
  const traced = startReceived(side, received)
  return started(side, received, traced)
}

/**
 * The pattern of the handler, not the one that the caller has sent: for a handler with wildcards, callers would make a
 * new figure with each text.
 */
function patternOf(message: NestMessage, patterns: unknown): string {
  const sent =
    message.getPattern?.() ?? message.getChannel?.() ?? message.getSubject?.() ?? message.getTopic?.()
  const own = Array.isArray(patterns) ? patterns.map(text) : []
  return own.find((pattern) => pattern === sent) ?? own[0] ?? text(sent)
}

function transportOf(given: object): string {
  for (let type = given.constructor; typeof type === 'function'; type = Object.getPrototypeOf(type)) {
    const known = TRANSPORTS[type.name]
    if (known !== undefined) return known
  }
  return 'tcp'
}

function beginSent(side: 'client' | 'producer', transport: string, packet: NestPacket) {
  const call = { transport, pattern: text(packet.pattern), headers: packet.metadata ?? {} }
  const traced = startSent(side, call)
  if (traced !== undefined) packet.metadata = traced.headers
  const watcher = started(side, call, traced)
  const end = once((how) => {
    watcher.settled()
    watcher.ended(how)
  })
  return { watcher, end }
}

function started(
  side: Measured['side'],
  message: { readonly transport: string; readonly pattern: string },
  traced: ConstructorParameters<typeof Followed>[3] | undefined
): Measured {
  const start = performance.now()
  let watcher: Measured
  if (traced === undefined) watcher = new Measured(side, message, start)
  else watcher = new (traced.isRecorded ? Recorded : Followed)(side, message, start, traced)
  watcher.pending()
  return watcher
}

function inside<Result>(watcher: Measured, work: () => Result): Result {
  return watcher instanceof Followed ? watcher.run(work) : work()
}

function once(end: (how: ResultEnd) => void): (how: ResultEnd) => void {
  let hasEnded = false
  return (how) => {
    if (hasEnded) return
    hasEnded = true
    end(how)
  }
}

function text(pattern: unknown): string {
  if (pattern instanceof RegExp) return String(pattern)
  return routeOfValue(pattern) ?? String(pattern)
}
