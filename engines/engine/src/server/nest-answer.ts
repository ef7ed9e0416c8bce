/**
 * The answer to a caller that uses Nest, and so grants no demand and cannot cancel. A stream is slowed to the speed at
 * which the engine's server takes it, and is cancelled when nobody listens at its reply address any more.
 */
import {
  type IncomingMessage,
  type Logger,
  quietLog,
  type RejectedError
} from '@elysia-microservices/transport/kit'
import {
  errorPacket,
  failurePacket,
  INTERNAL_ERROR,
  type Replies,
  RunningReply
} from '@elysia-microservices/transport/nest'
import { MOST_OF_ONE } from '../batches.ts'
import { MARGIN } from '../parts/parts.ts'
import { bytesOf } from '../words.ts'
import type { Controlled } from './control.ts'
import type { OpenConnection } from './open-connection.ts'

const MAX_HELD_SIZE = 128 * 1024 * 1024
/** Milliseconds between two messages of a stream that ask the engine whether anybody listens. */
const ASKING = 1_000

/** Answers one request that takes more than one turn of the event loop. */
export class NestAnswer implements Replies, Controlled {
  number = 0
  secret = ''
  /** Never: a caller that uses Nest sends no signs of life. */
  heardAt = Number.POSITIVE_INFINITY
  readonly maxAhead = MAX_HELD_SIZE
  readonly running: RunningReply
  readonly #connection: OpenConnection
  readonly replyTo: string
  readonly #message: IncomingMessage
  readonly #ended: (hasFailed: boolean) => void
  #hasFailed = false
  /** The time at which the engine was last asked whether anybody listens. */
  #askedAt = performance.now()

  constructor(
    connection: OpenConnection,
    replyTo: string,
    id: string,
    message: IncomingMessage,
    ended: (hasFailed: boolean) => void
  ) {
    this.#connection = connection
    this.replyTo = replyTo
    this.#message = message
    this.#ended = ended
    this.running = new RunningReply(this, id, message)
    connection.control.add(this)
    this.heardAt = Number.POSITIVE_INFINITY
  }

  get reply(): string {
    return this.#connection.control.address(this, 0)
  }

  sendPacket(json: string): void {
    const now = performance.now()
    const isAsking = this.running.isStream && now - this.#askedAt > ASKING
    if (isAsking) this.#askedAt = now
    // If nobody listens at the reply address, the engine sends a notice to the control address.
    if (this.running.isStream)
      publishPacket(this.#connection, this.replyTo, json, isAsking ? this.reply : undefined)
    else sendOnlyPacket(this.#connection, this.replyTo, json)
  }

  fail(idJson: string, error: unknown, message: IncomingMessage): void {
    this.#hasFailed = true
    this.sendPacket(failurePacket(error, idJson, this.logger, message))
  }

  atTurnEnd(reply: RunningReply): void {
    queueMicrotask(() => reply.turnEnded())
  }

  openStream(): RejectedError | undefined {
    return undefined
  }

  hasRoomFor(reply: RunningReply): boolean {
    return this.#connection.carrier.hasRoomFor(reply)
  }

  get logger(): Logger {
    return this.#connection.logger
  }

  ended(): void {
    this.#connection.control.remove(this)
    this.#ended(this.#hasFailed)
  }

  // Never called, because a caller that uses Nest sends nothing to a control address.
  told(): void {}

  beat(): void {}

  callerGone(): void {
    this.running.abort()
  }

  /** The service stops and waits no longer for the handler. */
  cut(): void {
    this.running.error(new Error('The service stopped before it had answered'))
    this.#message.abort(this.logger)
  }
}

/** Sends the only packet of an answer. */
export function sendOnlyPacket(connection: OpenConnection, replyTo: string, packet: string): void {
  if (packet.length <= MOST_OF_ONE) connection.carrier.publish(replyTo, packet)
  else if (fits(connection, packet)) connection.callers.sendForeign(replyTo, packet)
  else publishPacket(connection, replyTo, packet)
}

/** Whether an answer fits into one message, for callers that do not support messages in parts. */
export function fits({ carrier: { maxPayload } }: OpenConnection, packet: string): boolean {
  const room = maxPayload - MARGIN
  return packet.length * 3 <= room || bytesOf(packet).length <= room
}

/** Publishes a packet to a caller that does not support messages in parts. */
function publishPacket(connection: OpenConnection, replyTo: string, packet: string, reply?: string): void {
  const { carrier, engine, logger } = connection
  if (fits(connection, packet)) return carrier.publish(replyTo, packet, reply)
  const { id } = JSON.parse(packet) as { id?: unknown }
  quietLog(logger).error(
    'too large',
    `An answer of ${packet.length} characters is larger than a message of ${engine.title} may be (${carrier.maxPayload} bytes), and its caller does not support messages in parts`
  )
  carrier.publish(replyTo, errorPacket(JSON.stringify(INTERNAL_ERROR), JSON.stringify(id ?? null)))
}
