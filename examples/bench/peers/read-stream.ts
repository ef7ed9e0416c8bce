/** How values reach a reader: requested by a loop, or pushed by a client whether or not they are wanted. */
import type { Observable } from 'rxjs'
import type { StreamReader } from './echo-client.ts'

/** Reads as a loop does: the next value is requested when the reader has handled the last one. */
export function iterate(values: AsyncIterableIterator<unknown>, reader: StreamReader): () => void {
  const read = async () => {
    for await (const value of values) {
      const taken = reader.value(value)
      if (taken !== undefined) await taken
    }
  }
  read().then(() => reader.ended(), reader.failed)
  return () => void values.return?.().catch(reader.failed)
}

/** A reader for pushed values: values that the reader does not want yet wait here, as in `concatMap`. */
export function inTurn(reader: StreamReader): StreamReader {
  let waiting: Promise<unknown> | undefined
  return {
    value: (value) => {
      waiting = waiting === undefined ? reader.value(value) : waiting.then(() => reader.value(value))
      return undefined
    },
    ended: () => (waiting === undefined ? reader.ended() : void waiting.then(() => reader.ended())),
    failed: reader.failed
  }
}

/**
 * Reads as a subscriber does. After unsubscribing, an Observable reports nothing more, so the function itself reports
 * the end.
 */
export function subscribe(values: Observable<unknown>, pushed: StreamReader): () => void {
  const reader = inTurn(pushed)
  const subscription = values.subscribe({
    next: reader.value,
    complete: reader.ended,
    error: reader.failed
  })
  return () => {
    subscription.unsubscribe()
    pushed.ended()
  }
}
