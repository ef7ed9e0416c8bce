/**
 * The message in whose handler the program is, for clients with `inherit`. Costs nothing until a process has such a
 * client: only then are handlers compiled so that they run in an asynchronous context.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type HandledMessage,
  isStream,
  isThenable,
  type Middleware,
  type ReceivedMessage,
  tap
} from '@elysia-microservices/transport/kit'

let handled: AsyncLocalStorage<HandledMessage> | undefined
/** Compile the handlers of running services again. */
const running = new Set<() => void>()

/** The message in whose handler the program is; `undefined`: it is in none. */
export function messageInHand(): HandledMessage | undefined {
  return handled?.getStore()
}

/** From now on all services of this process run their handlers so that `messageInHand` knows their message. */
export function followMessages(): void {
  if (handled !== undefined) return
  handled = new AsyncLocalStorage()
  for (const compileAgain of running) compileAgain()
}

/** A service runs. @returns the function to call when it has stopped */
export function followedFrom(compileAgain: () => void): () => void {
  running.add(compileAgain)
  return () => running.delete(compileAgain)
}

/** The middleware of a handler, outside of which the handler's message is in hand if a client of the process wants that. */
export function inHand(
  middleware: readonly Middleware<ReceivedMessage>[]
): readonly Middleware<ReceivedMessage>[] {
  if (handled === undefined) return middleware
  const storage = handled
  const follow: Middleware<ReceivedMessage> = (next) => (message) => {
    const result = storage.run(message, next, message)
    if (typeof result !== 'object' || result === null || !(isThenable(result) || isStream(result)))
      return result
    // The body of a generator runs in the context of who asks for its next value.
    return tap(result, { run: (step) => storage.run(message, step), ended() {} })
  }
  return [follow, ...middleware]
}
