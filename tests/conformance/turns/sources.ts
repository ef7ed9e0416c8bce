/** Sources that always have a next value and wait for nothing, and a count of what is asked of them. */
import { isOnPush } from '@elysia-microservices/test-support'
import { from, generate } from 'rxjs'

/** Sources that are asked for each value, once with promises and once without. */
const GENERATORS = ['a generator', 'an async generator'] as const
/** Sources that are asked in the same way. On a push, generators stand for them. */
const ITERATORS = ['an iterator', 'an async iterator'] as const
export const PULLED = isOnPush ? GENERATORS : [...GENERATORS, ...ITERATORS]
/** Sources that emit on their own: in a loop, and in microtasks without end. They cannot wait, so they have to end. */
export const PUSHED = ['an Observable that loops', 'an Observable of an async generator'] as const

export type Kind = (typeof GENERATORS | typeof ITERATORS | typeof PUSHED)[number]

/** The value of an Observable: a few hundred of them fill every buffer. */
const LARGE = 'x'.repeat(256 * 1024)

/** One endless source. */
export class Endless {
  /** Number of values that were made. */
  made = 0
  /** Whether somebody has begun to take values, and whether the source was ended. */
  isBegun = false
  isEnded = false
  readonly stream: object

  constructor(kind: Kind) {
    this.stream = this.#streamOf(kind)
  }

  #streamOf(kind: Kind): object {
    switch (kind) {
      case 'a generator':
        return this.#values()
      case 'an async generator':
        return this.#later()
      case 'an iterator': {
        const iterator = {
          next: () => this.#step(),
          return: () => this.#end(),
          [Symbol.iterator]: () => iterator
        }
        return iterator
      }
      case 'an async iterator':
        return {
          [Symbol.asyncIterator]: () => ({ next: async () => this.#step(), return: async () => this.#end() })
        }
      case 'an Observable that loops':
        return generate({
          initialState: 0,
          iterate: () => this.#step().value,
          resultSelector: () => LARGE
        })
      default:
        return from(this.#large())
    }
  }

  #step(): IteratorYieldResult<number> {
    this.isBegun = true
    return { done: false, value: this.made++ }
  }

  #end(): IteratorReturnResult<undefined> {
    this.isEnded = true
    return { done: true, value: undefined }
  }

  *#values(): Generator<number> {
    try {
      for (;;) yield this.#step().value
    } finally {
      this.#end()
    }
  }

  async *#later(): AsyncGenerator<number> {
    yield* this.#values()
  }

  async *#large(): AsyncGenerator<string> {
    for await (const _ of this.#later()) yield LARGE
  }
}

/** Most values that a source may give between two turns of the event loop. */
const MOST_IN_A_TURN = 1_000

/** Counts turns of the event loop, and what a source has made in each. */
export class Heartbeat {
  beats = 0
  /** Most values that were made between two beats. */
  most = 0
  #last = 0
  #isStopped = false

  constructor(source: Endless) {
    const beat = () => {
      this.beats++
      this.most = Math.max(this.most, source.made - this.#last)
      this.#last = source.made
      if (!this.#isStopped) setImmediate(beat)
    }
    setImmediate(beat)
  }

  /** Waits for turns of the event loop. */
  async turns(count: number): Promise<void> {
    for (const until = this.beats + count; this.beats < until; )
      await new Promise((resolve) => setImmediate(resolve))
  }

  /** Returns what was wrong. */
  stop(): string[] {
    this.#isStopped = true
    return this.most > MOST_IN_A_TURN ? [`${this.most} values between two turns of the event loop`] : []
  }
}
