/** Handlers that call the client that called them. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { expectTypeOf } from 'expect-type'
import { type Message, memory, microservice, type Peer } from '../index.ts'
import { Cleanups } from '../testing/ways.ts'
import { callsTo, connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const page = microservice({ transport: memory() })
  .message('name', ({ data }: Message<string>) => `${data} Ada`)
  .message('count', async function* ({ data }: Message<number>) {
    for (let n = 1; n <= data; n++) yield n
  })

async function typesOf(peer: Peer) {
  const calls = callsTo<typeof page>(peer)
  expectTypeOf(calls.request('name', 'Dr')).resolves.toEqualTypeOf<string>()
  // @ts-expect-error the data is a text
  void calls.request('name', 1)
  // @ts-expect-error the connection is the peer's
  void calls.close()
}

describe('the calls to a peer', () => {
  it('are those of a client: requests, streams that are iterated, outcomes, options of many calls', async () => {
    const service = microservice({ transport: 'tcp', port: 0 }).message('ask', async ({ peer }) => {
      const calls = callsTo<typeof page>(peer)
      const counted: number[] = []
      for await (const n of calls.stream('count', 3)) counted.push(n)
      const { error } = await calls.with({ timeout: 5_000 }).safe.request('nobody' as never)
      return [await calls.request('name', 'Dr'), counted, error?.name]
    })
    cleanups.add(await service.listen())
    const client = cleanups.add(connect<typeof service>({ port: service.address!.port!, service: page }))
    assert.deepEqual(await client.request('ask'), ['Dr Ada', [1, 2, 3], 'PatternNotFoundError'])
    assert.equal(typeof typesOf, 'function')
  })

  it('are refused where no calls go back', async () => {
    const refused = { name: 'OptionError', message: /came over RSocket; no calls go back over an engine/ }
    assert.throws(() => callsTo(undefined), refused)
    const service = microservice({ transport: 'tcp', port: 0 }).message('ask', ({ peer }) => {
      assert.throws(() => callsTo(peer), refused)
      return 'refused'
    })
    cleanups.add(await service.listen())
    const client = cleanups.add(connect({ port: service.address!.port!, protocol: 'nest' }))
    assert.equal(await client.request('ask'), 'refused')
  })
})
