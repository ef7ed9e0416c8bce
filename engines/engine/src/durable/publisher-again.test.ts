/** Events that nobody confirms, or that are refused for now: they are sent again. */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import { NotStoredError, type Published } from '@elysia-microservices/transport/kit'
import { event } from '../testing/slow-store.ts'
import type { OutgoingEvent, PublisherOptions, Store } from './outgoing-event.ts'
import { Publisher } from './publisher.ts'

/** Milliseconds after which an event without a confirmation is sent again, and a little more for the next look. */
const AGAIN = 5_000
const LOOK = 1_250
/** Milliseconds after which refused events are sent again. */
const PAUSE = 250

let time: VirtualTime
beforeEach(() => {
  time = new VirtualTime()
})
afterEach(() => time[Symbol.dispose]())

type Given = Partial<PublisherOptions> & Pick<Partial<Store<OutgoingEvent>>, 'reopen'>

/** A publisher to an engine that says nothing by itself. `sent`: the ids of events, with the seconds at which they came. */
function publishing({ reopen, ...options }: Given = {}) {
  const began = time.now
  const sent: string[] = []
  const numbers = new Map<string, number>()
  const publisher = new Publisher<OutgoingEvent>({ title: 'test', duplicateWindow: 120_000, ...options })
  const store = {
    isConnected: true,
    maxPayload: 100,
    append({ id }: OutgoingEvent, number: number) {
      sent.push(`${id} ${(time.now - began) / 1_000}`)
      numbers.set(id, number)
    },
    ...(reopen !== undefined && { reopen })
  }
  publisher.attach(store)
  return {
    sent,
    store,
    publisher,
    publish: (id: string, address = 'p') => publisher.publish(event(id, { address, isOwnId: true })),
    confirm: (id: string) => publisher.stored(numbers.get(id) ?? -1, '1', false),
    refuse: (id: string) =>
      publisher.refused(numbers.get(id) ?? -1, new NotStoredError('not now', true), true)
  }
}

describe('an event that nobody confirms', () => {
  it('is sent again when the engine has been silent for 5 s, and not before', async () => {
    const { sent, publish, confirm } = publishing()
    const published = publish('a')
    await time.pass(AGAIN - 1)
    assert.deepEqual(sent, ['a 0'], 'it was sent a second time although the engine may still answer')
    await time.pass(LOOK + 1)
    assert.equal(sent.length, 2, 'it is not sent again')
    confirm('a')
    await published
  })

  it('is waited for as long again after each time it was sent', async () => {
    const { sent, publish, confirm } = publishing()
    const published = publish('a')
    await time.pass(21_000)
    assert.deepEqual(sent, ['a 0', 'a 6.25', 'a 12.5', 'a 18.75'])
    confirm('a')
    await published
  })

  it('is not sent again while the engine answers, however long its queue is', async () => {
    const { sent, publish, confirm } = publishing()
    const all: Promise<Published>[] = []
    for (let n = 0; n < 10; n++) {
      all.push(publish(String(n)))
      await time.pass(2_000)
      if (n > 0) confirm(String(n - 1))
    }
    confirm('9')
    await Promise.all(all)
    assert.equal(sent.length, 10)
  })

  it('is noticed, too, if it is published after a time in which there was nothing to publish', async () => {
    const { sent, publish, confirm } = publishing()
    const first = publish('a')
    confirm('a')
    await first
    await time.pass(60_000)
    assert.equal(time.timers, 0, 'a publisher with nothing to do wakes the process')
    const second = publish('b')
    await time.pass(AGAIN + LOOK)
    assert.deepEqual(sent, ['a 0', 'b 60', 'b 66.25'])
    confirm('b')
    await second
  })

  it('has the address asked for again, because something else may listen there', async () => {
    const asked: string[] = []
    const ensure = async (address: string) => void asked.push(address)
    const { publish, confirm } = publishing({ ensure })
    const published = publish('a')
    await time.pass(AGAIN + LOOK)
    assert.deepEqual(asked, ['p', 'p'])
    confirm('a')
    await published
  })

  it('leaves no timer behind when its publisher is closed', async () => {
    const { publisher, publish } = publishing()
    const closed = assert.rejects(publish('a'), /over/)
    publisher.close(new Error('over'))
    await closed
    assert.equal(time.timers, 0)
  })
})

describe('an event that was sent over a connection that is lost', () => {
  for (const [share, isSent] of [
    [0.79, true],
    [0.8, false]
  ] as const)
    it(`is ${isSent ? '' : 'not '}sent again after ${share} of the window in which its id is known`, async () => {
      const { store, publisher, publish, sent, confirm } = publishing({ duplicateWindow: 10_000 })
      const published = publish('a')
      store.isConnected = false
      await time.pass(share * 10_000)
      store.isConnected = true
      publisher.restored()
      assert.equal(sent.length, isSent ? 2 : 1)
      if (isSent) confirm('a')
      await (isSent ? published : assert.rejects(published, { code: 'CONNECTION', mayHaveRun: true }))
      publisher.close(new Error('over'))
    })
})

describe('another way to the engine', () => {
  it('is opened first, if the engine has one', async () => {
    let openings = 0
    const { sent, publish, confirm } = publishing({ reopen: async () => void openings++ })
    const published = publish('a')
    for (const times of [1, 2]) {
      await time.pass(AGAIN + LOOK)
      assert.deepEqual([openings, sent.length], [times, times + 1])
    }
    confirm('a')
    await published
  })

  it('that cannot be opened leaves the one in use', async () => {
    const { sent, publish, confirm } = publishing({
      reopen: () => Promise.reject(new NotStoredError('blocked, too', true))
    })
    const published = publish('a')
    await time.pass(AGAIN + LOOK)
    assert.equal(sent.length, 2)
    confirm('a')
    await published
  })

  it('is opened once at a time, and again if the connection was lost meanwhile', async () => {
    let openings = 0
    const setting = publishing({
      reopen: () => {
        openings++
        return openings === 1 ? new Promise(() => {}) : Promise.resolve()
      }
    })
    const published = setting.publish('a')
    await time.pass(30_000)
    assert.deepEqual([setting.sent.length, openings], [1, 1])
    setting.publisher.restored()
    await time.pass(AGAIN + LOOK)
    assert.deepEqual([setting.sent.length, openings], [3, 2])
    setting.confirm('a')
    await published
  })

  it('has nothing to send if the engine has answered while it was opened', async () => {
    const { sent, publish, confirm } = publishing({
      reopen: async () => {
        await new Promise((resolve) => setTimeout(resolve, 2_000))
        confirm('a')
      }
    })
    const published = publish('a')
    await time.pass(AGAIN + LOOK + 1_000)
    const second = publish('b')
    await time.settled(published)
    await time.pass(2_000)
    assert.deepEqual(sent, ['a 0', 'b 7.25'], 'one that has just been sent was sent again')
    confirm('b')
    await second
  })
})

describe('an event that is refused for now', () => {
  it('is sent again after a pause, and those of its address behind it; others do not wait', async () => {
    const { sent, publish, refuse, confirm } = publishing()
    const [first, other] = [publish('a'), publish('x', 'q')]
    refuse('a')
    const second = publish('b')
    confirm('x')
    await other
    await time.pass(PAUSE - 1)
    assert.deepEqual(sent, ['a 0', 'x 0'])
    await time.pass(1)
    // Only one, because the engine may refuse it again.
    assert.deepEqual(sent.slice(2), ['a 0.25'])
    confirm('a')
    await first
    await time.pass(0)
    assert.deepEqual(sent.slice(3), ['b 0.25'])
    confirm('b')
    await second
  })

  it('does not come behind one of its address that was sent before the refusal came', async () => {
    const { sent, publish, refuse, confirm } = publishing()
    const all = ['a', 'b'].map((id) => publish(id))
    refuse('a')
    await time.pass(PAUSE)
    // The engine has not told yet what has become of the other one.
    assert.deepEqual(sent, ['a 0', 'b 0'])
    refuse('b')
    await time.pass(PAUSE)
    confirm('a')
    await time.pass(0)
    confirm('b')
    await Promise.all(all)
    assert.deepEqual(
      sent.slice(2).map((one) => one[0]),
      ['a', 'b']
    )
  })

  it('is sent when its store is connected again, and does not say so', async () => {
    const { sent, store, publish, refuse, confirm } = publishing()
    const published = publish('a')
    store.isConnected = false
    refuse('a')
    await time.pass(10_000)
    store.isConnected = true
    await time.pass(LOOK)
    assert.equal(sent.length, 2)
    confirm('a')
    await published
  })
})
