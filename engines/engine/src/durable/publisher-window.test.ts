/** A publisher keeps the times of its events, their places in its window, and the addresses that it knows. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TimeoutError } from '@elysia-microservices/transport/kit'
import { event, publishing, serve, turn } from '../testing/slow-store.ts'

describe('an event that is published', () => {
  it('ends at its own time, whatever else waits, and is known not to be stored if it was not sent', async () => {
    const { server, publisher } = publishing()
    server.lose()
    const ends: string[] = []
    const all = [60, 5, 30].map((timeout) =>
      publisher.publish(event(String(timeout), { timeout })).catch((error: TimeoutError) => {
        assert.ok(error instanceof TimeoutError)
        ends.push(`${error.message.match(/\d+/)} ${error.mayHaveRun}`)
      })
    )
    await Promise.all(all)
    assert.deepEqual(ends.sort(), ['30 false', '5 false', '60 false'])
    assert.ok(publisher.isIdle)
  })

  it('may be stored if it was sent over a connection that was lost, and cannot be sent again', async () => {
    const { server, publisher } = publishing(async () => {}, 1)
    const published = publisher.publish(event('a'))
    await turn()
    server.lose()
    await new Promise((resolve) => setTimeout(resolve, 5))
    server.isConnected = true
    const uncertain = assert.rejects(published, { name: 'ConnectionError', mayHaveRun: true })
    publisher.restored()
    await uncertain
  })
})

describe('the window of a publisher', () => {
  const MEGABYTE = 1024 * 1024

  it('is whole again after each loss', async () => {
    const { server, publisher } = publishing()
    const published = Array.from({ length: 40 }, (_, n) =>
      publisher.publish(event(String(n), { size: MEGABYTE }))
    )
    await turn()
    assert.equal(server.sent.length, 16)
    for (let losses = 0; losses < 3; losses++) {
      server.lose()
      server.isConnected = true
      publisher.restored()
    }
    // The first one is sent alone, because the engine may refuse it.
    server.store(1)
    server.answer(1)
    await turn()
    assert.equal(server.sent.length, 16)
    await serve(server, published)
    assert.ok(publisher.isIdle)
  })

  it('has room again for each event that is stored, refused or given up', async () => {
    const { server, publisher } = publishing()
    const given = new AbortController()
    const [first, ...rest] = Array.from({ length: 17 }, (_, n) =>
      publisher.publish(event(String(n), { size: MEGABYTE, ...(n === 0 && { signal: given.signal }) }))
    )
    const canceled = assert.rejects(first as Promise<unknown>, { code: 'CANCELED' })
    await turn()
    assert.equal(server.sent.length, 16)
    given.abort()
    await canceled
    await turn()
    assert.equal(server.sent.length, 17)
    server.store(17)
    server.answer(17)
    await Promise.all(rest)
    assert.ok(publisher.isIdle)
  })
})

describe('an address whose stream was deleted', () => {
  it('is asked for again before its next event is sent, and others are not', async () => {
    const asked: string[] = []
    const { server, publisher } = publishing(async (address) => void asked.push(address))
    const at = (address: string, id: string) => publisher.publish(event(id, { address }))
    await serve(server, [at('p', 'a'), at('q', 'b')])
    assert.deepEqual(asked, ['p', 'q'])
    const missed = at('p', 'c')
    await turn()
    const [sent] = server.sent.splice(0)
    publisher.missing(sent?.number as number)
    await serve(server, [missed, at('q', 'd')])
    assert.deepEqual(asked, ['p', 'q', 'p'])
    assert.deepEqual(server.stored.toSorted(), ['a', 'b', 'c', 'd'])
    publisher.close(new Error('over'))
  })
})
