/** What the client tells of its connection, and calls that handlers make. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { firstValueFrom } from 'rxjs'
import { filter } from 'rxjs/operators'
import type { Message } from '../index.ts'
import { newService } from '../testing/service.ts'
import { type ClientEvent, type ClientStatus, connect } from './index.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const echo = () => newService().message('echo', ({ data }: Message<number>) => data)

describe('the status of a client', () => {
  it('is told to each subscriber: that of now, then every change, to its end', async () => {
    const service = echo()
    await service.listen()
    const { port } = service.address!
    const client = connect<typeof service>({ host: '127.0.0.1', port, reconnect: { minDelay: 5 } })
    const seen: ClientStatus[] = []
    const ended = new Promise<void>((resolve) => {
      client.status.subscribe({ next: (status) => seen.push(status), complete: resolve })
    })
    await client.request('echo', 1)
    assert.equal(await firstValueFrom(client.status), 'connected')
    const lost = firstValueFrom(client.status.pipe(filter((status) => status === 'reconnecting')))
    await service.stop()
    await lost
    const again = echo()
    await again.listen({ host: '127.0.0.1', port })
    cleanups.push(() => again.stop())
    assert.equal(await client.request('echo', 2), 2)
    await client.close()
    await ended
    assert.deepEqual(seen, ['disconnected', 'connecting', 'connected', 'reconnecting', 'connected', 'closed'])
    assert.equal(await firstValueFrom(client.status), 'closed')
  })

  it('comes with events, until the listener is taken away', async () => {
    const service = echo()
    await service.listen()
    cleanups.push(() => service.stop())
    const client = connect<typeof service>({ endpoints: [`127.0.0.1:${service.address!.port}`] })
    cleanups.push(() => client.close())
    const events: ClientEvent['type'][] = []
    const stop = client.onEvent(({ type }) => events.push(type))
    await client.request('echo', 1)
    assert.deepEqual(events, ['status', 'connected', 'status'])
    stop()
    await client.close()
    assert.equal(events.length, 3)
  })
})

describe('a call of a handler', () => {
  it('has what is left of the time of its message', async () => {
    const inner = newService().message('left', ({ deadline }: Message<null>) => deadline ?? -1)
    await inner.listen()
    cleanups.push(() => inner.stop())
    const down = connect<typeof inner>({ host: '127.0.0.1', port: inner.address!.port })
    cleanups.push(() => down.close())
    const outer = newService()
      .decorate('down', down)
      .message('left', (message) => message.down.request('left', null, { within: message }))
    await outer.listen()
    cleanups.push(() => outer.stop())
    const client = connect<typeof outer>({ host: '127.0.0.1', port: outer.address!.port })
    cleanups.push(() => client.close())
    const left = await client.request('left', null, { timeout: 4_000 })
    assert.ok(left > 0 && left <= 4_000, String(left))
    assert.equal(await client.request('left', null), -1)
  })
})
