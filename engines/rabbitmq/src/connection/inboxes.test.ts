import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Hearing } from '@elysia-microservices/engine'
import type { DriverChannel } from '../driver.ts'
import { Inboxes } from './inboxes.ts'
import type { Link } from './link.ts'

describe('inboxes', () => {
  it('are unbound before their consumers end, so that nothing is stored in a queue that nobody reads', async () => {
    const asked: string[] = []
    // Answers each command a turn later.
    const channel = new Proxy({} as DriverChannel, {
      get: (_, name) => async () => {
        await new Promise(setImmediate)
        asked.push(String(name))
        return 'tag'
      }
    })
    const link = { open: (setUp: (channel: DriverChannel) => unknown) => setUp(channel) } as unknown as Link
    const inboxes = new Inboxes(link, new Hearing({ failed() {} }))
    await inboxes.open('inbox.', () => {})
    asked.length = 0
    await inboxes.deafen()
    assert.deepEqual(asked, ['unbindQueue', 'cancel'])
    asked.length = 0
    inboxes.lost()
    await inboxes.deafen()
    assert.deepEqual(asked, [], 'nothing is asked over a channel that is lost')
  })
})
