/** The timers of connections. */
import { DeadlineTimer, type Timer } from '@elysia-microservices/transport/kit'
import { readQueue } from './read-queue.ts'

const settle = () => readQueue.settle()

/**
 * A timer whose owner, when it is woken, has handled everything that was read.
 * @param wake is called when the time has come; deadlines it still wants it must ask for again
 */
export function newTimer(wake: (now: number) => void): Timer {
  return new DeadlineTimer(wake, settle)
}
