/**
 * The input of a channel at its service: the values that one of our callers sends, each with its number, so that a
 * value which the engine has lost is noticed. What the service says about its input is repeated with each sign of life,
 * because such a word may be lost, too.
 */
import { INPUT_REFUSED, InputStream, ProtocolError } from '@elysia-microservices/transport/kit'
import { inputLost, jsonOf, numberIn, Said } from '../words.ts'

/** The answer to whose request the input belongs. */
export interface InputOwner {
  /** Says something to the caller. */
  say(words: string): void
  /** The engine has lost a value: the request cannot go on. */
  inputLost(): void
}

/** Receives the values of one channel. */
export class OwnInput {
  /** The values as the handler reads them. */
  readonly stream: InputStream
  readonly #owner: InputOwner
  /** `'stopped'`: the handler reads no more. `'over'`: the caller has sent its end, or the input has failed. */
  #state: 'open' | 'stopped' | 'over' = 'open'
  /** Values that were granted, and that have arrived (the end included), since the beginning. */
  #granted = 0
  #arrived = 0

  constructor(owner: InputOwner) {
    this.#owner = owner
    this.stream = new InputStream(
      (n) => this.grant(n),
      () => this.#stop()
    )
  }

  /** Grants the caller more values. */
  grant(n: number): void {
    this.#granted += n
    this.#owner.say(this.sign)
  }

  #stop(): void {
    this.#state = 'stopped'
    this.#owner.say(this.sign)
  }

  /** The words that tell the caller how the input stands, as a sign of life. */
  get sign(): string {
    if (this.#state === 'open') return `${Said.inputGranted}${this.#granted}`
    return this.#state === 'stopped' ? Said.inputStopped : Said.accepted
  }

  /** Takes a value with its number: `3 {"a":1}`. */
  take(text: string): void {
    const blank = text.indexOf(' ')
    const number = numberIn(text, 0, blank)
    // A number that is not above the previous ones: the value has arrived twice.
    if (this.#state !== 'open' || number <= this.#arrived) return
    if (number !== this.#arrived + 1) return this.lose()
    this.#arrived++
    try {
      const value: unknown = blank + 1 === text.length ? undefined : jsonOf(text.slice(blank + 1))
      if (!this.stream.push(value, text.length - blank)) this.fail(INPUT_REFUSED)
    } catch {
      this.fail('A value of the channel is not JSON')
    }
  }

  /** The channel ends behind `count` values; -1: the word is malformed. */
  end(count: number): void {
    if (this.#state !== 'open' || count === -1) return
    if (count !== this.#arrived) return this.lose()
    this.#arrived++
    this.#state = 'over'
    this.stream.end()
  }

  /** The caller tells how many values it has sent, the end included. All of them must have arrived: words keep their order. */
  expect(count: number): void {
    if (this.#state === 'open' && count > this.#arrived) this.lose()
  }

  /** The input fails for a reason that the caller knows or has caused: a text, or the end of the whole call. */
  fail(reason: string | Error): void {
    this.#end(typeof reason === 'string' ? new ProtocolError(reason) : reason)
  }

  /** A value was lost. */
  lose(): void {
    if (this.#state !== 'open') return
    this.#end(inputLost())
    this.#owner.inputLost()
  }

  #end(error: Error): void {
    if (this.#state === 'open') this.#state = 'over'
    this.stream.end({ error })
  }

  /** The answer has ended, so nobody reads any more. @returns whether the caller must be told to stop */
  close(): boolean {
    if (this.#state === 'open') this.#state = 'stopped'
    return this.stream.close()
  }
}
