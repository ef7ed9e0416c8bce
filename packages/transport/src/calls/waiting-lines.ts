/**
 * Makes the stack of a call's error name the lines that wait for the call, not the lines of this library that read the
 * answer. V8 finds these lines by the chain of promises, and only when asked, so only a failed call has this cost.
 * JavaScriptCore, the engine of Bun, finds them only if `request()` is an async function, which reduced the calls per
 * second by a tenth.
 */
import { MicroserviceError } from '../errors/index.ts'

/** V8 and JavaScriptCore have `captureStackTrace`, but it is not part of the language. */
const { captureStackTrace } = Error as { captureStackTrace?(target: object, above: unknown): void }

/**
 * Returns a promise that rejects with the error. The caller resolves the promise of the call with it in the same turn
 * of the event loop.
 */
export async function failedFor(error: Error): Promise<never> {
  // The promise of the call starts to follow this promise in a microtask that runs between these two lines.
  await undefined
  await undefined
  nameWaitingLines(error, failedFor)
  throw error
}

/**
 * Replaces the stack lines of an error of this library by the lines that wait for `above`, an async function that is
 * running. If the runtime does not know these lines, the error stays unchanged. Never throws.
 */
function nameWaitingLines(error: unknown, above: (...all: never[]) => Promise<unknown>): void {
  try {
    if (!(error instanceof MicroserviceError)) return
    const here: { readonly stack?: unknown } = {}
    captureStackTrace?.(here, above)
    const [lines] = /(?:\n +at async .*)+/.exec(String(here.stack)) ?? []
    if (lines !== undefined) error.stack = `${error.name}: ${error.message}${lines}`
  } catch {
    // Reasons to fail: a runtime without async stacks, a `prepareStackTrace` of the user that throws, a frozen error.
  }
}
