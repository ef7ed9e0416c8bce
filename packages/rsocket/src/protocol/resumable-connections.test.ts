/** Tests which connections wait to be resumed, for how long, and which are dropped when too many wait. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { uint24 } from '../testing/rsocket-frames.ts'
import { turn } from '../testing/rsocket-peer.ts'
import { type Resumable, ResumableConnections } from './resumable-connections.ts'
import { ResumeState } from './resume.ts'

const OPTIONS = { window: 1_000, bufferSize: 100_000, waiting: 8, waitingSize: 4_000 }

/** Makes a frame with its length field. */
const frameOf = (size: number) => Buffer.concat([uint24(size), Buffer.alloc(size)])

/** Makes the store of connections, and records the open windows and the reasons for dropped connections. */
function make(options = OPTIONS) {
  const windows: { task: () => void; delay: number }[] = []
  const givenUp: string[] = []
  const connections = new ResumableConnections(
    options,
    (task, delay) => {
      const window = { task, delay }
      windows.push(window)
      return () => windows.splice(windows.indexOf(window), 1)
    },
    (why) => givenUp.push(why)
  )
  return { connections, windows, givenUp }
}

/** A connection that only records its end. */
class FakeConnection implements Resumable {
  readonly state: ResumeState
  readonly reasons: string[] = []
  readonly #connections: ResumableConnections

  constructor(connections: ResumableConnections, name: string, kept = 0) {
    this.#connections = connections
    this.state = new ResumeState(Buffer.from(name), 100_000)
    if (kept > 0) this.state.sent(frameOf(kept))
    connections.add(this.state.token, this)
  }

  wait(address: string): this {
    this.#connections.wait(this.state, this, address)
    return this
  }

  goOn(): void {}

  end(reason?: Error): void {
    this.reasons.push(reason?.message ?? 'no reason')
    this.#connections.forget(this.state.token)
  }
}

describe('connections that can be resumed', () => {
  it('keep as much of what they sent as the options say', () => {
    assert.equal(make().connections.bufferSize, 100_000)
  })

  it('are found by their token, whether they wait or not, until they are over', () => {
    const { connections } = make()
    const one = new FakeConnection(connections, 'one')
    const other = new FakeConnection(connections, 'other').wait('a')
    assert.equal(connections.take(one.state.token), one)
    assert.equal(connections.take(other.state.token), other)
    assert.equal(connections.take(Buffer.from('nobody')), undefined)
    connections.forget(Buffer.from('nobody'))
    connections.forget(one.state.token)
    assert.equal(connections.has(one.state.token), false)
    assert.equal(connections.take(one.state.token), undefined)
    assert.equal(connections.has(other.state.token), true)
  })

  it('end when their window closes, and not when they were resumed or are over before that', () => {
    const { connections, windows } = make()
    const [late, resumed, over] = ['late', 'resumed', 'over'].map((name) =>
      new FakeConnection(connections, name).wait(name)
    ) as [FakeConnection, FakeConnection, FakeConnection]
    assert.deepEqual(
      windows.map(({ delay }) => delay),
      [1_000, 1_000, 1_000]
    )
    connections.take(resumed.state.token)
    connections.forget(over.state.token)
    assert.equal(windows.length, 1)
    windows[0]?.task()
    assert.deepEqual(
      [late, resumed, over].map(({ reasons }) => reasons),
      [['not resumed within 1000 ms'], [], []]
    )
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })

  it('may be lost and resumed any number of times, and count once while they wait', () => {
    const { connections } = make()
    const connection = new FakeConnection(connections, 'token', 10)
    for (let round = 0; round < 5; round++) {
      connection.wait('a')
      assert.deepEqual(connections.waiting, { connections: 1, bytes: 10 })
      connections.take(connection.state.token)
      assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
    }
  })

  it('count once if they begin to wait although they wait already', () => {
    const { connections, windows } = make()
    const connection = new FakeConnection(connections, 'token', 10).wait('a').wait('b')
    assert.deepEqual([connections.waiting, windows.length], [{ connections: 1, bytes: 10 }, 1])
    connections.forget(connection.state.token)
    assert.deepEqual([connections.waiting, windows.length], [{ connections: 0, bytes: 0 }, 0])
  })

  it('count what they keep while they wait, and nothing of what they send once they are resumed', () => {
    const { connections } = make()
    const connection = new FakeConnection(connections, 'token', 10).wait('a')
    connection.state.sent(frameOf(7))
    assert.deepEqual(connections.waiting, { connections: 1, bytes: 17 })
    connections.take(connection.state.token)
    connection.state.sent(frameOf(50))
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })

  it('end with a server that stops, if they wait', () => {
    const { connections } = make()
    const open = new FakeConnection(connections, 'open')
    const waiting = ['a', 'b'].map((name) => new FakeConnection(connections, name).wait(name))
    connections.endWaiting()
    assert.deepEqual(open.reasons, [])
    for (const { reasons } of waiting) assert.deepEqual(reasons, ['the server has stopped'])
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })
})

describe('connections that wait, of one address', () => {
  it('may take a quarter of the places; of more, the one that has waited longest is given up', () => {
    const { connections, givenUp } = make()
    const [first, second, third] = ['1', '2', '3'].map((name) => new FakeConnection(connections, name)) as [
      FakeConnection,
      FakeConnection,
      FakeConnection
    ]
    const other = new FakeConnection(connections, 'other').wait('b')
    // They start to wait in another order than they were made.
    second.wait('a')
    first.wait('a')
    assert.deepEqual(givenUp, [])
    third.wait('a')
    const why =
      '4 connections with 0 bytes wait to be resumed, more than rsocket.resume allows (the address a may have a quarter of that)'
    assert.deepEqual(givenUp, [why])
    assert.deepEqual(
      [first, second, third, other].map(({ reasons }) => reasons),
      [[], [why], [], []]
    )
    assert.deepEqual(connections.waiting, { connections: 3, bytes: 0 })
  })

  it('may take a quarter of the bytes, to the last one', async () => {
    const { connections, givenUp } = make()
    const first = new FakeConnection(connections, '1', 400).wait('a')
    const second = new FakeConnection(connections, '2', 599).wait('a')
    second.state.sent(frameOf(1))
    await turn()
    assert.deepEqual([givenUp, connections.waiting], [[], { connections: 2, bytes: 1_000 }])
    second.state.sent(frameOf(1))
    assert.deepEqual(first.reasons, [], 'what grows may be in the middle of an answer')
    await turn()
    assert.equal(first.reasons.length, 1)
    assert.deepEqual([givenUp.length, connections.waiting], [1, { connections: 1, bytes: 601 }])
  })

  it('begin with nothing again when none is left', () => {
    const { connections, givenUp } = make()
    for (let round = 0; round < 5; round++) {
      const two = ['1', '2'].map((name) => new FakeConnection(connections, name, 500).wait('a'))
      for (const { state } of two) connections.forget(state.token)
    }
    assert.deepEqual(givenUp, [])
  })
})

describe('connections that wait, of all addresses', () => {
  it('are given up from the oldest on where they are too many', () => {
    const { connections, givenUp } = make()
    const all = Array.from({ length: 9 }, (_, n) => new FakeConnection(connections, `${n}`).wait(`${n}`))
    const why = '9 connections with 0 bytes wait to be resumed, more than rsocket.resume allows'
    assert.deepEqual(givenUp, [why])
    assert.deepEqual(
      all.map(({ reasons }) => reasons.length),
      [1, 0, 0, 0, 0, 0, 0, 0, 0]
    )
  })

  it('are given up from the oldest on where they keep too much', () => {
    const { connections, givenUp } = make()
    const all = [1_000, 1_000, 1_000, 1_000, 1].map((size, n) =>
      new FakeConnection(connections, `${n}`, size).wait(`${n}`)
    )
    assert.equal(givenUp.length, 1)
    assert.deepEqual(
      all.map(({ reasons }) => reasons.length),
      [1, 0, 0, 0, 0]
    )
    assert.deepEqual(connections.waiting, { connections: 4, bytes: 3_001 })
  })

  it('leave those in peace that do not wait, and are no longer counted even if their end goes wrong', () => {
    const { connections, givenUp } = make({ ...OPTIONS, waiting: 0 })
    const open = new FakeConnection(connections, 'open')
    let asked = 0
    const stubborn: Resumable = {
      goOn() {},
      end() {
        if (++asked > 1) throw new Error('It was given up already')
      }
    }
    connections.wait(new ResumeState(Buffer.from('token'), 10), stubborn, 'a')
    assert.deepEqual([asked, givenUp.length, open.reasons], [1, 1, []])
    assert.deepEqual(connections.waiting, { connections: 0, bytes: 0 })
  })
})
