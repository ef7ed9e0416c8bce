/**
 * Runs work outside of all messages. Over a wire, a handler does not see its caller's store in an `AsyncLocalStorage`,
 * so here it must not see it either, but a microtask that the caller starts would keep the store. The way out needs no
 * API of the runtime: a callback of `then` runs in the context in which `then` was called. So each task waits in a
 * `then` that was called outside of all messages.
 */

const tasks: (() => void)[] = []
let wake = newTurn()

/** Runs a task in a later turn of the event loop, outside of all messages. Tasks run in the order of the calls. */
export function outside(task: () => void): void {
  tasks.push(task)
  wake()
}

/** Makes a function that passes each of its calls to `outside`. */
export function later<Args extends unknown[]>(task: (...args: Args) => void): (...args: Args) => void {
  return (...args) => outside(() => task(...args))
}

/** Prepares the turn of the next task. Returns the function that starts this turn. */
function newTurn(): () => void {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  void begun.then(() => {
    const task = tasks.shift()
    // The next turn is prepared before the task runs, because the task may change its context (`enterWith`).
    wake = newTurn()
    if (tasks.length > 0) wake()
    task?.()
  })
  return begin
}
