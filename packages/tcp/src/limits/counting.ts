/** Counts the work of a server from its beginning to its end. Only servers with a limit use it. */
import { type Around, type ReceivedMessage, tap } from '@elysia-microservices/transport/kit'

/** Is told about work that takes more than a turn. */
export interface WorkCounter {
  /** A request or event did not end in the turn in which it came. */
  began(): void
  /** A request or event has ended. */
  ended(): void
  /** A stream of values has begun. */
  streamBegan(): void
  /** A stream has ended or was cancelled. */
  streamEnded(): void
}

/** An around that tells a counter about messages. */
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
