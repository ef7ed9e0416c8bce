/** Cases of a single request from a peer's client to our server. */
import assert from 'node:assert/strict'
import { aborted, Values } from '@elysia-microservices/test-support'
import { type Message, RpcError } from 'elysia-microservices'
import type { Case, Cases } from '../interop.ts'
import { Code } from './error-codes.ts'

const MEGABYTE = 'é'.repeat(500_000)

export const askingRequests = {
  'gets answers: unicode, no data, many at once': async (given: Case) => {
    const connection = await given.dial(await given.serve())
    const data = { text: '€😀é\u0000', list: [1, null, false] }
    assert.deepEqual(await connection.request('echo', data), data)
    assert.equal(await connection.request('echo'), undefined)
    const numbers = [...Array(200).keys()]
    assert.deepEqual(await Promise.all(numbers.map((n) => connection.request('echo', n))), numbers)
  },

  'gets a megabyte back in one frame': async (given: Case) => {
    const connection = await given.dial(await given.serve())
    assert.equal(await connection.request('echo', MEGABYTE), MEGABYTE)
  },

  'gets a megabyte back in fragments, its own and ours': async (given: Case) => {
    const tap = await given.tap(await given.serve(() => {}, { fragmentSize: 10_000 }))
    const connection = await given.dial(tap.port, { fragmentSize: 10_000 })
    assert.equal(await connection.request('echo', MEGABYTE), MEGABYTE)
    assert.ok(tap.fragments('client') >= 100)
    assert.ok(tap.fragments('server') >= 100)
  },

  'sends metadata that is longer than a fragment': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('headers', ({ headers, data }) => [headers, data])
    )
    const tap = await given.tap(port)
    const connection = await given.dial(tap.port, { fragmentSize: 100 })
    const headers = { long: 'h'.repeat(1_000) }
    const data = 'd'.repeat(1_000)
    assert.deepEqual(await connection.request({ route: 'headers', headers }, data), [headers, data])
    assert.ok(tap.fragments('client') >= 20)
  },

  'fires and forgets, and the server takes events in order': async (given: Case) => {
    const placed = new Values<unknown>()
    const connection = await given.dial(
      await given.serve((service) => service.event('placed', ({ data }) => placed.put(data)))
    )
    for (const id of [1, 2, 3]) connection.open('event', 'placed', { id })
    assert.deepEqual(
      [await placed.take(), await placed.take(), await placed.take()],
      [{ id: 1 }, { id: 2 }, { id: 3 }]
    )
  },

  'gets the error a handler answers with': async (given: Case) => {
    const error = { code: 'E', message: 'm €', details: { n: 1 } }
    const port = await given.serve((service) =>
      service
        .message('fail', () => {
          throw new RpcError(error)
        })
        .message('fail later', async function* () {
          yield 1
          throw new RpcError(error)
        })
    )
    const connection = await given.dial(port)
    const { code, message } = await connection.open('response', 'fail').event('error')
    assert.deepEqual([code, JSON.parse(message)], [Code.APPLICATION_ERROR, error])
    const stream = connection.open('stream', 'fail later')
    assert.equal(await stream.value(), 1)
    assert.deepEqual(JSON.parse((await stream.event('error')).message), error)
  },

  'learns of unexpected failures that there was one, and of unknown routes': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('bug', () => {
        throw new Error('secret')
      })
    )
    const connection = await given.dial(port)
    const bug = await connection.open('response', 'bug').event('error')
    assert.equal(bug.code, Code.APPLICATION_ERROR)
    assert.deepEqual(JSON.parse(bug.message), { code: 'INTERNAL', message: 'Internal server error' })
    for (const kind of ['response', 'stream'] as const) {
      const { code, message } = await connection.open(kind, 'nobody').event('error')
      assert.equal(code, Code.APPLICATION_ERROR)
      assert.equal(JSON.parse(message).code, 'PATTERN_NOT_FOUND')
    }
  },

  'gets INVALID for data that cannot be read': async (given: Case) => {
    const connection = await given.dial(await given.serve())
    const { code } = await connection.open('response', 'echo', Buffer.from('{')).event('error')
    assert.equal(code, Code.INVALID)
  },

  'gets REJECTED for more than the server takes at once': async (given: Case) => {
    const requests = new Values<() => void>()
    const port = await given.serve(
      (service) =>
        service.message('wait', () => new Promise<string>((resolve) => requests.put(() => resolve('done')))),
      { limits: { inFlightPerConnection: 1 } }
    )
    const connection = await given.dial(port)
    const first = connection.open('response', 'wait')
    const answer = await requests.take()
    assert.equal((await connection.open('response', 'echo', 1).event('error')).code, Code.REJECTED)
    answer()
    assert.equal(await first.value(), 'done')
    assert.equal(await connection.request('echo', 2), 2)
  },

  'sends headers, and a deadline that ends the work': async (given: Case) => {
    const over = new Values<number | undefined>()
    const port = await given.serve((service) =>
      service
        .message('headers', ({ headers }) => headers)
        .message('slow', async ({ signal, timeout }) => {
          await aborted(signal)
          over.put(timeout)
        })
    )
    const connection = await given.dial(port)
    const headers = { traceparent: '00-1-2-01', greeting: 'Grüß Gott' }
    assert.deepEqual(await connection.request({ route: 'headers', headers }), headers)
    const slow = connection.open('response', { route: 'slow', headers: { 'elysia-timeout': '20' } })
    assert.equal((await slow.event('error')).code, Code.CANCELED)
    assert.equal(await over.take(), 20)
  },

  'says with a request who it is': async (given: Case) => {
    const port = await given.serve(() => {}, {
      authenticate: ({ credentials, route }) =>
        route === undefined || (credentials?.type === 'bearer' && credentials.token === 'right')
    })
    const connection = await given.dial(port)
    const credentials = (token: string) => ({
      route: 'echo',
      credentials: { type: 'bearer', token } as const
    })
    assert.equal(await connection.request(credentials('right'), 1), 1)
    const refused = await connection.open('response', credentials('wrong'), 2).event('error')
    assert.equal(refused.code, Code.APPLICATION_ERROR)
    assert.equal(JSON.parse(refused.message).code, 'UNAUTHENTICATED')
  },

  'sends data of another MIME type than the connection has': async (given: Case) => {
    const port = await given.serve((service) =>
      service.message('kind', ({ data }: Message<unknown>) =>
        data instanceof Uint8Array ? data : Object(data)
      )
    )
    const connection = await given.dial(port, { dataMimeType: 'application/octet-stream' })
    const bytes = connection.open('response', 'kind', Buffer.from([1, 0, 255]))
    assert.deepEqual([...(await bytes.bytes())], [1, 0, 255])
    assert.deepEqual(
      await connection.request({ route: 'kind', dataMimeType: 'application/json' }, { a: 1 }),
      { a: 1 }
    )
  }
} satisfies Cases
