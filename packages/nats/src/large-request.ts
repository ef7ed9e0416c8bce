/** A request in parts: the first has come on the subject of its pattern, the others come on the control subject. */
import { errorPacket } from '@elysia-microservices/transport/kit'
import type { Controlled } from './control.ts'
import type { AnswerOwner } from './own-answer.ts'
import { joined, MAX_MESSAGE, Said, Told } from './wire.ts'

/** Waits for the rest of a request. */
export class LargeRequest implements Controlled {
  number = 0
  heardAt = 0
  readonly #owner: AnswerOwner
  readonly replyTo: string
  readonly #size: number
  readonly #over: (body: Uint8Array | undefined) => void
  #parts: Uint8Array[] = []
  #received = 0

  /** @param over is called once, with the whole body; without one if it does not come, or is too large */
  constructor(
    owner: AnswerOwner,
    replyTo: string,
    size: number,
    over: (body: Uint8Array | undefined) => void
  ) {
    this.#owner = owner
    this.replyTo = replyTo
    this.#size = size
    this.#over = over
    owner.control.add(this)
  }

  get reply(): string {
    return this.#owner.control.subject(this.number, 0)
  }

  /** A part has come. */
  take(part: Uint8Array): void {
    this.#received += part.length
    if (this.#size > MAX_MESSAGE || this.#received > this.#size) return this.#refuse()
    // A copy: it lies in what the socket gave.
    this.#parts.push(new Uint8Array(part))
    if (this.#received < this.#size) return this.beat()
    this.#end(joined(this.#parts))
  }

  told(word: string, payload: Uint8Array): void {
    if (word === Told.part) this.take(payload.subarray(1))
    else if (word === Told.canceled) this.callerGone()
  }

  beat(): void {
    this.#owner.link.publish(this.replyTo, `+${Said.received}${this.#received}`, this.reply)
  }

  callerGone(): void {
    this.#end(undefined)
  }

  cut(): void {
    this.callerGone()
    this.#owner.link.publish(this.replyTo, `+${Said.gone}`)
  }

  #end(body: Uint8Array | undefined): void {
    this.#parts = []
    this.#owner.control.remove(this)
    this.#over(body)
  }

  #refuse(): void {
    this.callerGone()
    const message = `A request of ${this.#size} bytes is larger than the ${MAX_MESSAGE} that nats() carries`
    const json = JSON.stringify({ status: 'error', code: 'PAYLOAD_TOO_LARGE', message })
    this.#owner.link.publish(this.replyTo, errorPacket(json, 'null'))
  }
}
