/** The client of a store over connections that tests lose and end. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ConnectionError, type ConnectionEvent } from '@elysia-microservices/transport/kit'
import type { CarrierListener } from '../carrier.ts'
import type { ClientStore, ClientStoreInit } from './client-store.ts'
import { ConnectedStoreClient } from './store-client.ts'
import type { StoreConnection } from './store-engine.ts'

/** A connection, numbered from 1, and who is told of its losses. */
interface Opened extends StoreConnection {
  readonly number: number
  readonly listener: CarrierListener
}

/** A client whose durable part tells what happens to it. */
class Scene {
  readonly opened: Opened[] = []
  /** All that its durable part, its connections, its listeners and the log are told. */
  readonly told: string[] = []
  /** Happens while a connection is opened. */
  opening = async (_: CarrierListener): Promise<void> => {}
  init!: ClientStoreInit<Opened>
  readonly durable: object
  readonly client: ConnectedStoreClient<Opened>

  constructor() {
    const tell = (line: string) => void this.told.push(line)
    this.durable = {
      attach: ({ number }: Opened) => tell(`attach ${number}`),
      restored: () => tell('restored'),
      detach: () => tell('detach'),
      forbidden: (address: string, error: Error) => tell(`forbidden ${address}: ${error.message}`),
      close: (error: ConnectionError, unsent: ConnectionError) =>
        tell(`close ${error.mayHaveRun} ${unsent.mayHaveRun}`)
    }
    this.client = new ConnectedStoreClient<Opened>(
      {
        name: 'shop',
        title: 'SHOP',
        where: 'shop:1',
        whyNot: () => undefined,
        open: async (listener) => this.#open(listener)
      },
      (init) => {
        this.init = init
        return this.durable as unknown as ClientStore<Opened>
      },
      { logger: { error: tell, warn: tell }, timeout: 1_000, dispatcher: undefined }
    )
    this.client.onStatus((event) => {
      if (event.type === 'status') tell(event.status)
    })
  }

  async #open(listener: CarrierListener): Promise<Opened> {
    await this.opening(listener)
    const number = this.opened.length + 1
    const close = async () => void this.told.push(`closes ${number}`)
    const connection = { number, listener, isConnected: true, server: `shop:${number}`, close }
    this.opened.push(connection)
    return connection
  }

  /** All that was told since the last call, without lines of the log. */
  get heard(): string[] {
    return this.told.splice(0).filter((line) => !/[A-Z]/.test(line[0] ?? ''))
  }

  listener(number: number): CarrierListener {
    return this.opened[number - 1]?.listener as CarrierListener
  }
}

describe('the client of a store', () => {
  it('makes one connection, however many want one at a time', async () => {
    const scene = new Scene()
    const { client } = scene
    await Promise.all([client.connect(), scene.init.connect(), client.connect()])
    await client.connect()
    assert.deepEqual([scene.opened.length, client.name], [1, 'shop'])
    assert.deepEqual([scene.heard, client.status], [['connecting', 'attach 1', 'connected'], 'connected'])
  })

  it('tells its durable part when its server is back, and why it takes nothing until it is lost', async () => {
    const scene = new Scene()
    await scene.client.connect()
    const { halted, lost, restored } = scene.listener(1)
    halted?.('no memory')
    assert.match(scene.init.halted() ?? '', /^SHOP takes no messages at the moment \(no memory\)/)
    scene.told.length = 0
    lost('it has stopped')
    assert.equal(scene.init.halted(), undefined)
    assert.ok(scene.told.some((line) => line.includes('was lost: it has stopped')))
    assert.deepEqual(scene.heard, ['reconnecting'])
    restored()
    assert.deepEqual(scene.heard, ['restored', 'connected'])
  })

  it('makes another connection for the next event when its own has ended, and hears no more of that one', async () => {
    const scene = new Scene()
    await scene.client.connect()
    scene.told.length = 0
    const first = scene.listener(1)
    first.ended(new Error('given up'))
    assert.deepEqual(scene.heard, ['detach', 'disconnected'])
    assert.equal((await scene.init.connect()).number, 2)
    assert.deepEqual(scene.heard, ['connecting', 'attach 2', 'connected'])
    first.lost()
    first.restored()
    first.ended(undefined)
    assert.deepEqual([scene.heard, scene.client.status], [[], 'connected'])
  })

  it('says why it cannot connect, and tries again when it is asked again', async () => {
    const scene = new Scene()
    scene.opening = () => Promise.reject(new Error('nobody there'))
    await assert.rejects(scene.client.connect(), /nobody there/)
    assert.deepEqual(scene.heard, ['connecting', 'disconnected'])
    scene.opening = async (listener) => listener.ended(new Error('given up'))
    await assert.rejects(scene.client.connect(), /The connection to SHOP has ended/)
    scene.told.length = 0
    scene.opening = async () => {}
    await scene.client.connect()
    assert.deepEqual(scene.heard, ['connecting', 'attach 2', 'connected'])
  })

  it('tells which address it may not publish to; what it may not hear concerns no event', async () => {
    const scene = new Scene()
    await scene.client.connect()
    scene.told.length = 0
    scene.listener(1).refused('paid', 'listen', new Error('no'))
    scene.listener(1).refused('paid', 'publish', new Error('no'))
    assert.deepEqual(scene.heard, [
      "forbidden paid: SHOP does not let this client publish to 'paid'; give its user the permission"
    ])
  })

  it('that is closed ends its connection, its events, and makes no other one', async () => {
    const scene = new Scene()
    await scene.client.connect()
    scene.told.length = 0
    await scene.client.close()
    await scene.client.close()
    assert.deepEqual(scene.heard, ['close true false', 'closed', 'closes 1'])
    await assert.rejects(scene.client.connect(), ConnectionError)
    await assert.rejects(scene.init.connect(), ConnectionError)
    scene.listener(1).lost()
    scene.listener(1).ended(undefined)
    assert.deepEqual([scene.heard, scene.opened.length], [[], 1])
  })

  it('that is closed while it connects closes the connection that comes nevertheless', async () => {
    const scene = new Scene()
    let open = () => {}
    scene.opening = () =>
      new Promise<void>((resolve) => {
        open = resolve
      })
    const connecting = assert.rejects(scene.client.connect(), ConnectionError)
    await scene.client.close()
    await connecting
    open()
    await new Promise(setImmediate)
    assert.deepEqual(
      scene.heard.filter((line) => /attach|closes/.test(line)),
      ['closes 1']
    )
  })

  it('tells its listeners which server is connected, lost, or could not be reached', async () => {
    const scene = new Scene()
    const seen: ConnectionEvent[] = []
    const forget = scene.client.onStatus((event) => {
      if (event.type !== 'status') seen.push(event)
    })
    scene.opening = () => Promise.reject(new Error('nobody there'))
    await assert.rejects(scene.client.connect())
    scene.opening = async () => {}
    await scene.client.connect()
    scene.listener(1).lost()
    scene.listener(1).restored()
    assert.deepEqual(
      seen.map((event) => [event.type, 'endpoint' in event && event.endpoint]),
      [
        ['connect-failed', 'shop:1'],
        ['connected', 'shop:1'],
        ['disconnected', 'shop:1'],
        ['connected', 'shop:1']
      ]
    )
    const [failed, , lost] = seen as [ConnectionEvent, ConnectionEvent, ConnectionEvent]
    assert.equal('error' in failed && failed.error?.message, 'nobody there')
    const { error } = lost as Extract<ConnectionEvent, { type: 'disconnected' }>
    assert.ok(error instanceof ConnectionError)
    assert.deepEqual([error.message, error.mayHaveRun], ['The connection to SHOP at shop:1 was lost', true])
    forget()
    scene.listener(1).lost()
    assert.equal(seen.length, 4)
  })

  it('that reaches another server in the end does not say that its calls use others: it has one connection', async () => {
    const scene = new Scene()
    scene.opening = () => Promise.reject(new Error('nobody there'))
    await assert.rejects(scene.client.connect())
    // The next connection is to the second server.
    scene.opened.push({ number: 1 } as Opened)
    scene.opening = async () => {}
    await scene.client.connect()
    assert.deepEqual(
      scene.told.filter((line) => line.startsWith('Cannot')),
      []
    )
  })

  it('logs when its server takes no events, and when it takes them again, and what it cannot handle', async () => {
    const scene = new Scene()
    await scene.client.connect()
    scene.told.length = 0
    const { halted, failed, unpublished } = scene.listener(1)
    halted?.('no memory')
    halted?.(undefined)
    assert.equal(scene.init.halted(), undefined)
    failed(new Error('a bug'))
    assert.deepEqual(scene.told, [
      'SHOP takes no messages at the moment (no memory); events wait',
      'SHOP takes events again',
      'A message of SHOP could not be handled'
    ])
    const error = new Error('too long')
    assert.throws(() => unpublished('paid', error), error)
  })

  it('asks its durable part for all that is of its groups, and of the future', async () => {
    const scene = new Scene()
    const asked: unknown[] = []
    const note =
      (word: string) =>
      (...given: unknown[]) => {
        asked.push([word, ...given])
        return word
      }
    const words = ['publish', 'deadLetters', 'backlog', 'hasGroup', 'pauseGroup', 'lag'] as const
    const { client } = scene
    assert.deepEqual([client.lag, client.future], [undefined, undefined])
    Object.assign(scene.durable, {
      ...Object.fromEntries(words.map((word) => [word, note(word)])),
      future: 'future'
    })
    const answers: unknown[] = [
      client.publish('p', 1),
      client.deadLetters('g'),
      client.backlog('g'),
      client.hasGroup('g'),
      client.pauseGroup('g', true),
      client.lag?.('g')
    ]
    assert.deepEqual([answers, client.future], [words, 'future'])
    assert.deepEqual(asked, [
      ['publish', 'p', 1, undefined],
      ['deadLetters', 'g'],
      ['backlog', 'g'],
      ['hasGroup', 'g'],
      ['pauseGroup', 'g', true],
      ['lag', 'g']
    ])
  })
})
