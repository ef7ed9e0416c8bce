/** The client of rsocket-js, RSocket's implementation in JavaScript. */
import type { OpenEchoClient } from '../../peers/echo-client.ts'
import { makeClient, type RSocket, type Subscription } from './library.ts'

/**
 * The number of values requested at first, and the number after which as many are requested again; a reader that
 * waits requests one at a time.
 */
const FAST = { first: 256, more: 128 }
const SLOW = { first: 1, more: 1 }

export const openEchoClient: OpenEchoClient = async (host, port, { payload: { shape }, task }) => {
  const { first, more } = task.mode === 'stream' && task.pause > 0 ? SLOW : FAST
  const client = makeClient(host, port, shape)
  const socket = await new Promise<RSocket>((resolve, reject) => {
    client.connect().subscribe({ onComplete: resolve, onError: reject })
  })
  return {
    echo: (data, answered, failed) => {
      socket.requestResponse({ data }).subscribe({
        onComplete: (answer) => answered(answer.data),
        onError: failed
      })
    },
    stream: (values, reader) => {
      const stream = socket.requestStream({ data: values })
      let subscription: Subscription | undefined
      stream.subscribe({
        onSubscribe: (made) => {
          subscription = made
          made.request(first)
        },
        // Requests more values when enough have arrived, as users of rsocket-js must do themselves.
        onNext: ({ data }) => {
          const taken = reader.value(data)
          if (taken === undefined) ask()
          else void taken.then(ask)
        },
        onComplete: () => reader.ended(),
        onError: reader.failed
      })
      let taken = 0
      const ask = () => {
        if (++taken % more === 0) subscription?.request(more)
      }
      return () => {
        subscription?.cancel()
        reader.ended()
      }
    },
    // rsocket-js does not report when an event was sent.
    emit: async (data) => socket.fireAndForget({ data }),
    close: async () => client.close()
  }
}
