/** Counts the work of a server from its beginning to its end. Only a server with a limit uses this file. */
import { type Middleware, type ReceivedMessage, tap } from '@elysia-microservices/transport/kit'
import type { Admission } from './admission.ts'

/** Makes a middleware that tells the admission when messages begin and end. */
export function counting(admission: Admission): Middleware<ReceivedMessage> {
  return (next) => (message) => {
    let isStreaming = false
    return tap(next(message), {
      pending: () => admission.began(),
      settled: () => admission.ended(),
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
