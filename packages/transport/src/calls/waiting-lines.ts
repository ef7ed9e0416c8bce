/**
 * The stack of a call's error names the lines that wait for the call, not those of this library that read the answer.
 * V8 finds them by the promises that hang together, once they do: so only a call that fails pays for it. Bun's engine
 * finds them only if `request()` is an async function, which took a tenth of its calls per second.
 */
import { MicroserviceError } from '../errors/index.ts'

/** V8 and JavaScriptCore have it, and the language does not. */
const { captureStackTrace } = Error as { captureStackTrace?(target: object, above: unknown): void }

/** @returns a promise that rejects with the error; the promise of the call is to be resolved with it in the same turn */
export async function failedFor(error: Error): Promise<never> {
  // The promise of the call follows this one in a microtask that runs between these two.
  await undefined
  await undefined
  nameWaitingLines(error, failedFor)
  throw error
}

/**
 * Replaces the lines of one of our errors by those that wait for `above`, which must be an async function that is running.
 * Where the runtime knows none, the error stays as it is. Never throws.
 */
function nameWaitingLines(error: unknown, above: (...all: never[]) => Promise<unknown>): void {
  try {
    if (!(error instanceof MicroserviceError)) return
    const here: { readonly stack?: unknown } = {}
    captureStackTrace?.(here, above)
    const [lines] = /(?:\n +at async .*)+/.exec(String(here.stack)) ?? []
    if (lines !== undefined) error.stack = `${error.name}: ${error.message}${lines}`
  } catch {
    // A runtime without such stacks, a prepareStackTrace of the user's that throws, an error that cannot be changed.
  }
}
