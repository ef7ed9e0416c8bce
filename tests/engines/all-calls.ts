/** All kinds of calls between a service and its caller, for users who have no more rights than that needs. */
import assert from 'node:assert/strict'
import type { Logger, Transport } from '@elysia-microservices/transport'
import { type Message, microservice } from 'elysia-microservices'
import type { UntypedClient } from 'elysia-microservices/client'

/** Starts the service. @param between stands between the parts of a pattern */
export async function startOrders(transport: Transport, logger: Logger, between = '.') {
  const service = microservice({ name: 'orders', transport, logger })
    .message(`orders${between}total`, ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))
    .message(`orders${between}same`, ({ data }) => data)
    .message(`orders${between}nothing`, () => undefined)
    .message(`orders${between}watch`, async function* () {
      for (let n = 1; n <= 2_000; n++) yield n
    })
    .message(`orders${between}sum`, async ({ data }: Message<AsyncIterable<number>>) => {
      let sum = 0
      for await (const n of data) sum += n
      return sum
    })
  await service.listen()
  return service
}

/** Makes all kinds of calls of a client of that service. */
export async function makeAllCalls(web: UntypedClient, between = '.'): Promise<void> {
  const named = (name: string) => `orders${between}${name}`
  assert.equal(await web.request(named('total'), [1, 2]), 3)
  const many = Array.from({ length: 500 }, (_, n) => web.request(named('total'), [n, 1]))
  assert.deepEqual(
    await Promise.all(many),
    many.map((_, n) => n + 1)
  )
  let values = 0
  for await (const _ of web.stream(named('watch'))) values++
  assert.equal(values, 2_000)
  for await (const _ of web.stream(named('watch'))) break
  const numbers = async function* () {
    for (let n = 1; n <= 500; n++) yield n
  }
  assert.equal(await web.request(named('sum'), numbers()), 125_250)
  const text = 'x'.repeat(5_000_000)
  assert.equal(await web.request(named('same'), text), text)
  assert.equal(await web.request(named('nothing')), undefined)
  await assert.rejects(web.request(named('none'), 1), { name: 'PatternNotFoundError' })
}
