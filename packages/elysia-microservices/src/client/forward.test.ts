/** The option `forward`: headers of the handled message that are copied to calls made within that message. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { t } from 'elysia'
import { z } from 'zod'
import { type Message, microservice, OptionError } from '../index.ts'
import { Ctx, MessagePattern, type RpcContext } from '../nest.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import { connect, type HandledMessage } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const FORWARD = ['x-request-id', 'tenant'] as const
const GIVEN = { 'x-request-id': 'r-7', tenant: 'acme', secret: 'stays' }

for (const way of WAYS)
  describe(`headers that go along, ${way}`, () => {
    /** A service that returns the headers it got, and a service in front of it that calls it within its own message. */
    async function chain(forward: readonly string[] | undefined = FORWARD, inherit?: boolean) {
      const [near, far] = [newWay(way), newWay(way)]
      const events: unknown[] = []
      const last = microservice({ transport: far.transport })
        .message('headers', ({ headers }) => ({ ...headers }))
        .message('stream', async function* ({ headers }) {
          yield { ...headers }
        })
        .event('event', ({ headers }) => void events.push({ ...headers }))
      cleanups.add(last)
      await last.listen()
      const next = cleanups.add(connect<typeof last>({ ...far.client(), forward, inherit }))
      class Controller {
        @MessagePattern('controller')
        asks(@Ctx() within: RpcContext) {
          return next.request('headers', undefined, { within })
        }
      }
      const first = microservice({ transport: near.transport, controllers: [Controller] })
        .message('request', (within) => next.request('headers', undefined, { within }))
        .message('send', (within) => next.send('headers', undefined, { within }))
        .message('own', (within) =>
          next.request('headers', undefined, { within, headers: { tenant: 'own', more: '1' } })
        )
        .message('without', () => next.request('headers'))
        .message('stream', async function* (within: Message<undefined>) {
          yield* next.stream('stream', undefined, { within })
        })
        .message('checked', (within) => next.request('headers', undefined, { within }), {
          headers: z.object({ tenant: z.string() })
        })
        .message('decoded', (within) => next.request('headers', undefined, { within }), {
          headers: t.Object({
            tenant: t
              .Transform(t.String())
              .Decode((text) => text.length)
              .Encode(String)
          })
        })
        .message('emit', (within) => next.emit('event', undefined, { within }))
      cleanups.add(first)
      await first.listen()
      const client = cleanups.add(connect(near.client()))
      const ask = (pattern: string, headers: Readonly<Record<string, string>> = GIVEN) =>
        client.request(pattern, undefined, { headers })
      return { ask, events, next }
    }

    it('are those named, and no others', async () => {
      const { ask } = await chain()
      const { secret: _, ...expected } = GIVEN
      for (const pattern of ['request', 'send', 'stream', 'controller', 'checked', 'decoded', 'without'])
        assert.deepEqual(await ask(pattern), expected, pattern)
      assert.deepEqual(await ask('request', { tenant: 'acme' }), { tenant: 'acme' })
      assert.deepEqual(await ask('request', {}), {})
    })

    it('go along with events', async () => {
      const { ask, events } = await chain()
      await ask('emit')
      // The request uses the same connection, so it is answered after the event has been handled.
      await ask('request')
      const { secret: _, ...expected } = GIVEN
      assert.deepEqual(events, [expected])
    })

    it('give way to those of the call itself', async () => {
      const { ask } = await chain()
      assert.deepEqual(await ask('own'), { 'x-request-id': 'r-7', tenant: 'own', more: '1' })
    })

    it('are none by default, and none without `within` in a client that does not inherit', async () => {
      assert.deepEqual(await (await chain([])).ask('request'), {})
      assert.deepEqual(await (await chain(FORWARD, false)).ask('without'), {})
    })

    it('fail the call alone where they cannot be read', async () => {
      const { next } = await chain()
      const within = {
        remaining: undefined,
        get headers(): never {
          throw new Error('not now')
        }
      } as HandledMessage
      await assert.rejects(next.request('headers', undefined, { within }), {
        message: /not now|cannot be sent/
      })
      await assert.rejects(next.stream('stream', undefined, { within }).next(), { code: 'OPTION' })
      const odd = { remaining: undefined, headers: { tenant: 7, toString: 'x' } } as never
      assert.deepEqual(await next.request('headers', undefined, { within: odd }), {})
    })
  })

describe('the option forward', () => {
  for (const [wrong, path] of [
    ['x-request-id', 'options.forward'],
    [[7], 'options.forward[0]'],
    [['a', ''], 'options.forward[1]'],
    [['elysia-id'], 'options.forward[0]']
  ] as const)
    it(`is checked: ${JSON.stringify(wrong)}`, () => {
      assert.throws(
        () => connect({ forward: wrong as never }),
        (error) => error instanceof OptionError && error.path === path
      )
    })
})
