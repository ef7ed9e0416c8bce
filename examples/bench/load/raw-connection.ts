/** One socket that keeps a fixed number of encoded requests outstanding until it is stopped or lost. */
import { ERROR_PAUSE, type Outstanding } from './load.ts'
import type { Meter } from './meter.ts'
import { AnswerCounter, type EncodedRequests } from './nest-frames.ts'
import { RepeatedBytes } from './repeated-bytes.ts'
import { connectSocket, type LoadSocket } from './socket.ts'

/** The settings that all connections of a raw load share. */
export interface RawPlan {
  readonly host: string
  readonly port: number
  /** Requests outstanding on each connection. */
  readonly pipeline: number
  readonly requests: EncodedRequests
  /** Characters of the right answer's JSON. */
  readonly answerLength: number
  readonly meter: Meter
  readonly outstanding: Outstanding
  /** Is called once, when the connection ends without `close`. */
  lost(connection: RawConnection): void
}

/** Requests that were written together. The echoes of a connection arrive in the order of its requests. */
interface Batch {
  readonly sentAt: number
  count: number
}

export class RawConnection {
  readonly #plan: RawPlan
  readonly #answers: AnswerCounter
  readonly #batches: Batch[] = []
  readonly #requests: RepeatedBytes
  #socket: LoadSocket | undefined
  #running = false
  #inFlight = 0

  /** Rejects if the server cannot be reached. */
  static async open(plan: RawPlan): Promise<RawConnection> {
    const connection = new RawConnection(plan)
    connection.#socket = await connectSocket(plan.host, plan.port, {
      received: (chunk) => connection.#read(chunk),
      drained: () => connection.#flush(),
      lost: (reason) => connection.#lost(reason)
    })
    return connection
  }

  private constructor(plan: RawPlan) {
    this.#plan = plan
    this.#requests = new RepeatedBytes(plan.requests.bytes)
    this.#answers = new AnswerCounter(plan.answerLength)
  }

  start(): void {
    this.#running = true
    this.#send(this.#plan.pipeline)
  }

  /** Sends no further requests. Answers still count. */
  finish(): void {
    this.#running = false
  }

  close(): void {
    this.#running = false
    const socket = this.#socket
    this.#socket = undefined
    socket?.end()
  }

  readonly #send = (count: number): void => {
    if (!this.#running) return
    this.#batches.push({ sentAt: performance.now(), count })
    this.#inFlight += count
    this.#plan.outstanding.add(count)
    this.#requests.owe(count * this.#plan.requests.frameLength)
    this.#flush()
  }

  #flush(): void {
    if (this.#socket !== undefined) this.#requests.flush(this.#socket)
  }

  #read(chunk: Uint8Array): void {
    const before = this.#answers.right
    const wrongBefore = this.#answers.wrong
    try {
      this.#answers.feed(chunk)
    } catch (error) {
      this.#socket?.terminate()
      this.#lost(error)
      return
    }
    const right = this.#answers.right - before
    const wrong = this.#answers.wrong - wrongBefore
    if (right > 0) {
      this.#settle(right, performance.now())
      this.#send(right)
    }
    if (wrong > 0) {
      this.#settle(wrong)
      this.#plan.meter.failed(`wrong answer: expected a frame of length ${this.#plan.answerLength}`, wrong)
      setTimeout(this.#send, ERROR_PAUSE, wrong)
    }
  }

  /** Removes the oldest `count` requests; `answeredAt` is the time of their answers, if these were right. */
  #settle(count: number, answeredAt?: number): void {
    this.#inFlight -= count
    this.#plan.outstanding.remove(count)
    for (let left = count; left > 0; ) {
      const oldest = this.#batches[0]
      if (oldest === undefined) throw new Error('the server answered more requests than it was sent')
      const taken = Math.min(left, oldest.count)
      if (answeredAt !== undefined) this.#plan.meter.answers(answeredAt - oldest.sentAt, taken)
      left -= taken
      oldest.count -= taken
      if (oldest.count === 0) this.#batches.shift()
    }
  }

  #lost(reason: unknown): void {
    if (this.#socket === undefined) return
    this.#socket = undefined
    this.#running = false
    this.#plan.meter.failed(reason, this.#inFlight)
    this.#plan.outstanding.remove(this.#inFlight)
    this.#inFlight = 0
    this.#plan.lost(this)
  }
}
