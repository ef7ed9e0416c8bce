/**
 * The answer to a caller of Nest's, which grants no demand and cannot cancel: a stream is slowed to what the NATS
 * server takes, and given up when nobody subscribes to its reply subject any more.
 */
import {
  failurePacket,
  type IncomingMessage,
  type Logger,
  type RejectedError,
  type Replies,
  RunningReply
} from '@elysia-microservices/transport/kit'
import type { Controlled } from './control.ts'
import type { AnswerOwner } from './own-answer.ts'
import { bytesOf } from './wire.ts'

/** Milliseconds of a stream after which it is asked (again) whether anybody listens. */
const ASKING = 1_000

/** Answers one request that takes more than a turn. */
export class NestAnswer implements Replies, Controlled {
  number = 0
  /** Nothing is heard of such a caller. */
  heardAt = Number.POSITIVE_INFINITY
  readonly running: RunningReply
  readonly #owner: AnswerOwner
  readonly replyTo: string
  readonly #message: IncomingMessage
  readonly #ended: (hasFailed: boolean) => void
  #hasFailed = false
  /** When it was last asked whether anybody listens. */
  #askedAt = performance.now()

  constructor(
    owner: AnswerOwner,
    replyTo: string,
    id: string,
    message: IncomingMessage,
    ended: (hasFailed: boolean) => void
  ) {
    this.#owner = owner
    this.replyTo = replyTo
    this.#message = message
    this.#ended = ended
    this.running = new RunningReply(this, id, message)
    owner.control.add(this)
    this.heardAt = Number.POSITIVE_INFINITY
  }

  get reply(): string {
    return this.#owner.control.subject(this.number, 0)
  }

  sendPacket(json: string): void {
    const now = performance.now()
    const isAsking = this.running.isStream && now - this.#askedAt > ASKING
    if (isAsking) this.#askedAt = now
    // The server answers on the control subject if nobody subscribes to the reply subject.
    publishPacket(this.#owner, this.replyTo, json, isAsking ? this.reply : undefined)
  }

  fail(idJson: string, error: unknown, message: IncomingMessage): void {
    this.#hasFailed = true
    this.sendPacket(failurePacket(error, idJson, this.#owner.logger, message))
  }

  atTurnEnd(reply: RunningReply): void {
    queueMicrotask(() => reply.turnEnded())
  }

  openStream(): RejectedError | undefined {
    return undefined
  }

  hasRoomFor(reply: RunningReply): boolean {
    return this.#owner.link.hasRoomFor(reply)
  }

  get logger(): Logger {
    return this.#owner.logger
  }

  ended(): void {
    this.#owner.control.remove(this)
    this.#ended(this.#hasFailed)
  }

  // Nest's callers say nothing.
  told(): void {}

  beat(): void {}

  callerGone(): void {
    this.running.abort()
  }

  /** The service stops and does not wait any longer. */
  cut(): void {
    this.running.error(new Error('The service stopped before it had answered'))
    this.#message.abort(this.logger)
  }
}

/** Publishes a packet to a caller that takes no parts. */
export function publishPacket(
  { link, logger }: AnswerOwner,
  replyTo: string,
  packet: string,
  reply?: string
): void {
  const { maxPayload } = link
  if (packet.length * 3 <= maxPayload || bytesOf(packet).length <= maxPayload)
    return link.publish(replyTo, packet, reply)
  const id = (JSON.parse(packet) as { id?: unknown }).id
  const error = new Error(
    `An answer of ${packet.length} characters is larger than max_payload of the NATS server (${maxPayload} bytes), and its caller takes no parts`
  )
  link.publish(replyTo, failurePacket(error, JSON.stringify(id), logger, undefined))
}
