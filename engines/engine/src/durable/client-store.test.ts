/** Publishing over a store: the event that is made of what the user gives, and the connection that it waits for. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import {
  type DeadLetters,
  type FutureEvents,
  GROUPS,
  ManualClock,
  type PublishOptions
} from '@elysia-microservices/transport/kit'
import {
  type EventContent,
  type EventHead,
  noBacklog,
  PublishingStore,
  unknownGroup
} from './client-store.ts'
import type { OutgoingEvent } from './outgoing-event.ts'
import type { StoreConnection } from './store-engine.ts'

interface Made {
  readonly head: EventHead
  readonly content: EventContent
}

class ShopStore extends PublishingStore<StoreConnection, OutgoingEvent> {
  protected override readonly clock = new ManualClock(1_000)
  readonly made: Made[] = []
  connects = 0

  constructor(refusal?: Error) {
    super(
      {
        engine: {
          name: 'shop',
          title: 'SHOP',
          where: 'shop:1',
          whyNot: () => undefined,
          open: () => assert.fail()
        },
        context: { logger: { error() {}, warn() {} }, timeout: 1_000, dispatcher: undefined },
        connect: async () => {
          this.connects++
          if (refusal !== undefined) throw refusal
          return assert.fail('no connection is made here')
        },
        halted: () => undefined
      },
      { duplicateWindow: 1_000 }
    )
  }

  attach(): void {
    this.publisher.attach({
      isConnected: true,
      maxPayload: 1_000,
      append: (_, number) => queueMicrotask(() => this.publisher.stored(number, String(number), true))
    })
  }

  get isAttached(): boolean {
    return this.publisher.isAttached
  }

  deadLetters(): DeadLetters {
    return assert.fail()
  }

  async hasGroup(): Promise<boolean> {
    return false
  }

  async pauseGroup(): Promise<void> {}

  protected outgoing(head: EventHead, content: EventContent): OutgoingEvent {
    this.made.push({ head, content })
    return { ...head, size: 10 }
  }
}

class FutureStore extends ShopStore {
  override readonly future = {} as FutureEvents
}

function opened(store = new ShopStore()): ShopStore {
  store.attach()
  return store
}

describe('an event that is published', () => {
  it('has its data, key and headers, the time to publish it, and the id that was given or one of its own', async () => {
    const store = opened()
    const options = { id: 'a', key: 'k', headers: { x: '1' }, timeout: 50 }
    assert.deepEqual(await store.publish({ cmd: 'p' }, { n: 1 }, options), {
      ...{ id: 'a', position: '0', duplicate: true }
    })
    const published = [await store.publish('p', undefined), await store.publish('p', 1, { timeout: false })]
    assert.deepEqual(
      published.map(({ duplicate }) => duplicate),
      [false, false],
      'only this publisher has its own ids'
    )
    const [given, own, patient] = store.made as [Made, Made, Made]
    const { id, isOwnId, timeout, pattern, ...rest } = given.head
    assert.deepEqual([id, isOwnId, timeout, 'due' in rest], ['a', false, 50, false])
    assert.deepEqual([pattern, given.content.key, given.content.headers], ['{"cmd":"p"}', 'k', { x: '1' }])
    assert.deepEqual(
      [given.content.json, given.content.packet],
      ['{"n":1}', '{"pattern":{"cmd":"p"},"data":{"n":1}}']
    )
    assert.deepEqual([own.head.isOwnId, own.head.timeout, own.content.json], [true, 1_000, undefined])
    assert.deepEqual([own.head.id === patient.head.id, patient.head.timeout], [false, 0])
  })

  it('has the time from which on it is delivered, if its store keeps events until then', async () => {
    using time = new VirtualTime()
    const store = opened(new FutureStore())
    for (const options of [{ delay: 500 }, { at: new Date(2_000) }]) await store.publish('p', 1, options)
    const [delayed, timed] = store.made as [Made, Made]
    assert.deepEqual([delayed.head.due, delayed.head.steadyDue], [1_500, time.now + 500])
    assert.deepEqual([timed.head.due, timed.head.steadyDue], [2_000, undefined])
    await assert.rejects(opened().publish('p', 1, { delay: 500 }), { name: 'OptionError', message: /SHOP/ })
  })

  it('for some groups only says so in a header, beside its own', async () => {
    const store = opened()
    await store.publish('p', 1, { headers: { x: '1' }, [GROUPS]: ['billing'] } as PublishOptions)
    const headers = store.made[0]?.content.headers ?? {}
    assert.equal(headers['x'], '1')
    assert.match(JSON.stringify(headers), /billing/)
  })

  it('that cannot be written is refused at once, and needs no connection', async () => {
    const store = new ShopStore()
    await assert.rejects(store.publish('p', 1n), { name: 'OptionError' })
    await assert.rejects(store.publish('p', 1, { id: 5 as never }), { name: 'OptionError' })
    assert.equal(store.connects, 0)
  })

  it('connects, and fails with the reason if that cannot be', async () => {
    const refusal = new Error('nobody there')
    const store = new ShopStore(refusal)
    await assert.rejects(store.publish('p', 1), refusal)
    assert.equal(store.connects, 1)
    store.attach()
    await store.publish('p', 1)
    assert.equal(store.connects, 1)
    store.detach()
    assert.equal(store.isAttached, false)
    await assert.rejects(store.publish('p', 1), refusal)
  })

  it('fails when its client is closed', async () => {
    const store = opened()
    store.close(new Error('sent'), new Error('unsent'))
    await assert.rejects(store.publish('p', 1), /unsent/)
  })
})

it('a store that cannot show what waits, or does not know a group, says so', () => {
  assert.throws(() => opened().backlog('g'), {
    path: 'group.backlog',
    message:
      /wait for 'g' cannot be shown: SHOP cannot be read beside its handlers\. Their number is in the figures/
  })
  assert.match(noBacklog('g', 'no').message, /cannot be shown: no\. /)
  assert.match(unknownGroup('g', 'here').message, /^There is no group 'g' here: a group is created/)
})
