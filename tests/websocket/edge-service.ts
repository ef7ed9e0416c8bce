/** The service that clients in other environments call, and the results that they must report (`edge.ts`). */
import { type Message, memory, microservice } from 'elysia-microservices'

export const EXPECTED = {
  echo: { text: 'é€😀' },
  read: 2_001_000,
  sum: 5_050,
  deadline: 'TimeoutError',
  unknown: 'PatternNotFoundError',
  status: 'closed'
}

export function newService() {
  return microservice({ transport: memory() })
    .message('echo', ({ data }) => data)
    .message('wait', () => new Promise(() => {}))
    .message('count', function* ({ data }: Message<number>) {
      for (let n = 1; n <= data; n++) yield n
    })
    .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
      let sum = 0
      for await (const n of data) sum += n
      return sum
    })
    .event('told', () => {})
}
