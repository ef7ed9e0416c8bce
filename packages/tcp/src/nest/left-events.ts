/**
 * Events that wait for room when their client closes the connection. Their `emit` has resolved, and Nest's wire cannot
 * tell their sender that they were refused, so they are handled when there is room, as if the connection were open.
 * Requests are dropped, because nobody waits for their answers.
 */
import type { Admission } from '@elysia-microservices/rsocket'
import { type Logger, quietLog } from '@elysia-microservices/transport/kit'
import type { NestFrameDecoder } from './frame.ts'

/** Received and unhandled frames of one closed connection. */
export interface LeftFrames {
  readonly frames: NestFrameDecoder
  /** Handles a frame if it is an event. */
  handle(json: string): void
}

/** The events of all closed connections of a server. */
export class LeftEvents {
  readonly #admission: Admission | undefined
  readonly #maxSize: number
  readonly #logger: Logger
  readonly #waiting = new Set<LeftFrames>()
  #size = 0
  #ended: (() => void)[] = []

  /** @param maxSize most UTF-16 units that may wait, of all closed connections together */
  constructor(admission: Admission | undefined, maxSize: number, logger: Logger) {
    this.#admission = admission
    this.#maxSize = maxSize
    this.#logger = logger
  }

  /** Takes what a closed connection has left. */
  take(left: LeftFrames): void {
    const { buffered } = left.frames
    if (this.#size + buffered > this.#maxSize)
      return quietLog(this.#logger).warn(
        'left',
        `Events of closed connections are dropped: they waited for room in limits.inFlight, and are more than limits.receiveBuffer (${this.#maxSize})`
      )
    this.#size += buffered
    this.#waiting.add(left)
    this.#goOn(left, buffered)
  }

  /** Resolves when no event waits. */
  async drained(): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#ended.push(resolve))
  }

  /** Drops all that waits, because the server ends. */
  cut(): void {
    this.#waiting.clear()
    this.#size = 0
    this.#tell()
  }

  #goOn(left: LeftFrames, size: number): void {
    if (!this.#waiting.has(left)) return
    while (this.#admission === undefined || this.#admission.room > 0) {
      if (!handleNext(left)) return this.#end(left, size)
    }
    this.#admission.whenFree(() => this.#goOn(left, size))
  }

  #end(left: LeftFrames, size: number): void {
    this.#size -= size
    this.#waiting.delete(left)
    this.#tell()
  }

  #tell(): void {
    if (this.#waiting.size === 0) for (const resolve of this.#ended.splice(0)) resolve()
  }
}

/** @returns false if there is no further frame, or the rest is none: nobody is left to be told */
function handleNext({ frames, handle }: LeftFrames): boolean {
  try {
    const json = frames.next()
    if (json !== undefined) handle(json)
    return json !== undefined
  } catch {
    return false
  }
}
