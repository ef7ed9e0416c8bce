import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect as connectPage } from '@elysia-microservices/websocket/client'
import { memory } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { WebSocket } from 'ws'
import type { ConsoleService } from './protocol.ts'
import { openConsole } from './standalone.ts'

describe('openConsole', () => {
  it('answers its page, and ends though a page is open', async () => {
    const client = connect({ transport: memory(), logger: { error() {}, warn() {} } })
    const opened = await openConsole({ port: 0, services: { client } })
    class AsPage extends WebSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols, { headers: { origin: new URL(opened.url).origin } })
      }
    }
    const page = connectPage<ConsoleService>({
      url: `${opened.url}/socket`,
      WebSocket: AsPage,
      resume: false
    })
    try {
      const updates = page.stream('updates')
      const { value } = await updates.next()
      assert.deepEqual(Object.keys(Object(value)), ['overview'])
      const ended = assert.rejects(
        async () => {
          for await (const _ of updates);
        },
        { name: 'ConnectionError' }
      )
      await opened.close()
      await ended
    } finally {
      await page.close()
      await client.close()
    }
  })
})
