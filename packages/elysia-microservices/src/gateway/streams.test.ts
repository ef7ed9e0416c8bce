import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { type Message, microservice, RpcError } from '../index.ts'
import { behindGateway } from '../testing/behind-gateway.ts'
import { ask, itUnderBun, listen, newApp } from '../testing/http-app.ts'
import { happening } from '../testing/service.ts'
import { gateway } from './index.ts'

const logged: string[] = []
const logger = { error: () => {}, warn: (message: string) => void logged.push(message) }

const LARGE = 'x'.repeat(64 * 1024)
let produced = 0
let ended = happening()
let release = happening()

const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, logger })
  .message('count', async function* ({ data }: Message<{ to: string }>) {
    for (let n = 1; n <= Number(data.to); n++) yield { n, text: 'two\nlines' }
  })
  // biome-ignore lint/correctness/useYield: it fails before it has a value
  .message('fails at once', async function* (): AsyncGenerator<number> {
    throw new RpcError({ code: 'NOT_FOUND', message: 'There is no such stream' })
  })
  .message('fails later', async function* () {
    yield 1
    throw new RpcError({ code: 'GONE', message: 'No more of it', details: { after: 1 } })
  })
  .message('breaks', async function* () {
    yield 1
    throw new Error('the password is 1234')
  })
  .message('quiet', async function* ({ signal }) {
    try {
      yield 'first'
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    } finally {
      ended.happen()
    }
  })
  .message('late', async function* () {
    await release.happened
    yield 'late'
  })
  .message('large', async function* () {
    try {
      for (;;) {
        produced += 1
        yield LARGE
      }
    } finally {
      ended.happen()
    }
  })
  .message('ping', () => 'pong')

const http = behindGateway(service, (client) =>
  gateway(
    client,
    {
      'GET /count': { stream: 'count', data: ({ query }) => ({ to: query['to'] ?? '0' }) },
      'GET /fails-at-once': { stream: 'fails at once' },
      'GET /fails-later': { stream: 'fails later' },
      'GET /breaks': { stream: 'breaks' },
      'GET /quiet': { stream: 'quiet' },
      'GET /late': { stream: 'late', timeout: 100 },
      'GET /beating': { stream: 'late', heartbeat: 10 },
      'GET /large': { stream: 'large' },
      'GET /ping': 'ping'
    },
    { logger }
  )
)

const END = 'event: end\ndata: null\n\n'

describe('a stream over HTTP', () => {
  it('is one event of JSON for each value, and an event for the end', async () => {
    const response = await fetch(`${http.url}/count?to=2`)
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.equal(response.headers.get('cache-control'), 'no-cache')
    const event = (n: number) => `data: {"n":${n},"text":"two\\nlines"}\n\n`
    assert.equal(await response.text(), event(1) + event(2) + END)
  })

  it('has no body for HEAD, however long it is, and asks the service nothing', async () => {
    const before = produced
    const response = await fetch(`${http.url}/large`, { method: 'HEAD' })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.equal(produced, before)
  })

  it('may have no values', async () => {
    assert.equal(await (await fetch(`${http.url}/count`)).text(), END)
  })

  it('has all values of a long stream in order', async () => {
    const text = await (await fetch(`${http.url}/count?to=2000`)).text()
    const numbers = [...text.matchAll(/"n":(\d+)/g)].map((match) => Number(match[1]))
    assert.deepEqual(
      numbers,
      Array.from({ length: 2000 }, (_, index) => index + 1)
    )
  })

  it('has the status of its error if it fails before the first value', async () => {
    const response = await fetch(`${http.url}/fails-at-once`)
    assert.equal(response.status, 404)
    assert.deepEqual(await response.json(), { code: 'NOT_FOUND', message: 'There is no such stream' })
  })

  it('is a 504 if the first value is not there in time', async () => {
    release = happening()
    const response = await fetch(`${http.url}/late`)
    assert.equal(response.status, 504)
    assert.equal(((await response.json()) as { code: string }).code, 'TIMEOUT')
    release.happen()
  })

  it('ends with an event of the error if it fails after that', async () => {
    const text = await (await fetch(`${http.url}/fails-later`)).text()
    const body = '{"code":"GONE","message":"No more of it","details":{"after":1}}'
    assert.equal(text, `data: 1\n\nevent: error\ndata: ${body}\n\n`)
  })

  it('says nothing of what broke inside the service', async () => {
    const text = await (await fetch(`${http.url}/breaks`)).text()
    const body = '{"code":"INTERNAL","message":"Internal server error"}'
    assert.equal(text, `data: 1\n\nevent: error\ndata: ${body}\n\n`)
  })

  it('sends comments while it is quiet, if the route says so', async () => {
    release = happening()
    const response = await fetch(`${http.url}/beating`)
    const reader = response.body!.getReader()
    const decoder = new TextDecoder()
    let text = ''
    while (!text.endsWith(':\n\n:\n\n')) text += decoder.decode((await reader.read()).value)
    release.happen()
    while (!text.endsWith(END)) text += decoder.decode((await reader.read()).value)
    assert.match(text, /^(:\n\n)+data: "late"\n\nevent: end\ndata: null\n\n$/)
  })
})

describe('a reader of a stream', () => {
  it('ends it at the service by hanging up, even while it is quiet', async () => {
    ended = happening()
    const socket = ask(http.port, 'GET /quiet')
    let text = ''
    while (!text.includes('first')) text += String((await once(socket, 'data'))[0])
    socket.destroy()
    await ended.happened
  })

  it('ends it at the service by leaving the body', async () => {
    ended = happening()
    const controller = new AbortController()
    const response = await fetch(`${http.url}/quiet`, { signal: controller.signal })
    await response.body!.getReader().read()
    controller.abort()
    await ended.happened
  })

  it('that does not read stops the service from making values', async () => {
    ended = happening()
    produced = 0
    const socket = ask(http.port, 'GET /large')
    socket.pause()
    // The loop ends when no value is made while 100 requests are answered: in that time at least one value would be
    // made if the service did not stand still. The sockets in between buffer a few MiB of values.
    let before = -1
    while (produced === 0 || produced !== before) {
      before = produced
      for (let n = 0; n < 100; n++) assert.equal(await (await fetch(`${http.url}/ping`)).json(), 'pong')
      assert.ok(produced * LARGE.length < 256 * 1024 * 1024, `${produced} values were made for nobody`)
    }
    socket.destroy()
    await ended.happened
  })
})

describe('an app with open streams', () => {
  itUnderBun('stops, which ends them without an event for the end', async () => {
    const app = newApp().use(gateway(http.client, { 'GET /quiet': { stream: 'quiet' } }))
    const { url } = await listen(app)
    const reader = (await fetch(`${url}/quiet`)).body!.getReader()
    assert.equal(new TextDecoder().decode((await reader.read()).value), 'data: "first"\n\n')
    ended = happening()
    const stopped = app.stop()
    assert.equal((await reader.read()).done, true)
    await ended.happened
    await stopped
  })
  itUnderBun('stops, and opens no stream any more whose data came late', async () => {
    const asked = happening()
    const data = happening()
    const slow = async () => {
      asked.happen()
      await data.happened
    }
    const app = newApp().use(gateway(http.client, { 'GET /quiet': { stream: 'quiet', data: slow } }))
    const { url } = await listen(app)
    const answered = fetch(`${url}/quiet`)
    await asked.happened
    const stopped = app.stop()
    data.happen()
    assert.equal((await answered).status, 503)
    await stopped
  })
})
