/** The outcome of a call as a value: `{ data, error }`, as clients of Elysia (Eden) have it. */
import { MicroserviceError } from '../errors/index.ts'

/** The outcome of a call: the data of its answer, or the error. The other one is `null`. */
export type Outcome<Data, Failure = MicroserviceError> =
  | { readonly data: Data; readonly error: null }
  | { readonly data: null; readonly error: Failure }

/**
 * Makes a call, and resolves to its outcome.
 * @throws an error of another class, such as one that a middleware throws: it is a bug, and no outcome
 */
export async function safely<Data>(call: () => Promise<Data>): Promise<Outcome<Data>> {
  try {
    return { data: await call(), error: null }
  } catch (error) {
    if (error instanceof MicroserviceError) return { data: null, error }
    throw error
  }
}
