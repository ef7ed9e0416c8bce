/**
 * Work that belongs to no message. What is asked for while a message is handled runs in that message's asynchronous
 * context; where it goes on with other messages, they would find the store of that one in an `AsyncLocalStorage`.
 */
import { AsyncResource } from 'node:async_hooks'

const nobody = new AsyncResource('elysia-microservices')

/** The task, to be run in the context of no message. */
export function outside(task: () => void): () => void {
  return () => nobody.runInAsyncScope(task)
}
