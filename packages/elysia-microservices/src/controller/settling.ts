/** Lets the durable event handlers of controllers settle their event by hand: `getChannelRef().ack(message)`. */
import { endSettled, type IncomingMessage, whenSettled } from '@elysia-microservices/transport/kit'
import { runToEnd } from '../hooks/run-to-end.ts'
import type { Message } from '../types/message.ts'

/** The handler, which ends as it has settled its message, or as it ends by itself. */
export function settlingByHand(handle: (message: Message) => unknown): (message: Message) => unknown {
  return (message) => {
    const incoming = message as unknown as IncomingMessage
    const done = () => endSettled(incoming)
    const failed = (error: unknown) => endSettled(incoming, [error])
    let running: void | Promise<void>
    try {
      running = runToEnd(handle as (message: IncomingMessage) => unknown, incoming)
    } catch (error) {
      return failed(error)
    }
    return running === undefined ? done() : whenSettled(running, done, failed)
  }
}
