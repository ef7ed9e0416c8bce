/** The next turn of the event loop, in any runtime. */

type Task = () => void

// Stored when the module is loaded, because a test that replaces timers would otherwise stop everything that waits for
// a turn.
const { setImmediate: immediately } = globalThis as { readonly setImmediate?: (task: Task) => unknown }

/** Calls a task in the next turn of the event loop, when the runtime has read all input of this turn. */
export const nextTurn: (task: () => void) => void =
  immediately === undefined ? byMessage() : (task) => void immediately(task)

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
