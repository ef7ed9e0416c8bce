/** Counts the work of a server from its beginning to its end. Only a server with a limit uses this file. */
import {
  type Middleware,
  overrunOf,
  type ReceivedMessage,
  tap,
  whenSettled
} from '@elysia-microservices/transport/kit'
import type { Admission } from './admission.ts'

/** Makes a middleware that tells the admission when messages begin and end. */
export function counting(admission: Admission): Middleware<ReceivedMessage> {
  return (next) => (message) => {
    let isStreaming = false
    return tap(next(message), {
      pending: () => admission.began(),
      settled() {
        const ended = () => admission.ended()
        const overrun = overrunOf(message)
        if (overrun === undefined) ended()
        else void whenSettled(overrun, ended, ended)
      },
      streaming() {
        isStreaming = true
        admission.streamBegan()
      },
      ended() {
        if (isStreaming) admission.streamEnded()
      }
    })
  }
}
