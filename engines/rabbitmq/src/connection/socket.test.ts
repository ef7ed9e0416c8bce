import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { ChannelModel } from 'amqplib'
import { destroy, gatherWrites, socketOf, survivesTimeouts, watch, withHeartbeat } from './socket.ts'

const CLOSE = 1_310_760

/** The driver's connection with one open channel, number 3. */
function newConnection() {
  const seen: string[] = []
  let ends = 0
  const buffer = { end: () => void ends++ }
  const connection = {
    channels: [null, null, null, { buffer }] as ({ readonly buffer: typeof buffer } | null)[],
    accept({ channel }: { readonly channel: number }) {
      seen.push(`accept ${channel} ${connection.channels[channel] ? 'open' : 'unknown'}`)
    },
    releaseChannel(channel: number) {
      seen.push(`release ${channel}`)
      connection.channels[channel] = null
    }
  }
  survivesTimeouts({ connection } as unknown as ChannelModel)
  const close = (replyText: string) => {
    const frame = { id: CLOSE, channel: 3, fields: { replyText } }
    connection.accept(frame)
  }
  return { connection, seen, close, ended: () => ends }
}

describe('a channel of RabbitMQ', () => {
  it('that is closed because a handler took too long is closed once, and its number is not used again', () => {
    const { connection, seen, close } = newConnection()
    close(
      'PRECONDITION_FAILED - delivery acknowledgement on channel 3 timed out. Timeout value used: 3000 ms'
    )
    connection.releaseChannel(3)
    close(
      'PRECONDITION_FAILED - delivery acknowledgement on channel 3 timed out. Timeout value used: 3000 ms'
    )
    assert.deepEqual(seen, ['accept 3 open'])
    assert.equal(connection.channels[3], null)
  })

  it('that is closed for a handler is ended inside the driver, and other numbers are used again', () => {
    const { connection, seen, close, ended } = newConnection()
    close('PRECONDITION_FAILED - delivery acknowledgement on channel 3 timed out.')
    connection.channels[4] = connection.channels[3] ?? null
    connection.releaseChannel(3)
    assert.equal(ended(), 1)
    connection.releaseChannel(4)
    assert.deepEqual(seen, ['accept 3 open', 'release 4'])
    // Frames of a channel with a new number are handled.
    connection.accept({ channel: 5 })
    assert.equal(seen.at(-1), 'accept 5 unknown')
  })

  it('that is closed for another reason is handled by the driver alone', () => {
    const { connection, seen, close } = newConnection()
    close('NOT_FOUND')
    connection.releaseChannel(3)
    close('NOT_FOUND')
    assert.deepEqual(seen, ['accept 3 open', 'release 3', 'accept 3 unknown'])
  })
})

describe('the writes of one turn', () => {
  it('go out together at its end', async () => {
    const seen: string[] = []
    const socket = {
      cork: () => seen.push('cork'),
      uncork: () => seen.push('uncork'),
      write: (...args: unknown[]) => seen.push(`write ${args.join()}`)
    }
    gatherWrites(socket as unknown as Socket)
    socket.write('a', 'utf8')
    socket.write('b')
    seen.push('end of turn')
    await new Promise(setImmediate)
    socket.write('c')
    await new Promise(setImmediate)
    const together = ['cork', 'write a,utf8', 'write b', 'end of turn', 'uncork']
    assert.deepEqual(seen, [...together, 'cork', 'write c', 'uncork'])
  })
})

describe('the heartbeat of a connection', () => {
  it('is in its address, in whole seconds and at least one, unless the address has one', () => {
    const heartbeatOf = (url: string, heartbeat: number) =>
      new URL(withHeartbeat(url, heartbeat)).searchParams.getAll('heartbeat')
    assert.deepEqual(heartbeatOf('amqp://a', 10_000), ['10'])
    assert.deepEqual(heartbeatOf('amqp://a/v?frameMax=8192', 2_600), ['3'])
    assert.deepEqual(heartbeatOf('amqp://a', 100), ['1'])
    assert.deepEqual(heartbeatOf('amqp://a?heartbeat=7', 10_000), ['7'])
  })
})

describe('a connection whose server is asked now and then', () => {
  /** A watched connection; `look` is what its timer does. */
  function watched(t: TestContext) {
    const timer = {
      isHeld: true,
      unref: () => {
        timer.isHeld = false
      }
    }
    const every: number[] = []
    let look = () => {}
    t.mock.method(globalThis, 'setInterval', (task: () => void, milliseconds: number) => {
      every.push(milliseconds)
      look = task
      return timer
    })
    const ended: unknown[] = []
    t.mock.method(globalThis, 'clearInterval', (one: unknown) => void ended.push(one))
    const asked: { answer(): void; readonly channel: EventEmitter & { isClosed: boolean } }[] = []
    const destroyed: string[] = []
    const socket = { writableLength: 0, destroy: ({ message }: Error) => destroyed.push(message) }
    const model = Object.assign(new EventEmitter(), {
      createConfirmChannel: () =>
        new Promise((resolve) => {
          const channel = Object.assign(new EventEmitter(), {
            isClosed: false,
            close: async () => {
              channel.isClosed = true
            }
          })
          asked.push({ channel, answer: () => resolve(channel) })
        })
    })
    const state = { isOurs: true }
    watch(model as unknown as ChannelModel, socket as unknown as Socket, 10_000, () => state.isOurs)
    const looks = (count: number) => {
      for (let n = 0; n < count; n++) look()
    }
    return { timer, every, ended, asked, destroyed, socket, model, state, looks }
  }

  it('is closed when the server has not answered twice, and is asked once meanwhile', (t) => {
    const { looks, asked, destroyed, every, timer } = watched(t)
    assert.deepEqual([every, timer.isHeld], [[5_000], false])
    looks(2)
    assert.deepEqual([asked.length, destroyed], [1, []])
    looks(1)
    assert.deepEqual([asked.length, destroyed], [1, ['RabbitMQ no longer reads from this connection']])
  })

  it('stays as long as it is answered, however late, and leaves no channel', async (t) => {
    const { looks, asked, destroyed } = watched(t)
    for (let n = 0; n < 5; n++) {
      looks(2)
      const last = asked.at(-1)
      last?.answer()
      await new Promise(setImmediate)
      assert.equal(last?.channel.isClosed, true)
      last?.channel.emit('error', new Error('The server closes it'))
    }
    assert.deepEqual([asked.length, destroyed], [5, []])
  })

  it('stays while its server says that it has no memory, and counts from then on', (t) => {
    const { looks, model, destroyed } = watched(t)
    model.emit('blocked')
    looks(10)
    assert.deepEqual(destroyed, [])
    model.emit('unblocked')
    looks(2)
    assert.deepEqual(destroyed, [])
    looks(1)
    assert.equal(destroyed.length, 1)
  })

  it('stays while the server reads what is written, and while nobody needs it', (t) => {
    const { looks, socket, state, destroyed } = watched(t)
    for (let n = 0; n < 10; n++) {
      socket.writableLength += 1
      looks(1)
    }
    state.isOurs = false
    looks(10)
    assert.deepEqual(destroyed, [])
    state.isOurs = true
    looks(3)
    assert.equal(destroyed.length, 1)
  })

  it('is asked no more when it has ended', (t) => {
    const { model, ended, timer } = watched(t)
    assert.deepEqual(ended, [])
    model.emit('close')
    assert.deepEqual(ended, [timer])
  })

  it('is destroyed with its socket, if it has one', () => {
    let isDestroyed = false
    const stream = {
      destroy: () => {
        isDestroyed = true
      }
    }
    const model = { connection: { stream } } as unknown as ChannelModel
    assert.equal(socketOf(model), stream as unknown as Socket)
    destroy(model)
    assert.equal(isDestroyed, true)
    destroy(undefined)
  })
})
