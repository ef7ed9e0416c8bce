/** Requests by hand: Connect's JSON as with curl, its rules for errors, deadlines, compression and limits. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { prefixed } from '@elysia-microservices/protobuf/rpc'
import { connectRpc } from './index.ts'
import { TextReader, toText } from './protocol/base64-text.ts'
import { listen, newApp } from './testing/app.ts'
import { envelopes, envelopesIn, messagesIn, postJson, postStream } from './testing/calls.ts'
import { happening } from './testing/happening.ts'
import { readTrailers } from './testing/read-trailers.ts'
import { newSeen, newShop, Orders, withDeadline } from './testing/shop.ts'

const seen = newSeen()
/** The end of a stream, with what its handler sets. */
const END = { metadata: { 'x-cost': ['7'] } }
const started = (options: Partial<Parameters<typeof connectRpc>[0]> = {}) =>
  listen(
    newApp()
      .use(newShop(seen))
      .use(connectRpc({ proto: Orders, ...options }))
  )

/** Resolves when something that handlers tell has come true. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) {
    const changed = happening()
    seen.changed = () => changed.happen(undefined)
    if (!isTrue()) await changed.happened
  }
}

describe('a call with JSON', () => {
  it('is answered with JSON', async () => {
    await using app = await started()
    const { status, headers, body } = await postJson(app.url, 'GetOrder', { id: 'a', prices: [1, 2.5] })
    assert.deepEqual([status, body], [200, { id: 'a', prices: [1, 2.5], number: '7' }])
    assert.equal(headers.get('content-type'), 'application/json')
    assert.ok(headers.has('x-request-id'))
  })

  it('may be a GET if the method has no side effects', async () => {
    await using app = await started()
    const query = `connect=v1&encoding=json&message=${encodeURIComponent('{"id":"ä"}')}`
    const response = await fetch(`${app.url}/shop.v1.Orders/GetOrder?${query}`)
    assert.deepEqual([response.status, await response.json()], [200, { id: 'ä', number: '7' }])
    assert.equal((await fetch(`${app.url}/shop.v1.Orders/Echo?${query}`)).status, 404)
    const wrong = await fetch(`${app.url}/shop.v1.Orders/GetOrder?encoding=json`)
    assert.deepEqual(
      [wrong.status, ((await wrong.json()) as { code: string }).code],
      [400, 'invalid_argument']
    )
  })

  it('reaches the handler with the headers of the request', async () => {
    await using app = await started({
      headers: ({ request }) => ({ 'x-path': new URL(request.url).pathname })
    })
    await postJson(app.url, 'Echo', {}, { 'x-tenant': 'a', 'elysia-group': 'forged', 'x-request-id': 'r1' })
    const { 'x-tenant': tenant, 'x-request-id': id, 'x-path': path, 'elysia-group': forged } = seen.headers
    assert.deepEqual([tenant, id, path, forged], ['a', 'r1', '/shop.v1.Orders/Echo', undefined])
  })

  for (const [id, status, code, message] of [
    ['NOT_FOUND', 404, 'not_found', 'Sold out: 100 %'],
    ['VALIDATION', 400, 'invalid_argument', 'Sold out: 100 %'],
    ['SERVICE_UNAVAILABLE', 503, 'unavailable', 'Sold out: 100 %'],
    ['OUT_OF_STOCK', 409, 'aborted', 'Sold out: 100 %'],
    ['nest', 404, 'not_found', 'by number'],
    ['bug', 500, 'internal', 'Internal server error']
  ] as const)
    it(`whose handler fails has the status ${status}: ${id}`, async () => {
      await using app = await started({ errors: { OUT_OF_STOCK: 'aborted' } })
      const answer = await postJson(app.url, 'Fail', { id })
      assert.deepEqual([answer.status, answer.body.code, answer.body.message], [status, code, message])
      assert.equal(answer.headers.get('content-type'), 'application/json')
      assert.ok(!JSON.stringify(answer.body).includes('secret'))
    })

  it('has the headers and trailers of its handler', async () => {
    await using app = await started()
    const { headers } = await postJson(app.url, 'Echo', {})
    const own = ['x-cache', 'trace-bin', 'trailer-x-cost'].map((name) => headers.get(name))
    assert.deepEqual(own, ['hit', 'AP8', '7'])
    const misset = await postJson(app.url, 'Fail', { id: 'misset' })
    assert.deepEqual([misset.status, misset.headers.get('x-cache')], [500, null])
  })

  it('tells the code and the details of an error', async () => {
    await using app = await started()
    const { body } = await postJson(app.url, 'Fail', { id: 'SOLD_OUT' })
    assert.deepEqual(
      body.details.map((one: { type: string; debug: unknown }) => [one.type, one.debug]),
      [
        ['google.rpc.ErrorInfo', { reason: 'SOLD_OUT', domain: 'elysia-microservices' }],
        ['google.protobuf.Value', { left: 0 }]
      ]
    )
  })

  for (const [body, words] of [
    ['{"id":7}', 'shop.v1.Order'],
    ['{"id":', 'shop.v1.Order'],
    ['', 'shop.v1.Order'],
    ['[]', 'shop.v1.Order'],
    ['"\ud800"', 'shop.v1.Order'],
    [`{"prices":${'['.repeat(50_000)}`, 'shop.v1.Order']
  ] as const)
    it(`is refused if its message cannot be read: ${body.slice(0, 20)}`, async () => {
      await using app = await started()
      const answer = await postJson(app.url, 'Echo', body)
      assert.deepEqual([answer.status, answer.body.code], [400, 'invalid_argument'])
      assert.ok(answer.body.message.includes(words), answer.body.message)
    })

  it('without a handler is unimplemented', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Missing', {})
    assert.deepEqual([status, body.code], [501, 'unimplemented'])
  })

  it('of an unknown content type is refused with those that the method takes', async () => {
    await using app = await started()
    const { status, headers } = await postJson(app.url, 'Echo', {}, { 'content-type': 'text/plain' })
    assert.equal(status, 415)
    assert.ok(headers.get('accept-post')?.startsWith('application/proto, application/json'))
    const stream = await postJson(app.url, 'Watch', {})
    assert.equal(stream.status, 415)
    assert.ok(stream.headers.get('accept-post')?.startsWith('application/connect+proto'))
  })

  it('of another version of Connect is refused', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Echo', {}, { 'connect-protocol-version': '2' })
    assert.deepEqual([status, body.code], [400, 'invalid_argument'])
  })

  it('with streams in both directions needs HTTP/2', async () => {
    await using app = await started()
    const response = await fetch(`${app.url}/shop.v1.Orders/Chat`, {
      method: 'POST',
      body: envelopes({}),
      headers: { 'content-type': 'application/connect+json' }
    })
    assert.equal(response.status, 505)
    assert.match(await response.text(), /HTTP\/2/)
  })

  it('works in apps with aot: false, behind a prefix and beside hooks', async () => {
    const guarded = newApp({ aot: false })
      .onBeforeHandle(({ request, set }) => {
        if (request.headers.has('x-closed')) {
          set.status = 401
          return 'Who are you?'
        }
        return undefined
      })
      .group('/api', (group) => group.use(connectRpc({ proto: Orders })))
      .use(newShop(seen))
    await using app = await listen(guarded)
    assert.deepEqual((await postJson(`${app.url}/api`, 'Echo', { id: 'a' })).body, { id: 'a' })
    const response = await fetch(`${app.url}/api/shop.v1.Orders/Echo`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', 'x-closed': '1' }
    })
    assert.equal(response.status, 401)
  })
})

describe('the deadline of a call', () => {
  it('ends it, and its handler is told', async () => {
    await using app = await started()
    const before = seen.aborted
    await withDeadline(seen, async (milliseconds) => {
      const headers = { 'connect-timeout-ms': String(milliseconds) }
      const { status, body } = await postJson(app.url, 'Wait', {}, headers)
      assert.deepEqual([status, body.code], [504, 'deadline_exceeded'])
    })
    await until(() => seen.aborted > before)
  })

  it('that is over does not begin', async () => {
    await using app = await started()
    const { status } = await postJson(app.url, 'Echo', {}, { 'connect-timeout-ms': '0' })
    assert.equal(status, 504)
  })

  it('ends a stream that has begun', async () => {
    await using app = await started()
    let values: unknown[] = []
    await withDeadline(seen, async (milliseconds) => {
      const headers = { 'connect-timeout-ms': String(milliseconds) }
      const body = envelopes({ id: 'waits', number: 2 })
      const { messages, end } = await postStream(app.url, 'Watch', body, { headers })
      assert.equal(end?.error?.code, 'deadline_exceeded')
      values = messages
    })
    assert.deepEqual(values, [{ id: 'waits0' }, { id: 'waits1' }])
  })

  it('is at most that of the option timeout', async () => {
    await using app = await started({ timeout: 30 })
    for (const headers of [{}, { 'connect-timeout-ms': '60000' }] as Record<string, string>[])
      assert.equal((await postJson(app.url, 'Wait', {}, headers)).status, 504)
  })

  it('that is no time is refused', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Echo', {}, { 'connect-timeout-ms': 'soon' })
    assert.deepEqual([status, body.code], [400, 'invalid_argument'])
  })
})

describe('a stream to the caller', () => {
  it('has its values in envelopes, and its end', async () => {
    await using app = await started()
    const { response, messages, end } = await postStream(
      app.url,
      'Watch',
      envelopes({ id: 'v', number: '3' })
    )
    assert.deepEqual(
      [response.status, response.headers.get('content-type')],
      [200, 'application/connect+json']
    )
    assert.deepEqual([messages, end], [[{ id: 'v0' }, { id: 'v1' }, { id: 'v2' }], END])
  })

  it('has its failure at its end', async () => {
    await using app = await started()
    const { response, messages, end } = await postStream(
      app.url,
      'Watch',
      envelopes({ id: 'fails', number: 1 })
    )
    assert.equal(response.status, 200)
    assert.equal(messages.length, 1)
    assert.equal(end?.error?.code, 'not_found')
  })

  it('is not made ahead of a client that does not read, and ends when it leaves', async () => {
    await using app = await started()
    const before = seen.aborted
    seen.made = 0
    const leaving = new AbortController()
    const response = await fetch(`${app.url}/shop.v1.Orders/Watch`, {
      method: 'POST',
      body: envelopes({ id: 'x'.repeat(10_000), number: 1_000_000 }),
      headers: { 'content-type': 'application/connect+json' },
      signal: leaving.signal
    })
    await response.body?.getReader().read()
    leaving.abort()
    await until(() => seen.aborted > before)
    assert.ok(seen.made < 100_000, `${seen.made} values were made`)
  })

  for (const [name, body, code] of [
    ['no message', new Uint8Array(), 'unimplemented'],
    ['two messages', envelopes({}, {}), 'unimplemented'],
    ['half a message', envelopes({ id: 'a' }).slice(0, 9), 'invalid_argument'],
    ['unknown flags', prefixed(new Uint8Array(), 2), 'invalid_argument'],
    ['a compressed message without the name of its compression', prefixed(gzipSync('{}'), 1), 'internal'],
    ['a message that is no JSON', prefixed(new Uint8Array([123])), 'invalid_argument']
  ] as const)
    it(`is refused for a request with ${name}`, async () => {
      await using app = await started()
      const { response, end } = await postStream(app.url, 'Watch', body)
      assert.deepEqual([response.status, end?.error?.code], [200, code])
    })
})

describe('a call of gRPC-Web as text', () => {
  it('has its request and its answer in base64', async () => {
    await using app = await started()
    // Field 1 (id) is `v`, field 3 (number) is 2.
    const message = Uint8Array.of(0x0a, 1, 0x76, 0x18, 2)
    const response = await fetch(`${app.url}/shop.v1.Orders/Watch`, {
      method: 'POST',
      body: toText(prefixed(message)),
      headers: { 'content-type': 'application/grpc-web-text' }
    })
    assert.equal(response.headers.get('content-type'), 'application/grpc-web-text')
    const text = new TextReader()
    const [one, two, end, ...more] = envelopesIn(text.read(new Uint8Array(await response.arrayBuffer())))
    text.end()
    assert.deepEqual(
      [one, two].map((value) => [...(value?.data ?? [])]),
      [
        [0x0a, 2, 0x76, 0x30],
        [0x0a, 2, 0x76, 0x31]
      ]
    )
    assert.deepEqual([end?.flags, more], [0x80, []])
    assert.equal(readTrailers(end?.data ?? new Uint8Array()).get('grpc-status'), '0')
  })

  it('is refused if it is not base64', async () => {
    await using app = await started()
    const response = await fetch(`${app.url}/shop.v1.Orders/Watch`, {
      method: 'POST',
      body: '*',
      headers: { 'content-type': 'application/grpc-web-text' }
    })
    const [end] = envelopesIn(new TextReader().read(new Uint8Array(await response.arrayBuffer())))
    assert.equal(readTrailers(end?.data ?? new Uint8Array()).get('grpc-status'), '3')
  })
})

describe('a stream from the caller', () => {
  it('is read to its end', async () => {
    await using app = await started()
    const body = envelopes({ id: 'a' }, { id: 'b' }, { id: 'c' })
    const { messages, end } = await postStream(app.url, 'Upload', body)
    assert.deepEqual([messages, end], [[{ id: 'a b c' }], END])
  })

  it('may be answered before it has ended', async () => {
    await using app = await started()
    const { messages } = await postStream(
      app.url,
      'Upload',
      envelopes({ id: 'a' }, { id: 'enough' }, { id: 'b' })
    )
    assert.deepEqual(messages, [{ id: 'a' }])
  })

  it('that breaks off fails the call, and its handler is told', async () => {
    await using app = await started()
    seen.inputError = undefined
    const { end } = await postStream(app.url, 'Upload', envelopes({ id: 'a' }, { id: 'b' }).slice(0, -3))
    assert.equal(end?.error?.code, 'invalid_argument')
    await until(() => seen.inputError !== undefined)
    assert.match(String(seen.inputError), /ends within a message/)
  })

  it('whose deadline passes fails the call, and its handler is told', async () => {
    await using app = await started()
    seen.inputError = undefined
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => controller.enqueue(envelopes({ id: 'a' }))
    })
    const headers = { 'connect-timeout-ms': '300' }
    const leaving = new AbortController()
    const asked = postStream(app.url, 'Upload', body, { headers, duplex: 'half', signal: leaving.signal })
    const answered = asked.catch(() => undefined)
    await until(() => seen.inputError !== undefined)
    assert.match(String(seen.inputError), /has waited for its 300 ms/)
    leaving.abort()
    await answered
  })
})

describe('compression', () => {
  const long = { id: 'a'.repeat(5_000) }

  it('of a request and of its answer is gzip', async () => {
    await using app = await started()
    const response = await fetch(`${app.url}/shop.v1.Orders/Echo`, {
      method: 'POST',
      body: gzipSync(JSON.stringify(long)),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip', 'accept-encoding': 'gzip' }
    })
    assert.deepEqual(await response.json(), long)
  })

  it('of the values of streams is told by their envelopes', async () => {
    await using app = await started()
    const response = await fetch(`${app.url}/shop.v1.Orders/Watch`, {
      method: 'POST',
      body: prefixed(gzipSync(JSON.stringify({ ...long, number: 1 })), 1),
      headers: {
        'content-type': 'application/connect+json',
        'connect-content-encoding': 'gzip',
        'connect-accept-encoding': 'br, gzip'
      }
    })
    assert.equal(response.headers.get('connect-content-encoding'), 'gzip')
    const body = new Uint8Array(await response.arrayBuffer())
    const length = new DataView(body.buffer).getUint32(1)
    assert.equal(body[0], 1)
    assert.deepEqual(JSON.parse(gunzipSync(body.subarray(5, 5 + length)).toString()), { id: `${long.id}0` })
    assert.deepEqual(messagesIn(body.slice(5 + length)), { messages: [], end: END })
  })

  it('of another kind is refused', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Echo', {}, { 'content-encoding': 'br' })
    assert.deepEqual([status, body.code], [501, 'unimplemented'])
  })

  it('that is no gzip is refused', async () => {
    await using app = await started()
    const { status, body } = await postJson(app.url, 'Echo', {}, { 'content-encoding': 'gzip' })
    assert.deepEqual([status, body.code], [400, 'invalid_argument'])
  })

  it('cannot hide a message that is too large', async () => {
    await using app = await started({ limits: { messageSize: 1_000 } })
    const response = await fetch(`${app.url}/shop.v1.Orders/Echo`, {
      method: 'POST',
      body: gzipSync('a'.repeat(1_000_000)),
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    })
    assert.deepEqual(
      [response.status, ((await response.json()) as { code: string }).code],
      [429, 'resource_exhausted']
    )
  })
})

describe('limits', () => {
  it('refuse a message that is too large, with and without its length', async () => {
    await using app = await started({ limits: { messageSize: 1_000 } })
    const { status, body } = await postJson(app.url, 'Echo', { id: 'a'.repeat(1_000) })
    assert.deepEqual([status, body.code], [429, 'resource_exhausted'])
    const chunked = await fetch(`${app.url}/shop.v1.Orders/Echo`, {
      method: 'POST',
      body: new Blob([JSON.stringify({ id: 'a'.repeat(1_000) })]).stream(),
      headers: { 'content-type': 'application/json' },
      duplex: 'half'
    } as RequestInit)
    assert.equal(chunked.status, 429)
    const { end } = await postStream(app.url, 'Watch', envelopes({ id: 'a'.repeat(1_000) }))
    assert.equal(end?.error?.code, 'resource_exhausted')
  })

  it('refuse calls beyond those in flight', async () => {
    await using app = await started({ limits: { inFlight: 1 } })
    const before = seen.aborted
    const waiting = postJson(app.url, 'Wait', {}, { 'connect-timeout-ms': '60000', 'x-call': 'first' })
    await until(() => seen.headers['x-call'] === 'first')
    assert.equal((await postJson(app.url, 'Echo', {})).status, 503)
    await app.stop(true)
    await waiting.catch(() => {})
    await until(() => seen.aborted > before)
  })
})

describe('connectRpc()', () => {
  for (const [options, path] of [
    [{}, 'options.proto'],
    [{ proto: [] }, 'options.proto'],
    [{ proto: [Orders, Orders] }, 'options.proto'],
    [{ proto: Orders, timeout: 0 }, 'options.timeout'],
    [{ proto: Orders, errors: { GONE: 'gone' } }, 'options.errors.GONE'],
    [{ proto: Orders, limits: { messageSize: 0 } }, 'options.limits.messageSize'],
    [{ proto: Orders, limits: { mesageSize: 1 } }, 'options.limits.mesageSize'],
    [{ proto: Orders, path: '/rpc' }, 'options.path']
  ] as const)
    it(`refuses ${Object.keys(options).join(', ')}: ${path}`, () =>
      void assert.throws(() => connectRpc(options as never), { name: 'OptionError', path }))
})
