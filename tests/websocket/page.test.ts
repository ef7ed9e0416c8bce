/** The client in a real page, under the policy `default-src 'self'`, and its size. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { isMissing, Log, Values } from '@elysia-microservices/test-support'
import { webSocketTransport } from '@elysia-microservices/websocket/testing'
import { answers } from '../conformance/semantics/answers.ts'
import { expectedOn } from '../conformance/semantics/case.ts'
import { handlersService } from '../conformance/semantics/handlers.ts'
import { said } from '../conformance/semantics/live-controller.ts'
import { chromiumMissing, openBrowser } from '../support/browser.ts'
import { bundled } from '../support/bundled.ts'
import { listen, newApp } from '../support/http-app.ts'

/**
 * The most bytes of `connect` with requests, streams, channels, events, reconnecting and resuming, minified and
 * compressed.
 */
const MOST_BYTES = 26 * 1024
/** The most bytes of `isError`, minified and compressed. */
const MOST_OF_ERRORS = 1_024
const POLICY = "default-src 'self'"

interface Seen {
  readonly table: readonly { readonly streamed: object; readonly asked: object }[]
}

describe('the client of a page', () => {
  it('has at most 26 KB', () => {
    const client = `export { connect } from '@elysia-microservices/websocket/client'`
    const { length } = gzipSync(bundled(client, '--minify'), { level: 9 })
    assert.ok(length <= MOST_BYTES, String(length))
  })

  it('is not needed for errors: their entry has no transport, and is small', () => {
    const page = `import { isError } from 'elysia-microservices/errors'
export const isSoldOut = (error) => isError(error, 'SOLD_OUT')`
    const { length } = gzipSync(bundled(page, '--minify'), { level: 9 })
    assert.ok(length <= MOST_OF_ERRORS, String(length))
    const all = gzipSync(bundled(`export * from 'elysia-microservices/errors'`, '--minify'), { level: 9 })
    assert.ok(all.length <= 3 * MOST_OF_ERRORS, String(all.length))
  })

  if (!isMissing('the client of a page', chromiumMissing()))
    it('carries what every transport carries, in Chromium', async () => {
      const script = bundled(`import './page.ts'`)
      const log = new Log()
      said.values = new Values()
      const transport = webSocketTransport(
        (plugin) => {
          const file = (body: string, type: string) =>
            new Response(body, { headers: { 'content-type': type, 'content-security-policy': POLICY } })
          const app = newApp()
            .get('/', () =>
              file('<!doctype html><script type="module" src="/page.js"></script>', 'text/html')
            )
            .get('/page.js', () => file(script, 'text/javascript'))
          return listen(app.use(plugin))
        },
        { limits: { messageSize: 4_000_000, receiveBuffer: 4_000_000 } }
      )
      const service = handlersService(transport, log.logger)
      await service.listen()
      const browser = await openBrowser()
      try {
        const page = await browser.newPage()
        const errors: string[] = []
        page.on('pageerror', ({ message }) => errors.push(message))
        await page.goto(transport.url.replace('/rsocket', '/'))
        const { table, ...rest } = (await page.evaluate('globalThis.outcome')) as Seen
        const where = { name: 'WebSocket', carriage: 'codecs' } as const
        for (const [index, { name, outcome, differs }] of answers.entries()) {
          const { what } = expectedOn(where, 'handlers', outcome, differs)
          const { logs: _, ...expected } = what
          const { streamed, asked } = table[index] as Seen['table'][number]
          assert.deepEqual(streamed, expected, `${name}, by stream()`)
          const isFirst = expected.values.length > 0 || expected.error === undefined
          assert.deepEqual(
            asked,
            isFirst ? { values: [expected.values[0]] } : expected,
            `${name}, by request()`
          )
        }
        assert.deepEqual(rest, {
          many: 1_000,
          stream: 20_000,
          channel: 500_500,
          large: true,
          deadline: 'TimeoutError',
          aborted: 'CanceledError',
          packed: { at: new Date(7), big: 2n ** 60n },
          event: undefined,
          status: 'connected'
        })
        assert.deepEqual(errors, [])
      } finally {
        await browser.close()
        await service.stop()
      }
    })
})
