/** A request in parts, as its sender sees it. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import type { Carried, Carrier, Words } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import type { Subject } from '../server/subjects.ts'
import { LOST_AFTER, letterAt, textOf } from '../words.ts'
import { partOf, readPart } from './part.ts'
import { inParts, MARGIN } from './parts.ts'

const REPLY = '_INBOX.me.1'
const ONE = '_INBOX.one.parts'
const OTHER = '_INBOX.other.parts'
/** Bytes of a message, and of the part in it. */
const ROOM = 1024 * 1024
const PART = ROOM - MARGIN - 64

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time[Symbol.dispose]())

function sending() {
  const sent: { readonly address: string; readonly words: Words; readonly rest: readonly unknown[] }[] = []
  let hear: (message: Carried) => void = () => {}
  let take: (subject: Subject, message: Carried) => void = () => {}
  const carrier = {
    everyone: 'everyone',
    isConnected: true,
    maxPayload: ROOM,
    newInbox: () => '_INBOX.parts.',
    isInbox: (address: string) => address.startsWith('_INBOX.'),
    flush: async () => {},
    close: async () => {},
    take: async (_: unknown, receive: typeof take) => {
      take = receive
    },
    listen: (_: string, receive: typeof hear) => {
      hear = receive
    },
    publish: (address: string, words: Words, ...rest: unknown[]) => void sent.push({ address, words, rest })
  }
  const parted = inParts(carrier as unknown as Carrier)
  parted.listen('_INBOX.me.', () => {})
  return {
    parted,
    /** The addresses to which parts have gone since the last look, and the words that are none. */
    sent: () =>
      sent.splice(0).map(({ address, words }) => {
        const isPart = letterAt(words) === '~' && letterAt(words, 1) !== '-'
        return isPart ? address : `${address} ${textOf(words).slice(0, 20)}`
      }),
    firsts: sent,
    /** A message arrives at a subject of the service. */
    arrives: (message: Carried) => take({} as Subject, message),
    /** A service names the address of further parts, and says how many bytes it has. */
    acknowledge: (reply: string, bytes: number, address = REPLY) =>
      hear({ address, words: `~+${bytes}`, reply, headers: undefined })
  }
}

const LARGE = new Uint8Array(10 * PART)
const times = (count: number, address: string) => Array<string>(count).fill(address)

describe('a request in parts', () => {
  it('sends its first part to the service with what belongs to the whole, and the others to who takes them, within 4 MiB', () => {
    const { parted, sent, firsts, acknowledge } = sending()
    parted.publish('orders', LARGE, REPLY, { a: '1' }, 5_000)
    assert.deepEqual(firsts[0]?.rest, [REPLY, { a: '1' }, 5_000])
    assert.deepEqual(sent(), ['orders'])
    acknowledge(ONE, PART)
    // As many as make four megabytes in transit, or a little more.
    assert.deepEqual(sent(), times(5, ONE))
    acknowledge(ONE, PART)
    assert.deepEqual(sent(), [])
    acknowledge(ONE, 3 * PART)
    assert.deepEqual(sent(), times(2, ONE))
    assert.ok(parted.isSending(REPLY))
    acknowledge(ONE, 8 * PART)
    assert.deepEqual(sent(), times(2, ONE))
    assert.equal(parted.isSending(REPLY), false)
  })

  it('goes to one service: a second one is told that no more comes, and so is who asks for a call that is over', () => {
    const { parted, sent, acknowledge } = sending()
    parted.publish('orders', LARGE, REPLY)
    acknowledge(ONE, PART)
    sent()
    acknowledge(OTHER, PART)
    assert.deepEqual(sent(), [`${OTHER} ~-`])
    parted.forget(REPLY)
    acknowledge(ONE, 4 * PART)
    assert.deepEqual(sent(), [`${ONE} ~-`])
  })

  it('takes no word of more than was sent, of no number, or from where no inbox is', () => {
    const { parted, sent, acknowledge } = sending()
    parted.publish('orders', LARGE, REPLY)
    acknowledge('orders.delete', PART)
    acknowledge(ONE, PART + 1)
    acknowledge(ONE, Number.NaN)
    assert.deepEqual(sent(), ['orders'])
    acknowledge(ONE, PART)
    assert.equal(sent().length, 5)
  })

  it('counts as being sent while its service takes parts, and not after 20 s of silence', async () => {
    const { parted, acknowledge } = sending()
    parted.publish('orders', LARGE, REPLY)
    await time.pass(LOST_AFTER - 1)
    assert.ok(parted.isSending(REPLY))
    acknowledge(ONE, PART)
    await time.pass(LOST_AFTER - 1)
    assert.ok(parted.isSending(REPLY), 'a part was taken less than 20 s ago')
    await time.pass(1)
    assert.equal(parted.isSending(REPLY), false)
  })

  it('is one message as long as it fits, with its largest characters counted', () => {
    const { parted, sent } = sending()
    for (const words of [
      'x'.repeat(ROOM - MARGIN),
      'é'.repeat((ROOM - MARGIN) / 2),
      new Uint8Array(ROOM - MARGIN)
    ])
      parted.publish('orders', words, REPLY)
    assert.deepEqual(
      sent().map((one) => one.startsWith('orders ')),
      [true, true, true]
    )
    parted.publish('orders', 'é'.repeat((ROOM - MARGIN) / 2 + 1), REPLY)
    assert.deepEqual(sent(), ['orders'])
  })
})

describe('an answer in parts', () => {
  it('is sent at once: all its parts follow one another', () => {
    const { parted, sent } = sending()
    parted.publish('_INBOX.caller.1', LARGE, 'control.1')
    assert.deepEqual(sent(), times(10, '_INBOX.caller.1'))
    assert.equal(parted.isSending('control.1'), false)
  })
})

describe('a request whose first part arrives', () => {
  it('is assembled here, unless its service says that another one answers it', async () => {
    for (const [answers, isTaken] of [
      [undefined, true],
      [() => true, true],
      [() => false, false]
    ] as const) {
      const { parted, arrives, sent } = sending()
      const received: Words[] = []
      await parted.take([], (_, { words }) => void received.push(words), answers)
      const first = partOf(newSecret(), 0, 9, new Uint8Array(3))
      arrives({ address: 'orders', words: first, reply: '_INBOX.caller.1', headers: undefined })
      await new Promise(setImmediate)
      assert.deepEqual([received.length, sent()], isTaken ? [0, ['_INBOX.caller.1']] : [1, []])
      await parted.close()
    }
  })
})

describe('a part', () => {
  it('is read as it was written', () => {
    const id = newSecret()
    const part = readPart(partOf(id, 7, 1_000, new Uint8Array([1, 10, 3])))
    assert.deepEqual(
      { ...part, bytes: [...(part?.bytes ?? [])] },
      { id, index: 7, size: 1_000, bytes: [1, 10, 3] }
    )
    const text = textOf(partOf(id, 0, 2, new TextEncoder().encode('ab')))
    assert.equal(readPart(text)?.id, id)
    for (const words of [`~${id} 0 0\n`, `~${id} -1 5\nx`, `~${id} 0\nx`, `~${id} 0 5 x`, '~'])
      assert.equal(readPart(words), undefined, words)
  })
})
