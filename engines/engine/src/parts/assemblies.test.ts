import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { Carried, Words } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { LOST_AFTER, MAX_MESSAGE, textOf } from '../words.ts'
import { Assemblies } from './assemblies.ts'
import { NO_MORE, partOf } from './part.ts'

/** Messages in parts that arrive at one connection. */
class Setting {
  readonly acknowledged: string[] = []
  readonly delivered: Carried[] = []
  /** Where further parts of requests are awaited. */
  more = ''
  #listen: (message: Carried) => void = () => {}
  readonly carrier = {
    isConnected: true,
    newInbox: () => '_INBOX.parts.',
    listen: (_address: string, receive: (message: Carried) => void) => {
      this.#listen = receive
    },
    flush: async () => {},
    publish: (address: string, words: Words, reply = '') => {
      this.acknowledged.push(`${address} ${textOf(words)}`)
      this.more = reply
    }
  }
  readonly assemblies = new Assemblies(this.carrier)
  readonly #deliver = (message: Carried) => void this.delivered.push(message)

  /** The first part of a request, which arrives at a service. */
  async begin(words: Uint8Array, reply = 'caller.1', headers?: Carried['headers']): Promise<void> {
    this.assemblies.begin({ address: 'p', words, reply, headers }, this.#deliver)
    await turn()
  }

  async continue(words: Uint8Array | string): Promise<void> {
    this.#listen({ address: this.more, words, reply: '', headers: undefined })
    await turn()
  }

  /** A part of an answer, which arrives at an inbox. */
  add(words: Uint8Array, reply: string): void {
    this.assemblies.add({ address: 'inbox.1', words, reply, headers: undefined }, this.#deliver)
  }
}

const bytes = (text: string) => new TextEncoder().encode(text)

describe('a message in parts', () => {
  it('is whole when all of them have come, each of which is acknowledged, and holds nothing then', async () => {
    const setting = new Setting()
    const id = newSecret()
    await setting.begin(partOf(id, 0, 6, bytes('ab')))
    await setting.continue(partOf(id, 1, 6, bytes('cd')))
    assert.deepEqual(setting.acknowledged, ['caller.1 ~+2', 'caller.1 ~+4'])
    assert.ok(setting.assemblies.size.current > 0)
    await setting.continue(partOf(id, 2, 6, bytes('ef')))
    const [message] = setting.delivered
    assert.deepEqual([textOf(message?.words ?? ''), message?.reply], ['abcdef', 'caller.1'])
    assert.equal(setting.assemblies.size.current, 0)
  })

  it('keeps its bytes, though they lie in memory that the socket uses again', async () => {
    const setting = new Setting()
    const id = newSecret()
    const first = partOf(id, 0, 4, bytes('ab'))
    await setting.begin(first)
    first.fill(0)
    await setting.continue(partOf(id, 1, 4, bytes('cd')))
    assert.equal(textOf(setting.delivered[0]?.words ?? ''), 'abcd')
  })

  it('that is an answer has the reply address of its last part, which tells its number', () => {
    const setting = new Setting()
    const id = newSecret()
    setting.add(partOf(id, 0, 4, bytes('ab')), 'control.1')
    setting.add(partOf(id, 1, 4, bytes('cd')), 'control.2')
    assert.deepEqual([setting.delivered.length, setting.delivered[0]?.reply], [1, 'control.2'])
  })

  it('is dropped when its caller says that no more parts follow', async () => {
    const setting = new Setting()
    await setting.begin(partOf(newSecret(), 0, 4, bytes('ab')))
    let isOver = false
    const ended = setting.assemblies.ended().then(() => {
      isOver = true
    })
    await turn()
    assert.equal(isOver, false)
    await setting.continue(NO_MORE)
    await ended
    assert.deepEqual([setting.delivered, setting.assemblies.size.current], [[], 0])
  })

  it('is lost after more than 20 s without a part, but not while its server is away', async () => {
    using time = new VirtualTime()
    const setting = new Setting()
    const id = newSecret()
    await setting.begin(partOf(id, 0, 6, bytes('ab')))
    await time.pass(LOST_AFTER)
    // A part is a sign of life.
    await setting.continue(partOf(id, 1, 6, bytes('cd')))
    await time.pass(LOST_AFTER)
    assert.equal(setting.delivered.length, 0)
    setting.carrier.isConnected = false
    await time.pass(LOST_AFTER)
    assert.equal(setting.delivered.length, 0, 'its parts cannot come')
    setting.carrier.isConnected = true
    await time.pass(LOST_AFTER / 2)
    assert.match(setting.delivered[0]?.refusal?.message ?? '', /A part of a message was lost/)
    await time.pass(LOST_AFTER)
    assert.deepEqual([setting.delivered.length, setting.assemblies.size.current, time.timers], [1, 0, 0])
  })

  it('is missed 30 s after its last part at the latest', async () => {
    using time = new VirtualTime()
    const setting = new Setting()
    await setting.begin(partOf(newSecret(), 0, 6, bytes('ab')))
    await time.pass(1.5 * LOST_AFTER)
    assert.equal(setting.delivered.length, 1)
    assert.equal(time.timers, 0)
  })

  it('is refused if a part is missing, comes for another message, or is more than was announced', async () => {
    for (const [index, size, text, reason] of [
      [2, 4, 'cd', /lost/],
      [1, 5, 'cd', /lost/],
      [1, 4, '', /does not match/],
      [1, 4, 'cde', /does not match/]
    ] as const) {
      const setting = new Setting()
      const id = newSecret()
      await setting.begin(partOf(id, 0, 4, bytes('ab')))
      await setting.continue(partOf(id, index, size, bytes(text)))
      assert.match(setting.delivered[0]?.refusal?.message ?? '', reason)
      assert.equal(setting.assemblies.size.current, 0)
      setting.assemblies.close()
    }
  })

  it('is not harmed by a part that comes twice', async () => {
    const setting = new Setting()
    const id = newSecret()
    await setting.begin(partOf(id, 0, 6, bytes('ab')))
    for (const index of [1, 0, 1])
      await setting.continue(partOf(id, index, 6, bytes(index === 0 ? 'ab' : 'cd')))
    await setting.continue(partOf(id, 2, 6, bytes('ef')))
    assert.deepEqual(
      setting.delivered.map(({ words }) => textOf(words)),
      ['abcdef']
    )
  })

  it('is refused if it does not begin with its first part, or is larger than a message may be', async () => {
    const setting = new Setting()
    await setting.begin(partOf(newSecret(), 1, 4, bytes('cd')))
    await setting.begin(partOf(newSecret(), 0, MAX_MESSAGE + 1, bytes('ab')))
    assert.deepEqual(
      setting.delivered.map(({ refusal }) => refusal?.name),
      ['ConnectionError', 'PayloadTooLargeError']
    )
    await setting.begin(partOf(newSecret(), 0, MAX_MESSAGE, bytes('ab')))
    assert.equal(setting.delivered.length, 2)
    setting.assemblies.close()
  })
})

describe('requests in parts of which there are too many', () => {
  /** Counts 8 MiB, and takes no memory of its own. */
  const headers = { large: 'x'.repeat(4 * 1024 * 1024) }
  /** As much as must come in 3 s. */
  const PART = new Uint8Array(3 * 64 * 1024)
  async function fill(setting: Setting, from: number, to: number): Promise<void> {
    for (let n = from; n < to; n++)
      await setting.begin(partOf(newSecret(), 0, MAX_MESSAGE, PART), `_INBOX.caller${n}.1`, headers)
  }

  it('are refused, unless some arrive so slowly that those make room, the oldest first', async () => {
    using time = new VirtualTime()
    const setting = new Setting()
    const refused = () => setting.delivered.splice(0).map(({ reply, refusal }) => `${reply} ${refusal?.name}`)
    await fill(setting, 0, 31)
    assert.deepEqual(refused(), [])
    await fill(setting, 31, 32)
    assert.deepEqual(refused(), ['_INBOX.caller31.1 RejectedError'])
    await time.pass(3_000)
    await fill(setting, 32, 33)
    assert.deepEqual(refused(), ['_INBOX.caller32.1 RejectedError'], 'one that was quick enough was refused')
    await time.pass(200)
    await fill(setting, 33, 34)
    assert.deepEqual(refused(), ['_INBOX.caller0.1 RejectedError'])
    setting.assemblies.close()
    assert.deepEqual([setting.assemblies.size.current, time.timers], [0, 0])
  })

  it('are refused sooner if they are of one caller', async () => {
    const setting = new Setting()
    for (let n = 0; n < 8; n++)
      await setting.begin(partOf(newSecret(), 0, MAX_MESSAGE, PART), `_INBOX.caller.${n}`, headers)
    assert.deepEqual(
      setting.delivered.map(({ reply }) => reply),
      ['_INBOX.caller.7']
    )
    await fill(setting, 0, 1)
    assert.equal(setting.delivered.length, 1)
    setting.assemblies.close()
  })
})
