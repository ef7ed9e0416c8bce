/** How the consumers of a service start, leave and stop together. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { VirtualTime } from '@elysia-microservices/test-support'
import {
  ConnectionError,
  type Dispatcher,
  durableSettings,
  OptionError
} from '@elysia-microservices/transport/kit'
import { DurableServer } from './durable-server.ts'
import type { StoreConnection } from './store-engine.ts'

const CONNECTION = {} as StoreConnection
const FIGURES = { lag: 0, deadLetters: 0, redeliveries: 0, isPaused: false }

class Scene {
  readonly happened: string[] = []
  /** The handlers that run, for each pattern. */
  readonly running: Record<string, number> = {}
  /** Happens when the consumer of a pattern starts. */
  starting = async (_pattern: string): Promise<void> => {}
  stopping = async (): Promise<void> => {}
  readonly server: DurableServer<StoreConnection>

  constructor(patterns: readonly string[] = ['a', 'b']) {
    const write = (line: string) => void this.happened.push(line)
    const { running } = this
    const dispatcher: Dispatcher = {
      routes: () => patterns.map((route) => ({ kind: 'event', route, durable: durableSettings({}) })),
      request: () => undefined,
      event: () => {}
    }
    this.server = new DurableServer(
      {
        attach: async () => write('attaches'),
        restored: () => write('restored'),
        detach: () => write('detaches'),
        close: () => write('closes'),
        consumer: ({ pattern, group }) => ({
          get running() {
            return running[pattern] ?? 0
          },
          figures: { pattern, group, ...FIGURES },
          start: async () => {
            await this.starting(pattern)
            write(`${pattern} starts for ${group}`)
          },
          begin: () => write(`${pattern} begins`),
          lost: () => write(`${pattern} lost`),
          restored: () => write(`${pattern} restored`),
          leave: async () => write(`${pattern} leaves`),
          stop: async () => {
            await this.stopping()
            write(`${pattern} stops`)
          },
          cut: () => write(`${pattern} cut`)
        })
      },
      dispatcher,
      { name: 'shop', title: 'SHOP', where: 'shop:1', whyNot: () => undefined } as never,
      { name: 'orders', version: undefined, logger: { error: write, warn: write } },
      'orders'
    )
  }

  take(): string[] {
    return this.happened.splice(0)
  }
}

describe('the durable handlers of a service', () => {
  it('start one after the other, and begin once, when everything has started', async () => {
    const scene = new Scene()
    let release = () => {}
    scene.starting = (pattern) =>
      pattern === 'a' ? new Promise<void>((resolve) => (release = resolve)) : Promise.resolve()
    const started = scene.server.start(CONNECTION)
    await new Promise(setImmediate)
    assert.deepEqual(scene.take(), ['attaches'])
    release()
    await started
    assert.deepEqual(scene.take(), ['a starts for orders', 'b starts for orders'])
    scene.server.begin()
    scene.server.begin()
    assert.deepEqual(scene.take(), ['a begins', 'b begins'])
  })

  it('ask an engine that does not answer three times, and one that refuses once', async () => {
    for (const [error, attempts] of [
      [new ConnectionError('no answer', false), 3],
      [new OptionError('options.replicas', 'no'), 1]
    ] as const) {
      const scene = new Scene()
      scene.starting = () => Promise.reject(error)
      await assert.rejects(scene.server.start(CONNECTION), error)
      const happened = scene.take()
      assert.equal(happened.filter((one) => one === 'attaches').length, attempts)
      assert.equal(happened.filter((one) => one.includes('asking again')).length, attempts - 1)
    }
  })

  it('of which there are none ask nothing of the engine', async () => {
    const scene = new Scene([])
    await scene.server.start(CONNECTION)
    assert.deepEqual(scene.happened, [])
  })

  it('hear of the loss, the return and the end of their connection, the store first', async () => {
    const { server, happened } = new Scene()
    server.lost()
    server.restored()
    await server.leave()
    assert.deepEqual(happened.slice(0, 5), ['a lost', 'b lost', 'restored', 'a restored', 'b restored'])
    assert.deepEqual(happened.slice(5), ['detaches', 'a leaves', 'b leaves'])
  })

  it('have 2 s to leave their groups if none of them runs, whatever the time to drain; otherwise only that', async () => {
    using time = new VirtualTime()
    for (const [running, drain, expected] of [
      [0, 0, 2_000],
      [0, 3_000, 3_000],
      [1, 100, 100],
      [1, 500, 500]
    ] as const) {
      const scene = new Scene()
      scene.running['b'] = running
      scene.stopping = () => new Promise(() => {})
      const began = time.now
      await time.settled(scene.server.stopWithin(drain))
      assert.equal(time.now - began, expected, `${running} run, and ${drain} ms to drain`)
      assert.equal(scene.server.running, running)
    }
  })

  it('are cut before their store is closed', async () => {
    const scene = new Scene()
    await scene.server.cut()
    assert.deepEqual(scene.take(), ['a cut', 'b cut', 'closes'])
  })
})
