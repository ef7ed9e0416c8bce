/** The work of the bench's servers for a message, the same for every peer and transport. */
import type { Observable } from 'rxjs'
import { makeRecord, type SmallRecord } from '../payload/samples.ts'
import { systemTime } from '../process/system-time.ts'
import type { Handler, Source } from '../task/task.ts'

/** The possible results of a streaming handler. */
export type Records = Iterable<SmallRecord> | AsyncIterable<SmallRecord> | Observable<SmallRecord>

/** Answers a request with its data: at once, by a promise, or in a later turn of the event loop. */
export function answerBy(handler: Handler): (data: unknown) => unknown {
  if (handler === 'sync') return (data) => data
  if (handler === 'async') return async (data) => data
  return async (data) => {
    await new Promise(setImmediate)
    return data
  }
}

/** Streams this many records, as fast as the reader takes them. */
export async function recordsBy(source: Source): Promise<(count: number) => Records> {
  if (source === 'sync') return records
  if (source === 'async') return recordsLater
  // Imported only when needed, so that no server starts more slowly without it.
  const { map, range } = await import('rxjs')
  return (count) => range(0, count).pipe(map((id) => makeRecord(id)))
}

export function* records(count: number): Generator<SmallRecord, void> {
  for (let id = 0; id < count; id++) yield makeRecord(id)
}

export async function* recordsLater(count: number): AsyncGenerator<SmallRecord, void> {
  for (let id = 0; id < count; id++) yield makeRecord(id)
}

/** The time is noted for one of this many events: enough for a rate, and cheaper than for each event. */
const NOTED = 16

/** Handles events: counts them, and is busy for some time with each, like a handler that computes. */
export class EventCounter {
  count = 0
  readonly #busy: number
  /** When each sixteenth event arrived, in milliseconds of the system clock. */
  readonly #times: number[] = []

  /** @param busy the milliseconds that each event takes */
  constructor(busy: number) {
    this.#busy = busy
  }

  readonly take = (): void => {
    if (this.#busy > 0) {
      const until = performance.now() + this.#busy
      while (performance.now() < until);
    }
    if (this.count++ % NOTED === 0) this.#times.push(systemTime())
  }

  /** How many events arrived between two times, rounded to the nearest noted events. */
  between(from: number, to: number): number {
    return NOTED * this.#times.filter((time) => time >= from && time < to).length
  }
}
