/**
 * The functions of the runtime that browsers lack or have under other names. Each is taken when the module is loaded:
 * a test that replaces timers would stop all reading and writing.
 */

type Task = () => void

interface Runtime {
  readonly setImmediate?: (task: Task) => unknown
  readonly process?: {
    nextTick?(task: Task): void
    getBuiltinModule?(name: 'node:async_hooks'): AsyncHooks | undefined
  }
}

interface AsyncHooks {
  readonly AsyncResource: new (type: string) => { runInAsyncScope(task: Task): void }
}

const { setImmediate: immediately, process: running } = globalThis as Runtime

/** Calls a task in the next turn of the event loop, when the runtime has read everything for this one. */
export const nextTurn: (task: Task) => void =
  immediately === undefined ? byMessage() : (task) => void immediately(task)

/** Calls a task when the current one is over, its promises included where the runtime can. */
export const afterTask: (task: Task) => void = running?.nextTick ?? nextTurn

/** Calls a task behind the waiting microtasks. Browsers refuse to call their function as a method: it has no `this` here. */
export const afterMicrotasks: (task: Task) => void = (task) => queueMicrotask(task)

/** A timer that keeps no process alive. */
export function unref<Timer>(timer: Timer): Timer {
  ;(timer as { unref?(): void }).unref?.()
  return timer
}

/**
 * Wraps a task so that it runs in the asynchronous context of no message. A task scheduled while one message is handled
 * would otherwise run in its context, and other messages handled by the task would see its store in an
 * `AsyncLocalStorage`. Where there is no such storage, the task stays as it is.
 */
export function outside(task: Task): Task {
  return nobody === undefined ? task : () => nobody.runInAsyncScope(task)
}

const { AsyncResource } = running?.getBuiltinModule?.('node:async_hooks') ?? {}
const nobody = AsyncResource && new AsyncResource('elysia-microservices')

/** Browsers delay timers and have no immediates; a message to oneself comes at once, in a turn of its own. */
function byMessage(): (task: Task) => void {
  const { port1, port2 } = new MessageChannel()
  const tasks: Task[] = []
  ;(port1 as { onmessage?: unknown }).onmessage = () => tasks.shift()?.()
  return (task) => {
    tasks.push(task)
    port2.postMessage(undefined)
  }
}
