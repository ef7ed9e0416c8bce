/** The queues that all connections of a process share. */
import { forgetResting } from '@elysia-microservices/transport/kit'
import { forgetFlushQueues } from '../connection/flush-queue.ts'
import { readQueue } from '../connection/read-queue.ts'

/** Lets the next connection find all queues as in a new process. */
export function forgetQueues(): void {
  readQueue.reset()
  forgetFlushQueues()
  forgetResting()
}
