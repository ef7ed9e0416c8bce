/** Counts the work of a server from its beginning to its end. Only servers with a limit use it. */
import { type Around, type ReceivedMessage, tap } from '@elysia-microservices/transport/kit'
import type { Admission } from './admission.ts'

/** An around that tells about messages, for the limits. */
export function counting(admission: Admission): Around<ReceivedMessage> {
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
