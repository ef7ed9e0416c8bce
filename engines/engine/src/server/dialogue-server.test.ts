/** The server of an engine over connections that tests lose and end: its log, its figures, its starts and stops. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { until, VirtualTime } from '@elysia-microservices/test-support'
import {
  ConnectionError,
  type Dispatcher,
  durableSettings,
  type IncomingMessage
} from '@elysia-microservices/transport/kit'
import type { CarrierListener, Engine } from '../carrier.ts'
import { newSecret } from '../secret.ts'
import { Ends } from '../testing/ends.ts'
import type { TestCarrier } from '../testing/hub.ts'
import { DialogueServer } from './dialogue-server.ts'

const FIGURES = { pattern: 'paid', group: 'orders', lag: 0, deadLetters: 0, redeliveries: 0, isPaused: false }
const scenes: Scene[] = []
afterEach(async () => {
  for (const { ends, server } of scenes.splice(0)) {
    await server.stop({ drain: 0 })
    await ends.close()
  }
})

/** A service with a durable handler, and requests that never end. */
class Scene {
  readonly ends = new Ends()
  readonly listeners: CarrierListener[] = []
  readonly carriers: TestCarrier[] = []
  /** All that happens to the service: calls of its durable handler and of its connections, and lines of the log. */
  readonly happened: string[] = []
  /** The requests whose handlers have begun. */
  readonly begun: IncomingMessage[] = []
  /** Of the durable handler: the number of runs, and why it gets no events. */
  running = 0
  unavailable: string | undefined
  /** Happens while the durable handler starts. */
  starting = async (): Promise<void> => {}
  readonly server: DialogueServer<TestCarrier>

  constructor(isDurable = true) {
    const { engine } = this.ends
    const open = engine.open.bind(engine)
    engine.open = async (listener) => {
      const carrier = await open(listener)
      const close = carrier.close.bind(carrier)
      const number = this.listeners.push(listener)
      this.carriers.push(carrier)
      carrier.close = () => {
        this.happened.push(`closes ${number}`)
        return close()
      }
      return carrier
    }
    const write = (line: string) => void this.happened.push(line)
    const tell = (word: string) => async () => void this.happened.push(word)
    this.server = new DialogueServer<TestCarrier>({
      engine,
      context: { name: 'orders', version: undefined, logger: { error: write, warn: write } },
      queues: { message: 'orders', event: 'orders' },
      service: 'orders',
      ...(isDurable && {
        store: () => ({
          attach: tell('attaches'),
          restored: () => write('store restored'),
          detach: () => write('detaches'),
          close: tell('store closes'),
          consumer: () => {
            const scene = this
            return {
              get running() {
                return scene.running
              },
              get figures() {
                const { unavailable } = scene
                return { ...FIGURES, ...(unavailable !== undefined && { unavailable }) }
              },
              start: async () => {
                write('starts')
                await this.starting()
              },
              begin: () => write('begins'),
              lost: () => write('lost'),
              restored: () => write('restored'),
              leave: tell('leaves'),
              stop: tell('stops'),
              cut: () => write('cut')
            }
          }
        })
      })
    })
    scenes.push(this)
  }

  start(signal?: AbortSignal): Promise<void> {
    const durable = durableSettings(true)
    const dispatcher: Dispatcher = {
      routes: () => [
        { kind: 'message', route: 'hangs' },
        { kind: 'event', route: 'noted' },
        { kind: 'event', route: 'paid', durable }
      ],
      request: (message) => {
        this.begun.push(message)
        return new Promise(() => {})
      },
      event: () => {}
    }
    return this.server.start(dispatcher, signal)
  }

  take(): string[] {
    return this.happened.splice(0)
  }
}

const STARTED = ['attaches', 'starts']
const LOST = 'The TEST server hub is lost'
const ENDED = 'The connection to TEST has ended'
/** Milliseconds within which a connection that has ended is replaced. */
const LONG = 60_000

describe('a service over an engine', () => {
  it('logs what its connection reports, and a refused address only some times', async () => {
    const scene = new Scene()
    await scene.start()
    assert.deepEqual(scene.take(), STARTED)
    const [listener] = scene.listeners as [CarrierListener]
    listener.halted?.('disk alarm')
    listener.halted?.(undefined)
    listener.refused('stock', 'listen', new Error('no'))
    listener.unpublished('stock', new Error('no'))
    listener.failed(new Error('a bug'))
    assert.deepEqual(scene.take(), [
      'TEST takes no messages at the moment (disk alarm); answers wait',
      'TEST takes messages again',
      "TEST does not let this service subscribe to 'stock'; give its user the permission",
      "A message to 'stock' could not be published",
      'A message of TEST could not be handled'
    ])
    for (let n = 0; n < 12; n++) listener.refused(`inbox.${n}`, 'publish', new Error('no'))
    const lines = scene.take()
    assert.equal(
      lines[0],
      "TEST does not let this service publish to 'inbox.0'; give its user the permission"
    )
    assert.equal(lines.length, 10)
  })

  it('says in its figures and its log that its server is lost, and why, until it is back; its handlers hear of both', async () => {
    const scene = new Scene()
    await scene.start()
    scene.take()
    const [listener] = scene.listeners as [CarrierListener]
    listener.lost('the password has changed')
    assert.equal(scene.server.stats().unavailable, `${LOST}: the password has changed`)
    listener.restored()
    assert.equal(scene.server.stats().unavailable, undefined)
    listener.restored()
    assert.deepEqual(scene.take(), [
      `${LOST}: the password has changed; until it is back, the service gets no messages over it`,
      'lost',
      'Connected to the TEST server hub again',
      'store restored',
      'restored',
      'store restored',
      'restored'
    ])
  })

  it('that is back gives its callers time to be heard again, before it gives up their calls', async () => {
    using time = new VirtualTime()
    const scene = new Scene()
    await scene.start()
    const call = scene.ends.client().request('hangs', 1, { timeout: 600_000 })
    call.catch(() => {})
    await time.until('it runs', () => scene.begun.length === 1)
    await time.pass(100)
    for (const carrier of scene.carriers) carrier.lose()
    // The call fails with its connection, and nobody can tell the service.
    await time.pass(LONG)
    scene.carriers[0]?.restore()
    await time.pass(10_000)
    assert.equal(scene.begun[0]?.signal.aborted, false, 'its caller had no time to be heard')
    await time.settled(scene.server.stop({ drain: 0 }))
    await time.settled(scene.ends.close())
    scenes.length = 0
  })

  it('has figures of what runs, is dropped, and is missing, of durable handlers, too', async () => {
    using time = new VirtualTime()
    const scene = new Scene()
    const { server, ends } = scene
    const nothing = { current: 0, limit: false }
    assert.deepEqual(server.stats(), {
      transport: 'test',
      address: undefined,
      inFlight: nothing,
      streams: 0,
      refused: 0,
      parts: nothing,
      answers: nothing,
      unconfirmed: 0
    })
    await scene.start()
    scene.running = 2
    const client = ends.client()
    client.request('hangs', 1, { timeout: 600_000 }).catch(() => {})
    const endless = { next() {}, complete() {}, error() {} }
    client.stream('hangs', 1, endless, { timeout: 600_000 })
    await time.until('both run', () => scene.begun.length === 2)
    await time.pass(100)
    const { inFlight, streams, durable, unavailable } = server.stats()
    assert.deepEqual(
      [inFlight, streams, durable, unavailable],
      [{ current: 4, limit: false }, 1, [FIGURES], undefined]
    )
    scene.unavailable = 'its stream is gone'
    assert.equal(server.stats().unavailable, 'its stream is gone')
    // A request whose answer is to go to an address that is no inbox, and a word for a call that there is not.
    const stranger = scene.carriers.at(-1) as TestCarrier
    stranger.publish('hangs', '{"pattern":"hangs","data":1}', 'orders.delete')
    const { reply = '' } = ends.hub.published.find(({ words }) => words === '+a') ?? {}
    stranger.publish(reply.replace(/-[a-z2-7]{12}\./, `-${newSecret()}.`), 'x')
    await time.pass(1)
    assert.equal(server.stats().refused, 2)
    await time.settled(server.stop({ drain: 0 }))
    await time.settled(ends.close())
    scenes.length = 0
    assert.deepEqual(server.stats().inFlight, nothing)
  })

  it('begins its durable handlers when everything has started, and stops them before its connection is closed', async () => {
    const scene = new Scene()
    assert.equal(scene.server.isDurable, true)
    assert.equal(new Scene(false).server.isDurable, false)
    await scene.start()
    assert.deepEqual(scene.take(), STARTED)
    scene.server.begin()
    assert.deepEqual(scene.take(), ['begins'])
    await scene.server.stop({ drain: 0 })
    assert.deepEqual(scene.take(), ['stops', 'cut', 'store closes', 'closes 1'])
    await scene.server.stop()
    assert.deepEqual(scene.take(), [])
  })

  it('that cannot start leaves nothing behind, and may start again', async () => {
    const scene = new Scene()
    scene.starting = async () => {
      scene.starting = async () => {}
      scene.listeners[0]?.lost()
      throw new Error('no')
    }
    await assert.rejects(scene.start(), { message: 'no' })
    assert.deepEqual(scene.take().slice(3), ['lost', 'closes 1', 'stops', 'cut', 'store closes'])
    assert.equal(scene.ends.hub.carriers.size, 0)
    scene.server.begin()
    assert.deepEqual(
      [scene.take(), scene.server.stats().unavailable, scene.server.stats().durable],
      [[], undefined, undefined]
    )
    await scene.start()
    assert.deepEqual(scene.take(), STARTED)
  })

  it('that is stopped while it connects does not start, and closes the connection that comes late', async () => {
    for (const end of ['stop', 'abort'] as const) {
      const scene = new Scene()
      const { engine } = scene.ends
      const open = engine.open
      let proceed = () => {}
      engine.open = async (listener) => {
        await new Promise<void>((resolve) => (proceed = resolve))
        return open(listener)
      }
      const controller = new AbortController()
      const started = assert.rejects(scene.start(controller.signal), {
        name: 'ConnectionError',
        message: 'The service was stopped before it was connected',
        retryable: false
      })
      if (end === 'abort') controller.abort()
      else await scene.server.stop()
      await started
      proceed()
      await until('the late connection is closed', () => scene.happened.includes('closes 1'))
      assert.equal(scene.ends.hub.carriers.size, 0)
    }
  })

  it('tells its engine when it listens, and works without the right to be asked about calls', async () => {
    const scene = new Scene()
    const engine: Engine<TestCarrier> = scene.ends.engine
    const listening: unknown[] = []
    engine.listening = (connection, subjects) => {
      listening.push(connection, ...subjects.map(({ address }) => address))
    }
    const open = engine.open.bind(engine)
    engine.open = async (listener) => {
      const carrier = await open(listener)
      const listen = carrier.listen.bind(carrier)
      carrier.listen = (address, receive, refused) =>
        address === carrier.everyone ? refused?.(new Error('no')) : listen(address, receive, refused)
      return carrier
    }
    await scene.start()
    assert.deepEqual(listening, [scene.carriers[0], 'hangs', 'noted'])
    assert.deepEqual(scene.take(), STARTED)
  })
})

describe('a service whose connection has ended', () => {
  it('closes it, leaves its groups, and connects again until it succeeds', async () => {
    using time = new VirtualTime()
    const scene = new Scene()
    await scene.start()
    scene.server.begin()
    scene.take()
    let tries = 0
    scene.starting = async () => {
      if (++tries === 1) throw new Error('no')
    }
    scene.carriers[0]?.end(new Error('bad credentials'))
    await time.pass(0)
    assert.equal(scene.server.stats().unavailable, ENDED)
    assert.deepEqual(scene.take(), [`${ENDED}; connecting again`, 'closes 1', 'detaches', 'leaves'])
    await time.pass(LONG)
    assert.deepEqual(scene.take(), [
      ...STARTED,
      'closes 2',
      'TEST cannot be reached; trying again',
      'detaches',
      'leaves',
      ...STARTED,
      'Connected to the TEST server hub again'
    ])
    assert.equal(scene.server.stats().unavailable, undefined)
    await time.settled(scene.server.stop({ drain: 0 }))
    assert.deepEqual([scene.take().at(-1), time.timers], ['closes 3', 0])
  })

  it('waits longer after each attempt, from half a second up to 10 s', async (t) => {
    using time = new VirtualTime()
    t.mock.method(Math, 'random', () => 0.5)
    const scene = new Scene(false)
    await scene.start()
    const began = time.now
    const at: number[] = []
    scene.ends.engine.open = async () => {
      at.push(time.now - began)
      throw new ConnectionError('away', false)
    }
    scene.carriers[0]?.end()
    await time.until('some attempts', () => at.length === 8)
    const pauses = at.map((one, n) => one - (at[n - 1] ?? 0))
    assert.deepEqual(pauses, [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000])
    await time.settled(scene.server.stop())
  })

  it('connects no more when it has stopped, whatever it was about to do', async () => {
    using time = new VirtualTime()
    const waiting = new Scene(false)
    await waiting.start()
    waiting.carriers[0]?.end()
    await time.pass(0)
    await time.settled(waiting.server.stop())
    await time.pass(LONG)
    assert.equal(waiting.listeners.length, 1)
    const opening = new Scene(false)
    await opening.start()
    const { engine } = opening.ends
    const open = engine.open
    let proceed = () => {}
    engine.open = async (listener) => {
      await new Promise<void>((resolve) => (proceed = resolve))
      return open(listener)
    }
    opening.carriers[0]?.end()
    await time.pass(LONG)
    await time.settled(opening.server.stop())
    proceed()
    await time.pass(LONG)
    assert.equal(opening.ends.hub.carriers.size, 0)
    assert.equal(
      opening.happened.some((line) => line.includes('cannot be reached')),
      false
    )
  })
})
