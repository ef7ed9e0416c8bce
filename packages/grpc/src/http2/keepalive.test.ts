/** Peers that are gone without a word, and peers that ask too often whether this side is alive. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClientEnd, ServerEnd } from '../testing/ends.ts'
import { data, headers, ping, REQUEST } from '../testing/frames.ts'
import { Keepalive, type KeptAlive } from './keepalive.ts'

const TIMES = { interval: 1_000, timeout: 100 }

class Connection implements KeptAlive {
  heardAt = 0
  isWanted = true
  pings = 0
  died: Error | undefined
  readonly keepalive = new Keepalive(TIMES, this)

  ping(): void {
    this.pings++
  }

  dead(reason: Error): void {
    this.died = reason
  }
}

describe('keepalive', () => {
  it('asks a peer that is silent, and lets it live if anything comes', () => {
    const connection = new Connection()
    const { keepalive } = connection
    assert.equal(keepalive.next(), 1_000)
    connection.heardAt = 400
    assert.deepEqual([keepalive.look(1_000), connection.pings], [1_400, 0])
    assert.deepEqual([keepalive.look(1_400), connection.pings], [1_500, 1])
    connection.heardAt = 1_450
    assert.deepEqual([keepalive.look(1_500), connection.pings, connection.died], [2_450, 1, undefined])
  })

  it('ends a connection whose peer does not answer', () => {
    const connection = new Connection()
    const { keepalive } = connection
    keepalive.look(1_000)
    assert.deepEqual([keepalive.look(1_050), connection.died], [1_100, undefined])
    assert.equal(keepalive.look(1_100), Number.POSITIVE_INFINITY)
    assert.match(String(connection.died), /keepalive.interval \(1000 ms\).*keepalive.timeout \(100 ms\)/)
    assert.equal(connection.pings, 1)
  })

  it('leaves a peer alone of whom nothing is wanted, but waits for an answer that it has asked for', () => {
    const connection = new Connection()
    const { keepalive } = connection
    connection.isWanted = false
    assert.equal(keepalive.look(5_000), Number.POSITIVE_INFINITY)
    connection.isWanted = true
    assert.equal(keepalive.look(5_000), 5_100)
    connection.isWanted = false
    assert.equal(keepalive.look(5_000), 5_100)
    connection.heardAt = 5_050
    assert.equal(keepalive.look(5_100), Number.POSITIVE_INFINITY)
    assert.deepEqual([connection.pings, connection.died], [1, undefined])
  })

  it('hears every byte', () => {
    const end = new ClientEnd()
    end.time = 70
    end.receives(ping(1))
    assert.equal(end.connection.heardAt, 70)
  })
})

describe('a server that limits PING', () => {
  const pinged = (end: ServerEnd, after: number) => {
    end.time += after
    end.receives(ping(1))
    return end.output.ended === undefined
  }

  it('forgives two that come too early, and tells the client why it ends', () => {
    const end = new ServerEnd({ pings: 1_000 })
    assert.deepEqual(
      [0, 999, 999, 1_000, 0].map((after) => pinged(end, after)),
      [true, true, true, true, false]
    )
    const bytes = Buffer.from(end.output.sent())
    assert.ok(bytes.includes('too_many_pings'))
    assert.match(String(end.output.ended), /more often than limits.pings \(1000 ms\)/)
  })

  it('takes any number at the pace that it allows', () => {
    const end = new ServerEnd({ pings: 1_000 })
    for (let at = 0; at < 100; at++) assert.ok(pinged(end, 1_000))
  })

  it('forgets them when it has sent something: clients measure by them how much they may ask for', () => {
    const end = new ServerEnd({ pings: 1_000 })
    end.onRequest = (stream) => stream.fields([':status', '200'], false)
    end.receives(headers(1, REQUEST, 0))
    for (let at = 0; at < 10; at++) {
      assert.ok(pinged(end, 1))
      assert.ok(pinged(end, 1))
      end.receives(data(1, 'more'))
      end.requests[0]!.stream.data(Buffer.from('answer'), false)
    }
    for (let at = 0; at < 3; at++) assert.ok(pinged(end, 1), `${at}`)
    assert.ok(!pinged(end, 1))
  })

  it('takes any number if there is no limit', () => {
    const end = new ServerEnd()
    for (let at = 0; at < 100; at++) assert.ok(pinged(end, 1))
  })
})
