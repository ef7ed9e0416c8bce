/** The result of `client.send()`. */
import type { Observable } from 'rxjs'

/**
 * A cold Observable, as in Nest: each subscription makes a call. To await it would make no call, so the compiler
 * refuses `await client.send()`.
 */
export interface ColdObservable<Value> extends Observable<Value> {
  /** Exists only in the type, for the compiler's sentence. Has no value at run time. */
  readonly then: (
    this: 'send() makes no call until somebody subscribes: await client.request(), or loop over client.stream()'
  ) => never
}
