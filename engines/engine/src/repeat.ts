/** Runs a task at an interval without keeping the process alive. Returns a function that stops the task. */
export function repeat(task: () => void, every: number): () => void {
  const timer = setInterval(task, every)
  // A timer is an object in Node and Bun, and a number in other runtimes.
  ;(timer as { unref?(): void }).unref?.()
  return () => clearInterval(timer)
}
