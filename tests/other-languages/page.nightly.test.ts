/** The client of Connect for the web, in a real page of another origin. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connectCors, connectRpc } from '@elysia-microservices/connect'
import { isMissing } from '@elysia-microservices/test-support'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { bundled } from '../support/bundled.ts'
import { listen, newApp } from '../support/http-app.ts'
import { newShop, shopProto } from './shop.ts'

/** The headers that Elysia's plugin `cors()` makes of `connectCors`. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': connectCors.methods.join(', '),
  'access-control-allow-headers': connectCors.allowedHeaders.join(', '),
  'access-control-expose-headers': connectCors.exposeHeaders.join(', '),
  'access-control-max-age': String(connectCors.maxAge)
}

describe('a page of another origin', () => {
  if (!isMissing('the client of Connect in a page', chromiumMissing()))
    it('calls methods with each protocol and format', async () => {
      const proto = await shopProto()
      const script = bundled(`import '../other-languages/page.ts'`)
      let left = 0
      const api = await listen(
        newApp()
          .onRequest(({ set }) => void Object.assign(set.headers, CORS))
          .options('/*', () => new Response(null, { status: 204 }))
          .use(newShop(() => void left++))
          .use(connectRpc({ proto }))
      )
      const site = await listen(
        newApp()
          .get('/', () => html('<!doctype html><script type="module" src="/page.js"></script>'))
          .get('/page.js', () => new Response(script, { headers: { 'content-type': 'text/javascript' } }))
          .get('/descriptors', () => new Response(proto.descriptors()))
      )
      const browser = await openBrowser()
      try {
        const page = await browser.newPage()
        const errors: string[] = []
        page.on('pageerror', ({ message }) => errors.push(message))
        await page.goto(`${site.url}/?api=${encodeURIComponent(api.url)}`)
        const outcomes = (await page.evaluate('globalThis.outcome')) as Readonly<Record<string, object>>
        assert.deepEqual(errors, [])
        assert.equal(Object.keys(outcomes).length, 5)
        for (const [name, outcome] of Object.entries(outcomes))
          assert.deepEqual(
            outcome,
            {
              one: { id: 'tea', price: 4 },
              prices: [1, 2, 3],
              read: 1_000,
              error: { code: 5, rawMessage: 'There is no order 0', details: 1 },
              deadline: { code: 4, rawMessage: 'the operation timed out', details: 0 }
            },
            name
          )
        // Each has left a stream, and a call behind its deadline.
        assert.equal(left, 10)
      } finally {
        await browser.close()
        await site.stop()
        await api.stop()
      }
    })
})

function html(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'text/html' } })
}
