/**
 * Runs work outside of all messages. Over a wire, a handler does not see its caller's store in an `AsyncLocalStorage`,
 * so here it must not see it either, but a microtask that the caller starts would keep the store. The way out needs no
 * API of the runtime: a callback of `then` runs in the context in which `then` was called. So each task waits in a
 * `then` that was called outside of all messages.
 */

import { nextTurn } from '../next-turn.ts'

/**
 * Most tasks in one turn of the event loop. Calls that follow one another without waiting for anything else would
 * otherwise keep the event loop from timers and sockets for ever.
 */
const TASKS_A_TURN = 1_000

const tasks: (() => void)[] = []
/** Number of tasks that were run in this turn of the event loop. */
let count = 0
let wake = /* @__PURE__ */ newTurn()

/** Runs a task in a later turn of the event loop, outside of all messages. Tasks run in the order of the calls. */
export function outside(task: () => void): void {
  tasks.push(task)
  wake()
}

/** Makes a function that passes each of its calls to `outside`. */
export function later<Args extends unknown[]>(task: (...args: Args) => void): (...args: Args) => void {
  return (...args) => outside(() => task(...args))
}

/** Prepares the next task. Returns the function that starts it. */
function newTurn(): () => void {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  void begun.then(() => {
    const task = tasks.shift()
    if (count++ === 0) nextTurn(endTurn)
    // The next task is prepared before this one runs, because this one may change its context (`enterWith`).
    wake = newTurn()
    if (tasks.length > 0) wake()
    task?.()
  })
  return () => {
    if (count < TASKS_A_TURN) begin()
  }
}

function endTurn(): void {
  const hasWaited = count >= TASKS_A_TURN
  count = 0
  if (hasWaited && tasks.length > 0) wake()
}
