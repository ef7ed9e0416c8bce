/** Values that run code while they are encoded. */
import { type Observable, Subject } from 'rxjs'

/** Creates a value that is encoded as `value`, and runs code when it is encoded for the first time. */
export function doing(value: unknown, act: () => unknown): object {
  let isDone = false
  return {
    toJSON() {
      if (!isDone) {
        isDone = true
        act()
      }
      return value
    }
  }
}

/** A stream that emits values in a later turn. */
function later(emit: (values: Subject<unknown>) => void): Observable<unknown> {
  const values = new Subject<unknown>()
  setImmediate(emit, values)
  return values
}

/** Each value emits another value while it is encoded, which is so sent before it. */
export function emitting(count: number): Observable<unknown> {
  return later((values) => {
    for (let n = 0; n < count; n++) values.next(doing(`outer ${n}`, () => values.next(`inner ${n}`)))
    values.complete()
  })
}

/** The second value ends the stream while it is encoded, so it is not sent. */
export function endingMeanwhile(): Observable<unknown> {
  return later((values) => {
    values.next('first')
    values.next(doing('second', () => values.complete()))
  })
}
