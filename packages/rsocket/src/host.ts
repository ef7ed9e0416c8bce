/**
 * Functions of the runtime that browsers lack or have under other names. Each function is stored when the module is
 * loaded, because a test that replaces timers would otherwise stop all reading and writing.
 */
import { nextTurn } from '@elysia-microservices/transport/kit'

type Task = () => void

interface Runtime {
  readonly process?: {
    nextTick?(task: Task): void
    getBuiltinModule?(name: 'node:async_hooks'): AsyncHooks | undefined
  }
}

interface AsyncHooks {
  readonly AsyncResource: new (type: string) => { runInAsyncScope(task: Task): void }
}

const { process: running } = globalThis as Runtime

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
