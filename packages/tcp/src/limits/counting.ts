/** Counts the work of a server from its beginning to its end. Only servers with a limit pay for it. */
import { type Around, type ReceivedMessage, tap } from '@elysia-microservices/transport/kit'

/** Who is told of work that takes more than a turn. */
export interface WorkCounter {
  /** A request or an event has not ended in the turn it came. */
  began(): void
  /** It has ended. */
  ended(): void
  /** A stream of values has begun. */
  streamBegan(): void
  /** It is over, or nobody takes it any more. */
  streamEnded(): void
}

/** Stands around messages, and tells a counter what becomes of them. */
export function counting(counter: WorkCounter): Around<ReceivedMessage> {
  return (next) => (message) => {
    let isStreaming = false
    return tap(next(message), {
      pending: () => counter.began(),
      settled: () => counter.ended(),
      streaming() {
        isStreaming = true
        counter.streamBegan()
      },
      ended() {
        if (isStreaming) counter.streamEnded()
      }
    })
  }
}
