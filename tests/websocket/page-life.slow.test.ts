/**
 * A page in Chromium whose connection is lost without a notice: the client notices this when the page is active
 * again, and no value is lost.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { websocket } from '@elysia-microservices/websocket'
import { type Message, memory, microservice } from 'elysia-microservices'
import type { Browser, Page } from 'playwright-core'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { bundled } from '../support/bundled.ts'
import { listen, newApp } from '../support/http-app.ts'

const PAGE = `
import { connect } from '@elysia-microservices/websocket/client'
const client = connect({ url: new URL(location.href).searchParams.get('url') })
globalThis.values = []
globalThis.told = []
client.onStatus(({ type, status }) => globalThis.told.push(status ?? type))
globalThis.read = (async () => {
  for await (const value of client.stream('count', 400)) globalThis.values.push(value)
})()`

const SILENT = { error() {}, warn() {} }
const script = bundled(PAGE)

/** Milliseconds for which a page may still receive bytes that its server sent before the network was lost. */
const ON_ITS_WAY = 500
/** Milliseconds until a step counts as failed. Steps have no other time limit. */
const PATIENCE = 120_000

/** A proxy that passes bytes on until it is told to swallow those of its open connections. */
function newProxy(port: number) {
  const swallowed = new WeakSet<net.Socket>()
  const open = new Set<net.Socket>()
  const servers = new WeakSet<net.Socket>()
  const server = net.createServer((near) => {
    const far = net.connect(port, 'localhost')
    servers.add(far)
    for (const [from, to] of [
      [near, far],
      [far, near]
    ] as const) {
      open.add(from)
      from.on('data', (chunk) => {
        if (!swallowed.has(from)) to.write(chunk)
      })
      from.on('error', () => {})
      from.on('close', () => {
        open.delete(from)
        if (!swallowed.has(from)) to.destroy()
      })
    }
  })
  return {
    server,
    swallow(onItsWay = 0) {
      for (const socket of open) {
        if (servers.has(socket)) setTimeout(() => swallowed.add(socket), onItsWay)
        else swallowed.add(socket)
      }
    },
    close() {
      for (const socket of open) socket.destroy()
      server.close()
    }
  }
}

/** Ways in which a page loses its network, each with the event by which the page learns that the network is back. */
const LIVES: Readonly<Record<string, (page: Page, cut: (onItsWay?: number) => void) => Promise<unknown>>> = {
  async 'on another network'(page, cut) {
    await page.context().setOffline(true)
    cut(ON_ITS_WAY)
    await page.context().setOffline(false)
  },
  async 'out of the back/forward cache'(page, cut) {
    await page.evaluate(
      'void addEventListener("pageshow", ({ persisted }) => { globalThis.persisted = persisted })'
    )
    await page.goto(new URL('/away', page.url()).href)
    cut()
    await page.goBack({ waitUntil: 'commit' })
    assert.equal(await page.evaluate('globalThis.persisted'), true)
  },
  async 'seen again'(page, cut) {
    // A headless browser reports every tab as visible, so the state is set here.
    const show = (state: string) =>
      page.evaluate(
        `Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
         document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`
      )
    await show('hidden')
    cut(ON_ITS_WAY)
    await show('visible')
  },
  async 'awake after an hour'(page, cut) {
    cut()
    await page.clock.fastForward(3_600_000)
  },
  async 'seen all the time, within half a minute'(page, cut) {
    cut()
    await page.clock.runFor(30_000)
  }
}

function register(): void {
  let browser: Browser
  before(async () => {
    browser = await openBrowser(['--disable-back-forward-cache'])
  })
  after(() => browser.close())

  for (const [what, live] of Object.entries(LIVES))
    it(`${what}: its client notices that the connection is dead, and its stream has every value once`, async () => {
      const service = microservice({ transport: memory(), logger: SILENT }).message(
        'count',
        async function* ({ data }: Message<number>) {
          for (let n = 0; n < data; n++) {
            await new Promise((resolve) => setTimeout(resolve, 5))
            yield n
          }
        }
      )
      const html = (body: string, type: string) => new Response(body, { headers: { 'content-type': type } })
      const app = await listen(
        newApp()
          .get('/', () => html('<!doctype html><script type="module" src="/page.js"></script>', 'text/html'))
          .get('/away', () => html('<!doctype html>', 'text/html'))
          .get('/page.js', () => html(script, 'text/javascript'))
          .use(service)
          .use(websocket({ expose: ['count'], origins: '*' }))
      )
      const proxy = newProxy(Number(new URL(app.url).port))
      proxy.server.listen(0, '127.0.0.1')
      await once(proxy.server, 'listening')
      const { port } = proxy.server.address() as net.AddressInfo
      const page = await browser.newPage()
      try {
        if (/awake|all the time/.test(what)) await page.clock.install()
        await page.goto(`${app.url}/?url=${encodeURIComponent(`ws://127.0.0.1:${port}/rsocket`)}`)
        await page.waitForFunction('globalThis.values?.length > 20')
        await live(page, proxy.swallow)
        await page.waitForFunction(`globalThis.told.includes('reconnecting')`, undefined, {
          timeout: PATIENCE
        })
        await page.evaluate('globalThis.read')
        const values = (await page.evaluate('globalThis.values')) as number[]
        assert.deepEqual(values, [...Array(400).keys()])
      } finally {
        await page.close()
        proxy.close()
        await app.stop()
        await service.stop()
      }
    })
}

describe('a page that is', () => {
  if (!isMissing('a page that is back', chromiumMissing())) register()
})
