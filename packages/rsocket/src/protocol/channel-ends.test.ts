/** Tests how a channel ends when one of its directions ends first: both ends must learn that the channel has ended. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RpcError } from '@elysia-microservices/transport/kit'
import { frame, route, uint32 } from '../testing/rsocket-frames.ts'
import { outcomeOf, rsocketClient, rsocketServer, turn } from '../testing/rsocket-peer.ts'

const channel = (name: string, data: string) =>
  frame(1, 'REQUEST_CHANNEL', 'M', uint32(10), route(name), data)

/** An input that never ends by itself. */
async function* endless(left: () => void = () => {}) {
  try {
    for (let n = 1; ; n++) yield n
  } finally {
    left()
  }
}

describe('a channel whose answer ends before its input', () => {
  it('is cancelled by the server, whether the answer is a value, a promise or a stream', async () => {
    const server = rsocketServer({
      value: () => 1,
      promise: () => Promise.resolve(1),
      stream: function* () {
        yield 1
      }
    })
    for (const name of ['value', 'promise', 'stream']) {
      const frames = [...server.on(channel(name, '1')), ...(await server.later())]
      assert.equal(frames[0], 'REQUEST_N 1 4')
      assert.equal(frames.at(-1), 'CANCEL 1', name)
      assert.equal(frames.filter((text) => text.startsWith('CANCEL')).length, 1)
    }
  })

  it('is ended by the error of the answer alone, which closes both directions', async () => {
    const server = rsocketServer({
      fails: () => {
        throw new RpcError('no')
      },
      rejects: () => Promise.reject(new RpcError('no')),
      unencodable: () => 1n,
      unencodableValue: function* () {
        yield 1n
      }
    })
    for (const name of ['fails', 'rejects', 'unencodable', 'unencodableValue']) {
      const frames = [...server.on(channel(name, '1')), ...(await server.later())]
      assert.deepEqual(
        frames.map((text) => text.split(' ')[0]),
        ['REQUEST_N', 'ERROR'],
        name
      )
    }
  })

  it('ends for a handler that still reads it', async () => {
    const read: unknown[] = []
    let over = () => {}
    const ended = new Promise<void>((resolve) => {
      over = resolve
    })
    const server = rsocketServer({
      early: ({ data }) => {
        const reading = async () => {
          for await (const value of data as AsyncIterable<unknown>) read.push(value)
          over()
        }
        void reading()
        return turn()
      }
    })
    server.on(channel('early', '1'))
    await ended
    assert.deepEqual(read, [1])
  })

  it('is not cancelled after an ERROR, which ends both directions, nor when the input has ended', async () => {
    const server = rsocketServer({
      fail: () => Promise.reject(new Error('bug')),
      odd: () => () => 1,
      sum: async ({ data }) => {
        let total = 0
        for await (const value of data as AsyncIterable<number>) total += value
        return total
      }
    })
    server.on(channel('fail', '1'))
    assert.match((await server.later()).join(), /^ERROR 1 0x201 [^C]*$/)
    // A value that cannot be encoded also causes an ERROR, so no CANCEL follows either.
    assert.match(server.on(channel('odd', '1')).join(), /^REQUEST_N 1 4,ERROR 1 0x201 [^C]*$/)
    server.on(channel('sum', '1'))
    assert.deepEqual(server.on(frame(1, 'PAYLOAD', 'C')), [])
    assert.deepEqual(await server.later(), ['PAYLOAD 1 CN 1'])
  })

  it('is cancelled by the client, whose input is given up', async () => {
    const client = rsocketClient()
    let left = false
    const input = endless(() => {
      left = true
    })
    const outcome = outcomeOf(client.caller.request('sum', input))
    await turn()
    assert.deepEqual(client.on(), ['REQUEST_CHANNEL 1 M n=1 {sum} 1'])
    assert.deepEqual(client.on(frame(1, 'PAYLOAD', 'NC', '7')), ['CANCEL 1'])
    await turn()
    assert.deepEqual([outcome, left], [['7'], true])
  })

  it('is not cancelled by the client when its input has ended, or was cancelled', async () => {
    const client = rsocketClient()
    const one = function* () {
      yield 1
    }
    void client.caller.request('sum', one())
    assert.deepEqual(await client.later(), ['REQUEST_CHANNEL 1 M n=1 {sum} 1'])
    const frames = [...client.on(frame(1, 'REQUEST_N', 0, uint32(5))), ...(await client.later())]
    assert.deepEqual(frames, ['PAYLOAD 1 C'])
    assert.deepEqual(client.on(frame(1, 'PAYLOAD', 'NC', '7')), [])
    void client.caller.request('sum', endless())
    await client.later()
    client.on(frame(3, 'CANCEL', 0))
    assert.deepEqual(client.on(frame(3, 'PAYLOAD', 'NC', '7')), [])
  })
})

describe('a channel whose input fails', () => {
  it('fails at both ends, and the log of the client says what has failed', async () => {
    const logged: unknown[][] = []
    const logger = { error: (...all: unknown[]) => void logged.push(all), warn() {} }
    const client = rsocketClient({ logger })
    const failure = new Error('of the source')
    const broken = function* () {
      yield 1
      throw failure
    }
    const outcome = outcomeOf(client.caller.request('sum', broken()))
    await client.later()
    const frames = [...client.on(frame(1, 'REQUEST_N', 0, uint32(5))), ...(await client.later())]
    assert.deepEqual(frames, ['ERROR 1 0x201 {"code":"INTERNAL","message":"Internal server error"}'])
    assert.deepEqual(outcome, ['Error'])
    assert.deepEqual(logged, [["The input of the channel 'sum' failed", failure]])
  })
})
