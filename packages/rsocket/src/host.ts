/**
 * Functions of the runtime that browsers lack or have under other names. Each function is stored when the module is
 * loaded, because a test that replaces timers would otherwise stop all reading and writing.
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

/** Calls a task in the next turn of the event loop, when the runtime has read all input of this turn. */
export const nextTurn: (task: Task) => void =
  immediately === undefined ? byMessage() : (task) => void immediately(task)

/** Calls a task when the current task has ended, its promises included if the runtime supports that. */
export const afterTask: (task: Task) => void = running?.nextTick ?? nextTurn

/**
 * Calls a task after the waiting microtasks. Wrapped in a function, because browsers refuse to call `queueMicrotask` as
 * a method.
 */
export const afterMicrotasks: (task: Task) => void = (task) => queueMicrotask(task)

/** Returns the timer, changed so that it does not keep the process alive. */
export function unref<Timer>(timer: Timer): Timer {
  ;(timer as { unref?(): void }).unref?.()
  return timer
}

/**
 * Wraps a task so that it runs outside of the asynchronous context of any message. A task that is scheduled while a
 * message is handled would otherwise run in the context of that message, and other messages that the task handles would
 * see its store in an `AsyncLocalStorage`. In a runtime without such storage, the task is returned unchanged.
 */
export function outside(task: Task): Task {
  return nobody === undefined ? task : () => nobody.runInAsyncScope(task)
}

const { AsyncResource } = running?.getBuiltinModule?.('node:async_hooks') ?? {}
const nobody = AsyncResource && new AsyncResource('elysia-microservices')

/**
 * Uses messages to itself, because browsers delay timers and have no immediates. Such a message arrives at once, in a
 * separate turn.
 */
function byMessage(): (task: Task) => void {
  const { port1, port2 } = new MessageChannel()
  const tasks: Task[] = []
  ;(port1 as { onmessage?: unknown }).onmessage = () => tasks.shift()?.()
  return (task) => {
    tasks.push(task)
    port2.postMessage(undefined)
  }
}
