/** Handlers do not run in the asynchronous context of their callers, not even in one process or over `memory()`. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, it } from 'node:test'
import { connect } from '../client/index.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import type { Message } from '../types/message.ts'
import { microservice } from './microservice.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const scope = new AsyncLocalStorage<string>()
const store = () => scope.getStore() ?? 'nothing'
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A service whose handlers answer with the store that they see, and its client. The client is made inside a store. */
async function start(way: (typeof WAYS)[number]) {
  const emitted = happening<string>()
  const left = happening<string>()
  const ends = newWay(way)
  const service = microservice({ transport: ends.transport })
    .message('value', store)
    .message('later', () => turn().then(store))
    .message('enters', () => scope.enterWith('of the handler'))
    .message('generator', function* () {
      for (let count = 0; count < 1_000; count++) yield store()
    })
    .message('endless', async function* ({ signal }) {
      signal.addEventListener('abort', () => left.happen(store()))
      for (;;) yield store()
    })
    .message('channel', async function* ({ data }: Message<AsyncIterable<number>>) {
      for await (const _ of data) yield store()
    })
    .message('enters and reads', async function* ({ data }: Message<AsyncIterable<number>>) {
      scope.enterWith('of the handler')
      for await (const value of data) yield value
    })
    .event('event', () => emitted.happen(store()))
  cleanups.add(await service.listen())
  const client = scope.run('of the client', () => cleanups.add(connect(ends.client())))
  return { client, emitted, left }
}

for (const way of WAYS) {
  describe(`the context of a handler, over ${way}`, () => {
    it('is not that of its caller', async () => {
      const { client, emitted } = await start(way)
      await scope.run('of the caller', async () => {
        assert.equal(await client.request('value'), 'nothing')
        assert.equal(await client.request('later'), 'nothing')
        await client.emit('event')
        assert.equal(await emitted.happened, 'nothing')
        assert.equal(store(), 'of the caller')
      })
    })

    it('is not that of who reads its stream', async () => {
      const { client, left } = await start(way)
      await scope.run('of the caller', async () => {
        const seen = new Set<unknown>()
        for await (const value of client.stream('generator')) seen.add(value)
        let count = 0
        for await (const value of client.stream('endless')) {
          seen.add(value)
          if (++count === 2_000) break
        }
        if (way !== 'nest') seen.add(await left.happened)
        assert.deepEqual([...seen], ['nothing'])
      })
    })

    if (way !== 'nest')
      it('is not that of who writes to its channel', async () => {
        const { client } = await start(way)
        async function* input() {
          for (let count = 0; count < 500; count++) yield count
        }
        await scope.run('of the caller', async () => {
          const seen = new Set<unknown>()
          for await (const value of client.stream('channel', input())) seen.add(value)
          assert.deepEqual([...seen], ['nothing'])
        })
      })
  })
}

describe('the context of a handler over memory()', () => {
  it('is not that of the message before, even if its handler has changed it by `enterWith`', async () => {
    const { client } = await start('memory')
    const asked = ['enters', 'value', 'later'].map((name) => client.request(name))
    const [, first, second] = await Promise.all(asked)
    assert.deepEqual([first, second, await client.request('value')], ['nothing', 'nothing', 'nothing'])
  })

  it('is not that of its caller, whose channel it reads', async () => {
    const { client } = await start('memory')
    const seen = new Set<unknown>()
    async function* input() {
      for (let count = 0; count < 500; count++) {
        seen.add(store())
        yield count
      }
    }
    for await (const _ of client.stream('enters and reads', input()));
    assert.deepEqual([...seen], ['nothing'])
  })
})
