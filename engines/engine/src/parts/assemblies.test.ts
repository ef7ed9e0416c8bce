import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Carried } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { textOf } from '../words.ts'
import { Assemblies } from './assemblies.ts'
import { NO_MORE, partOf } from './part.ts'

/** Messages in parts that arrive at one connection. */
class Setting {
  readonly acknowledged: string[] = []
  readonly delivered: Carried[] = []
  /** Where further parts of requests are awaited. */
  more = ''
  #listen: (message: Carried) => void = () => {}
  readonly assemblies = new Assemblies({
    isConnected: true,
    newInbox: () => '_INBOX.parts.',
    listen: (_address, receive) => {
      this.#listen = receive
    },
    flush: async () => {},
    publish: (address, words, reply = '') => {
      this.acknowledged.push(`${address} ${textOf(words)}`)
      this.more = reply
    }
  })
  readonly #deliver = (message: Carried) => void this.delivered.push(message)

  /** The first part of a request, which arrives at a service. */
  async begin(words: Uint8Array, reply = 'caller.1'): Promise<void> {
    this.assemblies.begin({ address: 'p', words, reply, headers: undefined }, this.#deliver)
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
})
