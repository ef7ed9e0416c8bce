/** What the console answers to whom, over real HTTP. */
import assert from 'node:assert/strict'
import { get, type IncomingHttpHeaders, request } from 'node:http'
import { afterEach, describe, it } from 'node:test'
import { type ConsoleOptions, console as consolePage } from '@elysia-microservices/console'
import { Elysia } from 'elysia'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { newApp } from '../support/http-app.ts'
import { until } from '../support/within.ts'
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

/** Asks with headers that `fetch` does not let a program set. */
function ask(url: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const trial = JSON.stringify({ service: 'orders', kind: 'message', pattern: 'echo', data: { a: 1 } })
const fromPage = (url: string) => ({ origin: new URL(url).origin, 'content-type': 'application/json' })

describe('console()', () => {
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
    for (const path of ['', '/page.js', '/page.css', '/updates']) {
      assert.equal((await ask(url + path, { host: 'rebound.test' })).status, 403)
      assert.equal((await ask(url + path, { 'x-forwarded-for': '127.0.0.1' })).status, 403)
      assert.equal((await ask(url + path, { origin: 'http://evil.test' })).status, 403)
    }
    for (const headers of [
      { 'content-type': 'application/json' },
      { 'content-type': 'application/json', origin: 'http://evil.test' },
      { ...fromPage(url), host: 'rebound.test', origin: 'http://rebound.test' }
    ])
      assert.equal((await ask(`${url}/try`, headers, trial)).status, 403)
    const { status, text } = await ask(url, { host: 'rebound.test' })
    assert.deepEqual([status, text.includes('options.hosts')], [403, true])
  })

  it('lets in whom a function lets in, by the names it is given', async () => {
    const hosts = ['ops.test']
    const { url } = await started({ hosts, allow: ({ headers }) => headers.get('x-token') === 'secret' })
    assert.equal((await ask(url)).status, 403)
    assert.equal((await ask(url, { 'x-token': 'secret', host: 'ops.test' })).status, 200)
  })

  it('calls nothing unless it is to be tried', async () => {
    const { url } = await started()
    const { status, text } = await ask(`${url}/try`, fromPage(url), trial)
    assert.deepEqual([status, text.includes('options.try')], [403, true])
  })

  it('calls patterns, and says what is wrong with what it is sent', async () => {
    const { url } = await started({ try: true })
    const { status, text } = await ask(`${url}/try`, fromPage(url), trial)
    assert.equal(status, 200)
    const [first, second] = text.split('\n\n')
    assert.deepEqual(JSON.parse(first!.replace('data: ', '')), { value: '{\n  "a": 1\n}', cut: 0 })
    assert.match(second!, /^event: end/)
    for (const [body, reason] of [
      ['', /not JSON/],
      ['{}', /service and pattern/],
      [trial.replace('orders', 'nobody'), /no such service/],
      [JSON.stringify({ data: 'x'.repeat(1024 * 1024) }), /longer than/]
    ] as const) {
      const refused = await ask(`${url}/try`, fromPage(url), body)
      assert.equal(refused.status, 400)
      assert.match(refused.text, reason)
    }
  })

  it('gives a call up when its page leaves', async () => {
    const { url, ticking } = await started({ try: true })
    const leave = new AbortController()
    const response = await fetch(`${url}/try`, {
      method: 'POST',
      headers: fromPage(url),
      body: trial.replace('echo', 'ticks'),
      signal: leave.signal
    })
    await response.body!.getReader().read()
    assert.equal(ticking(), 1)
    leave.abort()
    await until('the stream is left', () => ticking() === 0)
  })

  it('is no reason for its app not to stop', async () => {
    const client = connect({ transport: memory() })
    const app = newApp().use(new Elysia({ prefix: '/ops' }).use(consolePage({ services: { client } })))
    const port = await new Promise<number>((resolve) =>
      app.listen(0, (server) => {
        const { node } =
          (server as never as { raw?: { node?: { server: { address(): { port: number } } } } }).raw ?? {}
        if (node === undefined) resolve(server.port!)
        else setImmediate(() => resolve(node.server.address().port))
      })
    )
    const response = await new Promise<import('node:http').IncomingMessage>((resolve) =>
      get(`http://127.0.0.1:${port}/ops/console/updates`, resolve)
    )
    assert.equal(response.statusCode, 200)
    const ended = new Promise((resolve) => response.resume().once('close', resolve))
    await app.stop()
    await ended
    await client.close()
  })

  it('refuses options that are none', () => {
    const services = { a: connect({ transport: memory() }) }
    for (const [path, options] of [
      ['options.services', undefined],
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
