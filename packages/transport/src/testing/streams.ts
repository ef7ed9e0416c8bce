/** Streams of every kind for tests, and a sink that records its calls. */
import { consume, FEED, type StreamSink, type StreamSource } from '../stream.ts'

/** A sink that records its calls as text. */
export class RecordingSink implements StreamSink {
  readonly seen: string[] = []
  /** Number of values that the sink takes before it pauses; after `more` it takes as many again. */
  room: number
  source: StreamSource | undefined
  /** Called with each value. */
  onValue: (value: unknown) => void = () => {}

  constructor(room = Number.POSITIVE_INFINITY) {
    this.room = room
  }

  /** Starts to take values from a stream. */
  take(stream: unknown): this {
    this.source = consume(stream as object, this)
    this.source.resume()
    return this
  }

  /** Takes `count` more values. */
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

/** Makes a thenable: adds the method `then` to the target. */
export function withThen(target: object, then: unknown): object {
  Reflect.set(target, 'then', then)
  return target
}

/** Makes a `Feed`, the kind of stream that this library makes. `begin` gets the sink. */
export function feedOf(begin: (sink: StreamSink) => StreamSource): object {
  return { [FEED]: begin }
}

/** Makes an Observable of a library other than rxjs: it has only `subscribe` and the well-known name. */
export function foreign(
  subscribe: (observer: Required<Pick<StreamSink, 'next' | 'complete' | 'error'>>) => unknown
) {
  return { '@@observable': true, subscribe }
}
