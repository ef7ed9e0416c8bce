import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { ConnectionListener } from './connection-event.ts'
import { type DevelopmentTracer, TRACER, tracedSent } from './development-trace.ts'
import type { SentMessage } from './middleware.ts'

describe('a span of a call', () => {
  const ended: unknown[] = []
  const tracer: DevelopmentTracer = {
    begin: () => ({
      headers: {},
      run: (work) => work(),
      end: (...args) => void ended.push(args)
    }),
    headers: (headers) => headers
  }
  const place = globalThis as { [TRACER]?: DevelopmentTracer }
  afterEach(() => {
    delete place[TRACER]
    ended.length = 0
  })

  it('has the server, if its client has only one by the end of the call', async () => {
    place[TRACER] = tracer
    let tell: ConnectionListener = () => {}
    const client = {
      onStatus(listener: ConnectionListener) {
        tell = listener
        return () => {}
      }
    }
    const [middleware] = tracedSent([], client)
    const message = { transport: 'tcp', kind: 'request', pattern: 'a', headers: {} } as SentMessage
    const call = (next: () => unknown) =>
      middleware?.(next)({ ...message, withHeaders: () => message } as SentMessage)
    call(() => 1)
    // The first call connects.
    await call(async () => tell({ type: 'connected', endpoint: 'stock:4000' }))
    const lost = new Error('nobody listens')
    tell({ type: 'endpoints', endpoints: ['stock:4001'] })
    await assert.rejects(async () => call(() => Promise.reject(lost)), lost)
    tell({ type: 'connected', endpoint: 'stock:4002' })
    await call(async () => 1)
    assert.deepEqual(ended, [
      [undefined, undefined],
      [undefined, 'stock:4000'],
      [lost, 'stock:4001'],
      [undefined, undefined]
    ])
  })
})
