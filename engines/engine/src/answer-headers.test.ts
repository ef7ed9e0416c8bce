/** Headers of answers in the dialogue of engines. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { RpcError } from '@elysia-microservices/transport/kit'
import { Ends } from './testing/ends.ts'

describe('headers of an answer in the dialogue', () => {
  const ends = new Ends()
  const heard: unknown[] = []
  const asking = {
    onHeaders: (headers: object) => void heard.push({ ...headers }),
    onTrailers: (trailers: object) => void heard.push({ ...trailers })
  }
  before(() =>
    ends.serve({
      get: ({ set }) => {
        set.headers['etag'] = 'a'
        set.trailers['sum-bin'] = new Uint8Array([1, 255])
        return 7
      },
      async *list({ set }) {
        set.headers['page'] = '1'
        yield 1
        yield 2
        set.trailers['total'] = '2'
      },
      fails: ({ set }) => {
        set.headers['etag'] = 'b'
        throw new RpcError('no')
      }
    })
  )
  after(() => ends.close())

  const heardBy = async (call: () => Promise<unknown>) => {
    heard.length = 0
    return { answer: await call().catch((error: Error) => error.message), heard: [...heard] }
  }
  const listed = (options?: typeof asking) => {
    const values: unknown[] = []
    return new Promise<unknown[]>((resolve, reject) =>
      ends
        .client()
        .stream(
          'list',
          undefined,
          { next: (value) => void values.push(value), complete: () => resolve(values), error: reject },
          options
        )
    )
  }

  it('come to callers who ask, beside the first value and the end', async () => {
    const bytes = new Uint8Array([1, 255])
    assert.deepEqual(await heardBy(() => ends.client().request('get', undefined, asking)), {
      answer: 7,
      heard: [{ etag: 'a' }, { 'sum-bin': bytes }]
    })
    assert.deepEqual(await heardBy(() => listed(asking)), {
      answer: [1, 2],
      heard: [{ page: '1' }, { total: '2' }]
    })
  })

  it('come beside an error', async () => {
    assert.deepEqual(await heardBy(() => ends.client().request('fails', undefined, asking)), {
      answer: 'no',
      heard: [{ etag: 'b' }]
    })
  })

  it('are not sent to callers who do not ask', async () => {
    const from = ends.hub.published.length
    assert.deepEqual(await heardBy(() => ends.client().request('get', undefined)), { answer: 7, heard: [] })
    assert.deepEqual(await heardBy(() => listed()), { answer: [1, 2], heard: [] })
    assert.ok(
      ends.hub.published.slice(from).every(({ words }) => !words.includes('etag') && !words.includes('page'))
    )
  })
})
