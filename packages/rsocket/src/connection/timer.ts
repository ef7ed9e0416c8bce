/** The timers of connections. */
import { DeadlineTimer, type Timer, type TimerOwner } from '@elysia-microservices/transport/kit'
import { readQueue } from './read-queue.ts'

const settle = () => readQueue.settle()

/** Makes a timer that handles all received chunks before it wakes its owner. */
export function newTimer(owner: TimerOwner): Timer {
  return new DeadlineTimer(owner, settle)
}
