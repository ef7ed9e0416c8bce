/** Streams of every kind for tests, and a sink that writes down what it is told. */
import { consume, FEED, type StreamSink, type StreamSource } from '../stream.ts'

/** A sink that writes down, in words, what it is told. */
export class RecordingSink implements StreamSink {
  readonly seen: string[] = []
  /** Values that it takes before it has enough; it takes as many again after `more`. */
  room: number
  source: StreamSource | undefined
  /** Is called with each value. */
  onValue: (value: unknown) => void = () => {}

  constructor(room = Number.POSITIVE_INFINITY) {
    this.room = room
  }

  /** Begins to take a stream. */
  take(stream: unknown): this {
    this.source = consume(stream as object, this)
    this.source.resume()
    return this
  }

  /** Takes so many more. */
  more(count: number): void {
    this.room += count
    this.source?.resume()
  }

  next(value: unknown): boolean {
    this.seen.push(String(value))
    this.room--
    this.onValue(value)
    return this.room > 0
  }

  complete(): void {
    this.seen.push('complete')
  }

  error(error: unknown): void {
    this.seen.push(`error ${textOf(error)}`)
  }

  teardownFailed(error: unknown): void {
    this.seen.push(`teardown ${textOf(error)}`)
  }
}

export const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

export function* numbers(to: number, ended: () => void = () => {}): Generator<number> {
  try {
    for (let n = 1; n <= to; n++) yield n
  } finally {
    ended()
  }
}

export async function* laterNumbers(to: number, ended: () => unknown = () => {}): AsyncGenerator<number> {
  try {
    for (let n = 1; n <= to; n++) yield n
  } finally {
    await ended()
  }
}

/** A thenable: a target with a `then` of its own. */
export function withThen(target: object, then: unknown): object {
  Reflect.set(target, 'then', then)
  return target
}

/** A stream of this library's own kind: it is given the sink itself. */
export function feedOf(begin: (sink: StreamSink) => StreamSource): object {
  return { [FEED]: begin }
}

/** An observable of some other library, of which nothing is known but this. */
export function foreign(
  subscribe: (observer: Required<Pick<StreamSink, 'next' | 'complete' | 'error'>>) => unknown
) {
  return { '@@observable': true, subscribe }
}
