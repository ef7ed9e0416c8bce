/** Runs a task again and again, without keeping the process alive. Returns the function that ends it. */
export function repeat(task: () => void, every: number): () => void {
  const timer = setInterval(task, every)
  // Timers are objects in Node and Bun, and numbers elsewhere.
  ;(timer as { unref?(): void }).unref?.()
  return () => clearInterval(timer)
}
