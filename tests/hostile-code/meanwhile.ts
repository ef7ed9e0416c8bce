/** Values that do something while they are encoded. */
import { type Observable, Subject } from 'rxjs'

/** A value that is `value` on the wire, and does something before it gets there; the first time it is asked. */
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

/** Each value emits another, which so gets onto the wire before it. */
export function emitting(count: number): Observable<unknown> {
  return later((values) => {
    for (let n = 0; n < count; n++) values.next(doing(`outer ${n}`, () => values.next(`inner ${n}`)))
    values.complete()
  })
}

/** The second value ends the stream, and so never is one of it. */
export function endingMeanwhile(): Observable<unknown> {
  return later((values) => {
    values.next('first')
    values.next(doing('second', () => values.complete()))
  })
}
