/** The console's answers to each kind of user, over HTTP. */
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request } from 'node:http'
import { afterEach, describe, it } from 'node:test'
import { type ConsoleOptions, consolePage } from '@elysia-microservices/console'
import { until } from '@elysia-microservices/test-support'
import { websocket } from '@elysia-microservices/websocket'
import { connect as webClient } from '@elysia-microservices/websocket/client'
import { Elysia } from 'elysia'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { WebSocket } from 'ws'
import { consoleOf } from '../support/console-page.ts'
import { listen, newApp } from '../support/http-app.ts'
import { type Shop, startShop } from './shop.ts'

let shop: Shop | undefined
afterEach(async () => {
  await shop?.stop()
  shop = undefined
})
const started = async (options?: Partial<ConsoleOptions>) => {
  shop = await startShop(options)
  return shop
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Sends a request with headers that `fetch` does not allow a program to set. */
function ask(url: string, headers: Record<string, string> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

const trial = { service: 'orders', kind: 'message', pattern: 'echo', data: { a: 1 } } as const
/** The headers of an upgrade to WebSocket. */
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA=='
}
const all = async <Value>(values: AsyncIterable<Value>): Promise<Value[]> => {
  const read: Value[] = []
  for await (const value of values) read.push(value)
  return read
}

describe('consolePage()', () => {
  it('serves a page, its script and its style, under a policy that allows nothing else', async () => {
    const { url } = await started()
    const page = await ask(url)
    assert.equal(page.status, 200)
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self'/)
    assert.doesNotMatch(String(page.headers['content-security-policy']), /unsafe|\*/)
    const files = [...page.text.matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map(
      ([, file]) => file as string
    )
    assert.deepEqual(files, ['console/page.css', 'console/page.js'])
    for (const file of files) {
      const { status, headers, text } = await ask(new URL(file, url).href)
      assert.equal(status, 200)
      assert.match(headers['content-type']!, /^text\/(css|javascript)/)
      assert.match(text, /MIT|Permission is hereby granted/)
    }
    assert.equal((await ask(`${url}/other`)).status, 404)
  })

  it('refuses names that are not its own, proxies and other pages', async () => {
    const { url } = await started({ try: true })
    const strangers = [
      { host: 'rebound.test' },
      { 'x-forwarded-for': '127.0.0.1' },
      { origin: 'http://evil.test' },
      { host: 'rebound.test', origin: 'http://rebound.test' }
    ] as const
    for (const headers of strangers) {
      for (const path of ['', '/page.js', '/page.css'])
        assert.equal((await ask(url + path, headers)).status, 403)
      const { origin } = new URL(url)
      assert.equal((await ask(`${url}/socket`, { origin, ...UPGRADE, ...headers })).status, 403)
    }
    // Every browser sends the origin of the page in an upgrade.
    assert.equal((await ask(`${url}/socket`, UPGRADE)).status, 403)
    const { status, text } = await ask(url, { host: 'rebound.test' })
    assert.deepEqual([status, text.includes('options.hosts')], [403, true])
  })

  it('lets in users whom the function of the option lets in, and uses the names that it returns', async () => {
    const hosts = ['ops.test']
    const { url } = await started({ hosts, allow: ({ headers }) => headers.get('x-token') === 'secret' })
    assert.equal((await ask(url)).status, 403)
    assert.equal((await ask(url, { 'x-token': 'secret', host: 'ops.test' })).status, 200)
    const { origin } = new URL(url)
    await using stranger = consoleOf(url)
    await assert.rejects(stranger.connect(), { name: 'ConnectionError' })
    await using friend = consoleOf(url, { origin, 'x-token': 'secret' })
    const { value } = await friend.stream('updates').next()
    assert.deepEqual(Object.keys(Object(value)), ['overview'])
  })

  it('checks for each request whether its sender may still open the console', async () => {
    let mayCome = true
    const { url } = await started({ try: true, allow: () => mayCome })
    await using page = consoleOf(url)
    assert.equal((await all(page.stream('try', trial))).length, 1)
    mayCome = false
    await assert.rejects(all(page.stream('try', trial)), { code: 'FORBIDDEN', message: /may not open/ })
    await assert.rejects(page.request('ask.history', { id: 'orders' }), { code: 'FORBIDDEN' })
  })

  it('calls no pattern unless the option allows calls', async () => {
    const { url } = await started()
    await using page = consoleOf(url)
    await assert.rejects(all(page.stream('try', trial)), {
      code: 'BAD_QUESTION',
      message: /option try of console/
    })
  })

  it('calls patterns, and reports errors in the data it is sent', async () => {
    const { url } = await started({ try: true })
    await using page = consoleOf(url)
    assert.deepEqual(await all(page.stream('try', trial)), [{ value: '{\n  "a": 1\n}', cut: 0 }])
    for (const [given, message] of [
      [undefined, /service and pattern/],
      [{}, /service and pattern/],
      [{ ...trial, service: 'nobody' }, /no such service/]
    ] as const)
      await assert.rejects(all(page.stream('try', given as never)), { code: 'BAD_QUESTION', message })
    await assert.rejects(page.request('ask.history', 7), { code: 'BAD_QUESTION', message: /the text id/ })
    await assert.rejects(all(page.stream('try', { ...trial, data: 'x'.repeat(2 * 1024 * 1024) })))
    assert.equal((await all(page.stream('try', trial))).length, 1)
  })

  it('gives no access to its app, and a WebSocket door of the app gives no access to the console', async () => {
    const client = connect({ transport: memory() })
    const inside = microservice({ transport: memory() }).message('updates', () => 'of the app')
    const http = await listen(
      newApp()
        .use(inside)
        .use(websocket({ expose: ['>'] }))
        .use(consolePage({ services: { client } }))
    )
    await using page = consoleOf(`${http.url}/console`)
    const { value } = await page.stream('updates').next()
    assert.deepEqual(Object.keys(Object(value)), ['overview'])
    const user = webClient({ url: `${http.url}/rsocket`, WebSocket })
    assert.equal(await user.request('updates'), 'of the app')
    await assert.rejects(user.request('ask.history', { id: 'client' }), { name: 'PatternNotFoundError' })
    await user.close()
    await http.stop()
    await client.close()
  })

  it('cancels a call when its page is closed', async () => {
    const { url, ticking } = await started({ try: true })
    const page = consoleOf(url)
    await page.stream('try', { ...trial, pattern: 'ticks' }).next()
    assert.equal(ticking(), 1)
    await page.close()
    await until('the stream is left', () => ticking() === 0)
  })

  it('does not keep its app from stopping', async () => {
    const client = connect({ transport: memory() })
    const app = newApp().use(new Elysia({ prefix: '/ops' }).use(consolePage({ services: { client } })))
    const { url } = await listen(app)
    await using page = consoleOf(`${url}/ops/console`)
    const updates = page.stream('updates')
    await updates.next()
    const ended = assert.rejects(all(updates), { name: 'ConnectionError' })
    await app.stop()
    await ended
    await client.close()
  })

  it('refuses invalid options', () => {
    const services = { a: connect({ transport: memory() }) }
    for (const [path, options] of [
      ['options', undefined],
      ['options.services', { services: {} }],
      ['options.services.a', { services: { a: {} } }],
      ['options.path', { services, path: 'console' }],
      ['options.path', { services, path: '/' }],
      ['options.path', { services, path: '/:id' }],
      ['options.try', { services, try: 'yes' }],
      ['options.interval', { services, interval: 1 }],
      ['options.allow', { services, allow: true }],
      ['options.hosts', { services, hosts: 'a' }]
    ] as const)
      assert.throws(() => consolePage(options as never), { path })
  })
})
