/**
 * Work that belongs to no message. A handler must not find its caller's store in an `AsyncLocalStorage`, as it would
 * not over a wire; a microtask of the caller's would take it there. No runtime is needed to leave it behind: what
 * `then` is given runs in the context in which `then` was called, so each task waits in a `then` of its own that was
 * called outside of all messages.
 */

const tasks: (() => void)[] = []
let wake = newTurn()

/** Runs a task in a later turn, in the order of their coming, in the context of no message. */
export function outside(task: () => void): void {
  tasks.push(task)
  wake()
}

/** A function whose calls run the task in that way. */
export function later<Args extends unknown[]>(task: (...args: Args) => void): (...args: Args) => void {
  return (...args) => outside(() => task(...args))
}

/** Prepares the turn of the next task. Gives the function that begins it. */
function newTurn(): () => void {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  void begun.then(() => {
    const task = tasks.shift()
    // Before the task, which may change the context it runs in (`enterWith`).
    wake = newTurn()
    if (tasks.length > 0) wake()
    task?.()
  })
  return begin
}
