/**
 * Events for a service that is slower than its caller: a caller that awaits each event is slowed down, a caller that
 * does not gets an error, and no event is lost.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { OverloadedError } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { ServerProcess } from '../support/server-process.ts'

const KB = 1024
const EVENT = 'x'.repeat(20 * KB)
const COUNT = 1_500
/** A twentieth of what is sent: the events fit only if the caller is slowed down. */
const SEND_BUFFER = 1.5 * KB * KB

for (const protocol of ['rsocket', 'nest'] as const) {
  describe(`emit to a slow service, protocol ${protocol}`, () => {
    const server = new ServerProcess({
      program: 'faults/slow-service',
      arguments: (port) => [String(port), '0.2']
    })
    before(() => server.start())
    after(() => server.stop('SIGTERM'))

    const open = () =>
      connect({ transport: 'tcp', port: server.port, protocol, limits: { sendBuffer: SEND_BUFFER } })
    /** Waits until all events are handled: a connection handles its messages in order. @returns their number */
    const handled = (client: ReturnType<typeof open>) =>
      client.request<number>('events', null, { timeout: false })

    it('loses none whose caller awaits them one by one', async () => {
      const client = open()
      const before = await handled(client)
      for (let n = 0; n < COUNT; n++) await client.emit('slow', EVENT)
      assert.equal((await handled(client)) - before, COUNT)
      assert.equal(client.status, 'connected')
      await client.close()
    })

    it('refuses events that nobody awaits before they fill up the connection', async () => {
      const client = open()
      const before = await handled(client)
      const events = Array.from({ length: COUNT }, () => client.emit('slow', EVENT))
      const outcomes = await Promise.allSettled(events)
      const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
      assert.ok(failures.length > 0)
      for (const failure of failures)
        assert.ok(failure instanceof OverloadedError && !failure.mayHaveRun, String(failure))
      assert.equal((await handled(client)) - before, COUNT - failures.length)
      await client.close()
    })

    it('lets other work run before all events are handled', async () => {
      const client = open()
      const size = KB
      const before = await handled(client)
      for (let n = 0; n < 2 * COUNT; n++) await client.emit('slow', EVENT.slice(0, size))
      assert.equal((await handled(client)) - before, 2 * COUNT)
      const most = await client.request<number>('mostInTurn', null)
      // A connection yields to other work after 256 KB; runtimes read up to 512 KB at once.
      assert.ok(most <= (256 + 512) * (KB / size), `${most} events in a turn`)
      await client.close()
    })
  })
}
