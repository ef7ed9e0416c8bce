/** A client that makes the same calls in a page, a worker and any program. `edges.test.ts` bundles it. */
import { connect } from '@elysia-microservices/websocket/client'

async function* numbers(): AsyncGenerator<number> {
  for (let n = 1; n <= 100; n++) yield n
}

/** Makes the calls. @param url the address of the server; `undefined`: the origin of the program */
export async function outcome(url?: string): Promise<object> {
  const client = connect(url === undefined ? {} : { url })
  let read = 0
  for await (const value of client.stream<number>('count', 1_000_000)) {
    read += value
    if (value === 2_000) break
  }
  const deadline = await client.request('wait', 1, { timeout: 50 }).catch((error: Error) => error.name)
  const said = {
    echo: await client.request('echo', { text: 'é€😀' }),
    read,
    sum: await client.request('sum', numbers()),
    deadline,
    unknown: await client.request('nowhere').catch((error: Error) => error.name),
    event: await client.emit('told', 1)
  }
  await client.close()
  return { ...said, status: client.status }
}
