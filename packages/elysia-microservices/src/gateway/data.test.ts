import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { t } from 'elysia'
import { type Message, microservice } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { fetchJson, sending } from '../testing/http-app.ts'
import { defaultData } from './data.ts'
import { gateway } from './index.ts'

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
  .message('echo', ({ data }: Message<unknown>) => (data === undefined ? 'nothing' : data))
  .message('sum', ({ data }: Message<number[]>) => data.reduce((a, b) => a + b, 0))

const http = behindGateway(service, (client) =>
  gateway(client, {
    'GET /echo/:id': 'echo',
    'DELETE /echo/:id': 'echo',
    'GET /echo': 'echo',
    'POST /echo': 'echo',
    'PUT /echo/:id': 'echo',
    'GET /maybe/:id?': 'echo',
    'GET /files/*': 'echo',
    'POST /declared/:id': {
      pattern: 'echo',
      params: t.Object({ id: t.Number() }),
      query: t.Object({ dry: t.Optional(t.Boolean()) }),
      body: t.Object({ name: t.String() })
    },
    'POST /mapped/:id': {
      pattern: 'sum',
      params: t.Object({ id: t.Number() }),
      body: t.Object({ more: t.Array(t.Number()) }),
      data: ({ params, body }) => [params.id, ...body.more]
    },
    'GET /mapped-later': { pattern: 'echo', data: async ({ headers }) => headers['x-name'] }
  })
)

describe('the data a route sends', () => {
  it('is a Uint8Array, as bytes of messages are, for a body of bytes', () => {
    const body = new Uint8Array([1, 2]).buffer
    assert.deepEqual(defaultData('POST', { params: {}, query: {}, body }, false), new Uint8Array([1, 2]))
  })

  for (const [what, path, init, expected] of [
    ['the parameters of the path', '/echo/7', {}, { id: '7' }],
    ['query and parameters of a GET', '/echo/7?a=1&b=x', {}, { a: '1', b: 'x', id: '7' }],
    ['query and parameters of a DELETE', '/echo/7?a=1', { method: 'DELETE' }, { a: '1', id: '7' }],
    ['an empty object for a GET with nothing', '/echo', {}, {}],
    ['what of an optional parameter is there', '/maybe/7', {}, { id: '7' }],
    ['no optional parameter that is not there', '/maybe', {}, {}],
    ['the rest of the path', '/files/a/b.txt', {}, { '*': 'a/b.txt' }],
    ['a body that is an object', '/echo', sending('POST', { a: 1 }), { a: 1 }],
    ['a body that is a list', '/echo', sending('POST', [1, 2]), [1, 2]],
    ['no query of a POST that has no schema for it', '/echo?a=1', sending('POST', { b: 2 }), { b: 2 }],
    ['nothing for a POST without a body', '/echo', { method: 'POST' }, 'nothing'],
    ['body and parameters', '/echo/7', sending('PUT', { a: 1 }), { a: 1, id: '7' }],
    ['parameters over the body', '/echo/7', sending('PUT', { id: '8' }), { id: '7' }],
    ['parameters over the query', '/echo/7?id=8', {}, { id: '7' }],
    [
      'what schemas made of it',
      '/declared/7?dry=true',
      sending('POST', { name: 'a' }),
      { dry: true, name: 'a', id: 7 }
    ],
    ['what the function of the route returns', '/mapped/1', sending('POST', { more: [2, 3] }), 6],
    ['what the function of the route promises', '/mapped-later', { headers: { 'x-name': 'Ada' } }, 'Ada']
  ] as [string, string, RequestInit, unknown][]) {
    it(`is ${what}`, async () => {
      assert.deepEqual(await fetchJson(http.url, path, init), { status: 200, body: expected })
    })
  }

  it('cannot be made of a list and parameters', async () => {
    assert.deepEqual(await fetchJson(http.url, '/echo/7', sending('PUT', [1])), {
      status: 422,
      body: {
        code: 'VALIDATION',
        message: 'body: expected an object',
        details: { path: 'body', expected: 'an object' }
      }
    })
  })

  for (const [path, body, place, expected] of [
    ['/declared/x', { name: 'a' }, 'params.id', 'expected number'],
    ['/declared/1?dry=x', { name: 'a' }, 'query.dry', 'expected boolean'],
    ['/declared/1', { name: 1 }, 'body.name', 'expected string'],
    ['/mapped/1', { more: [1, 'x'] }, 'body.more[1]', 'expected number']
  ] as const) {
    it(`is refused with 422 where it fails a schema: ${place}`, async () => {
      const { status, body: answer } = await fetchJson(http.url, path, sending('POST', body))
      const { code, message, details } = answer as {
        code: string
        message: string
        details: { path: string }
      }
      assert.deepEqual([status, code, details.path], [422, 'VALIDATION', place])
      assert.ok(message.startsWith(`${place}: ${expected}`), message)
    })
  }

  it('is refused with all that is wrong, each place once', async () => {
    const wrong = sending('POST', { more: Array.from({ length: 1000 }, (_, n) => (n === 1 ? 1 : 'x')) })
    const { body } = await fetchJson(http.url, '/mapped/1', wrong)
    const { details } = body as {
      details: { path: string; issues: readonly { path: string; expected: string }[] }
    }
    assert.equal(details.issues.length, 32)
    assert.deepEqual(
      details.issues.slice(0, 2).map(({ path }) => path),
      ['body.more[0]', 'body.more[2]']
    )
    assert.equal(details.issues[0]?.expected, 'number')
    assert.equal(details.path, 'body.more[0]')
  })

  it('is refused with 422 where the body is nested deeper than any service takes it', async () => {
    const body = '['.repeat(50_000) + ']'.repeat(50_000)
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const expected = 'at most 1000 levels of arrays and objects'
    assert.deepEqual(await fetchJson(http.url, '/echo', init), {
      status: 422,
      body: { code: 'VALIDATION', message: `body: expected ${expected}`, details: { path: 'body', expected } }
    })
  })

  it('is refused with 400 where the body cannot be read as its content type', async () => {
    const init = { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }
    assert.deepEqual(await fetchJson(http.url, '/echo', init), {
      status: 400,
      body: { code: 'PARSE', message: 'The body cannot be read as its content type' }
    })
  })
})
