/** The timers of connections. */
import { DeadlineTimer, type Timer } from '@elysia-microservices/transport/kit'
import { readQueue } from './read-queue.ts'

const settle = () => readQueue.settle()

/** Makes a timer that handles everything that was read before it wakes its owner. See `Timer.wake`. */
export function newTimer(wake: (now: number) => void): Timer {
  return new DeadlineTimer(wake, settle)
}
