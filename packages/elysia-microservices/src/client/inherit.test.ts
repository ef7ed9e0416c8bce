/** The option `inherit`: calls in a handler are made within its message, without a word in each call. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { defer, firstValueFrom } from 'rxjs'
import { type Message, microservice, OptionError } from '../index.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import { connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const turn = () => new Promise((resolve) => setImmediate(resolve))

for (const way of WAYS)
  describe(`calls of a client that inherits, over ${way}`, () => {
    /** A service that tells the header and the time it has got, and one in front of it whose client inherits. */
    async function chain(inherit = true) {
      const [near, far] = [newWay(way), newWay(way)]
      const left = happening<string>()
      const waits = happening<string>()
      const last = microservice({ transport: far.transport })
        .message('told', ({ headers, timeout }) => [headers['id'] ?? 'none', timeout !== undefined])
        .message('waits', ({ signal }) => {
          waits.happen('')
          return new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              left.happen('left')
              resolve('')
            })
          })
        })
      await cleanups.add(last).listen()
      const clients: { readonly next: ReturnType<typeof newClient> }[] = []
      const newClient = () =>
        cleanups.add(connect<typeof last>({ ...far.client(), forward: ['id'], inherit }))
      const ask = () => clients[0]!.next.request('told')
      const first = microservice({ transport: near.transport })
        .derive(async () => ({ inHook: await ask() }))
        .message('hook', ({ inHook }) => inHook)
        .message('at once', ask)
        .message('later', () => turn().then(ask))
        .message('generator', async function* () {
          await turn()
          yield await ask()
          await turn()
          yield await ask()
        })
        .message('observable', () => defer(ask))
        .message('channel', async function* ({ data }: Message<AsyncIterable<number>>) {
          for await (const _ of data) yield await ask()
        })
        .message('waits', () => clients[0]!.next.request('waits'))
        .message('names another', () =>
          clients[0]!.next.request('told', undefined, {
            within: { remaining: undefined, headers: { id: 'another' } }
          })
        )
      await cleanups.add(first).listen()
      const client = cleanups.add(connect(near.client()))
      // The handlers were compiled before the client was made.
      clients.push({ next: newClient() })
      return { client, left, waits, outside: ask }
    }

    it('have the headers and the time of the message, in hooks, promises, generators and Observables', async () => {
      const { client } = await chain()
      const hasTime = way !== 'nest'
      for (const [index, pattern] of ['hook', 'at once', 'later', 'observable'].entries()) {
        const id = String(index)
        assert.deepEqual(await client.request(pattern, 1, { headers: { id } }), [id, hasTime], pattern)
      }
      const seen: unknown[] = []
      const both = ['a', 'b'].map(async (id) => {
        for await (const value of client.stream('generator', 1, { headers: { id } })) seen.push([id, value])
      })
      await Promise.all(both)
      assert.deepEqual(
        seen.sort(),
        ['a', 'a', 'b', 'b'].map((id) => [id, [id, hasTime]])
      )
    })

    if (way !== 'nest')
      it('are cancelled with the message', async () => {
        const { client, left, waits } = await chain()
        const subscription = client.send('waits').subscribe({ error() {} })
        await waits.happened
        subscription.unsubscribe()
        assert.equal(await left.happened, 'left')
      })

    it('are within the message that they name, if they name one', async () => {
      const { client } = await chain()
      const [id] = await client.request<string[]>('names another', 1, { headers: { id: 'r' } })
      assert.equal(id, 'another')
    })

    it('are within none outside of handlers, and if the client does not inherit', async () => {
      const { outside } = await chain()
      assert.equal((await outside())[0], 'none')
      const { client } = await chain(false)
      assert.equal((await client.request<string[]>('later', 1, { headers: { id: 'r' } }))[0], 'none')
      assert.equal(
        (await firstValueFrom(client.send<string[]>('at once', 1, { headers: { id: 'r' } })))[0],
        'none'
      )
    })
  })

it('inherit must be a boolean', () => {
  assert.throws(
    () => connect({ inherit: 1 as never }),
    (error) => error instanceof OptionError && error.path === 'options.inherit'
  )
})
