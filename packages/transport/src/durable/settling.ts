/** Durable handlers that settle their event by hand, as handlers of Nest do, whatever they return or throw afterwards. */
import { Discard } from '../errors/index.ts'
import type { IncomingMessage } from '../message.ts'
import { GivenUp } from './outcome.ts'

/**
 * The end of a handler, after which its event is settled as the handler has wished. Without a wish, the handler's own
 * end counts.
 * @param failure what the handler has thrown, in a list; `undefined`: it has succeeded
 */
export function endSettled({ settled }: IncomingMessage, failure?: readonly [unknown]): void {
  if (settled === 'again') throw failure?.[0] ?? new Error('The handler has given the event back: nack()')
  if (settled === 'dead')
    throw new GivenUp('The handler has refused the event: reject(), or nack() without requeue')
  if (failure === undefined) return
  if (settled === undefined) throw failure[0]
  throw new Discard(`it had acknowledged the event, and failed afterwards: ${String(failure[0])}`)
}
