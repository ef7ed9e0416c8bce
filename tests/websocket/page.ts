/**
 * A program for a page, bundled and run by `page.test.ts`: makes every call in the table of calls for all transports,
 * and some scenarios with several calls. Writes the results to `globalThis.outcome`.
 */
import '@elysia-microservices/transport/msgpack'
import { connect, type RpcError, type UntypedWebClient } from '@elysia-microservices/websocket/client'
import { answers } from '../conformance/semantics/answers.ts'

/** The values of a stream until its end, and its error if there is one. */
async function outcomeOf(take: (next: (value: unknown) => void) => Promise<void>): Promise<object> {
  const values: unknown[] = []
  try {
    await take((value) => void values.push(value))
    return { values }
  } catch (error) {
    const { name, code, message, details } = error as RpcError
    return { values, error: { name, code, message, ...(details === undefined ? {} : { details }) } }
  }
}

async function* numbers(to: number): AsyncGenerator<number> {
  for (let n = 1; n <= to; n++) yield n
}

const nameOf = (call: Promise<unknown>) => call.then(String, (error: Error) => error.name)

async function run(client: UntypedWebClient): Promise<object> {
  const table: object[] = []
  for (const { pattern, data, options } of answers) {
    const streamed = await outcomeOf(async (next) => {
      for await (const value of client.stream(pattern, data, options)) next(value)
    })
    const asked = await outcomeOf(async (next) => next(await client.request(pattern, data, options)))
    table.push({ streamed, asked })
  }
  const read: unknown[] = []
  for await (const value of client.stream<number>('count', 20_000)) read.push(value)
  let left = 0
  for await (const value of client.stream<number>('count', 1_000_000)) {
    left += value
    if (left > 3) break
  }
  const aborter = new AbortController()
  const aborted = nameOf(client.request('wait', 1, { signal: aborter.signal }))
  setTimeout(() => aborter.abort(), 20)
  const packed = connect({ codec: 'msgpack' })
  const large = 'é€😀'.repeat(60_000)
  const outcome = {
    table,
    many: (await Promise.all([...Array(1_000).keys()].map((n) => client.request('promise', n)))).length,
    stream: read.length,
    channel: await client.request('sum', numbers(1_000)),
    large: (await client.request('echo', large)) === large,
    deadline: await nameOf(client.request('wait', 1, { timeout: 20 })),
    aborted: await aborted,
    packed: await packed.request('echo', { at: new Date(7), big: 2n ** 60n }),
    event: await client.emit('told', { from: 'a page' }),
    status: client.status
  }
  await packed.close()
  await client.close()
  return outcome
}

Object.assign(globalThis, { outcome: run(connect()) })
