/**
 * Runs tasks outside the asynchronous context of any message. A task scheduled while one message is handled would
 * otherwise run in its context, and other messages handled by the task would see its store in an `AsyncLocalStorage`.
 */
import { AsyncResource } from 'node:async_hooks'

const nobody = new AsyncResource('elysia-microservices')

/** Wraps a task so that it runs in the context of no message. */
export function outside(task: () => void): () => void {
  return () => nobody.runInAsyncScope(task)
}
