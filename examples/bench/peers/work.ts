/** The work of the bench's servers for a message: the same for every peer and transport. */
import type { Observable } from 'rxjs'
import { makeRecord, type SmallRecord } from '../payload/samples.ts'
import { systemTime } from '../process/system-time.ts'
import type { Handler, Source } from '../task/task.ts'

/** The results that a streaming handler may have. */
export type Records = Iterable<SmallRecord> | AsyncIterable<SmallRecord> | Observable<SmallRecord>

/** Answers a request with the data it came with: at once, by a promise, or in a later turn of the event loop. */
export function answerBy(handler: Handler): (data: unknown) => unknown {
  if (handler === 'sync') return (data) => data
  if (handler === 'async') return async (data) => data
  return async (data) => {
    await new Promise(setImmediate)
    return data
  }
}

/** Answers with so many records, as fast as they are taken. */
export async function recordsBy(source: Source): Promise<(count: number) => Records> {
  if (source === 'sync') return records
  if (source === 'async') return recordsLater
  // Loaded on use: no server starts more slowly for what it is not asked.
  const { map, range } = await import('rxjs')
  return (count) => range(0, count).pipe(map((id) => makeRecord(id)))
}

export function* records(count: number): Generator<SmallRecord, void> {
  for (let id = 0; id < count; id++) yield makeRecord(id)
}

export async function* recordsLater(count: number): AsyncGenerator<SmallRecord, void> {
  for (let id = 0; id < count; id++) yield makeRecord(id)
}

/** Of so many events one is noted with its time: enough for a rate, and not worth the time of an event. */
const NOTED = 16

/** Takes events: counts them, and is busy with each for a while, as a handler that computes is. */
export class EventCounter {
  count = 0
  readonly #busy: number
  /** When each sixteenth came, in milliseconds of the system's clock. */
  readonly #times: number[] = []

  /** @param busy milliseconds for each event */
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

  /** How many came in that time, to the nearest noted ones. */
  between(from: number, to: number): number {
    return NOTED * this.#times.filter((time) => time >= from && time < to).length
  }
}
