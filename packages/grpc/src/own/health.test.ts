/** Whether a server takes calls, as probes and watchers learn it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FakeClock } from '@elysia-microservices/rsocket/testing'
import { Log, within } from '@elysia-microservices/test-support'
import { IncomingMessage } from '@elysia-microservices/transport/kit'
import fc from 'fast-check'
import { healthOptions } from '../options/health-options.ts'
import { HEALTH_METHODS, HEALTH_NAME, Health, Serving } from './health.ts'
import { Readiness } from './readiness.ts'

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = Serving
const soon = <Value>(promise: Promise<Value>) => within(promise, 'an answer')

class Server {
  readonly log = new Log()
  readonly clock = new FakeClock()
  readonly readiness: Readiness
  readonly health: Health

  constructor(checks: Readonly<Record<string, () => unknown>> = {}, checkTimeout = 10_000) {
    const options = healthOptions({ checks, checkTimeout })
    assert.ok(options)
    this.readiness = new Readiness(options, this.log.logger, () => this.clock.time)
    this.health = new Health({
      readiness: this.readiness,
      services: ['shop.v1.Orders'],
      newTimer: this.clock.newTimer
    })
  }

  message(method: string, service?: string): IncomingMessage {
    const pattern = `${HEALTH_NAME}/${method}`
    return new IncomingMessage({
      transport: 'grpc',
      kind: 'request',
      pattern,
      route: pattern,
      data: service,
      metadata: {},
      timeout: undefined,
      arrivedAt: 0,
      peer: undefined
    })
  }

  check(service: string): Promise<unknown> {
    return soon(this.health.answer(this.message('Check', service)) as Promise<unknown>)
  }

  list(): Promise<Map<string, number>> {
    return soon(this.health.answer(this.message('List')) as Promise<Map<string, number>>)
  }

  /** The next statuses of a watch, and its message. */
  watch(service: string) {
    const message = this.message('Watch', service)
    const values = this.health.answer(message) as AsyncGenerator<number>
    return { message, next: async () => (await soon(values.next())).value }
  }

  stop(): void {
    this.readiness.isStopping = true
    this.health.stopping()
  }
}

const turns = () => new Promise((resolve) => setTimeout(resolve))

describe('the health of a server', () => {
  it('is told for the server and its services, and differs from the life of its process', async () => {
    const server = new Server()
    for (const name of ['', 'readiness', 'liveness', 'shop.v1.Orders'])
      assert.equal(await server.check(name), SERVING, name)
    await assert.rejects(server.check('shop.v1.Cart'), {
      code: 'NOT_FOUND',
      message: "The server has no service 'shop.v1.Cart'"
    })
    server.stop()
    assert.deepEqual(
      [...(await server.list())],
      [
        ['', NOT_SERVING],
        ['readiness', NOT_SERVING],
        ['liveness', SERVING],
        ['shop.v1.Orders', NOT_SERVING]
      ]
    )
    assert.equal(await server.check('shop.v1.Orders'), NOT_SERVING)
  })

  for (const [words, check] of Object.entries<() => unknown>({
    'says no': () => false,
    throws: () => {
      throw new Error('no database')
    },
    rejects: () => Promise.reject(new Error('no database')),
    'throws what cannot be read': () => {
      throw Object.create(null)
    },
    'takes too long': () => new Promise(() => {})
  }))
    it(`is bad when a check ${words}, and the log says which`, async () => {
      const server = new Server({ ok: () => true, db: check }, 20)
      assert.equal(await server.check(''), NOT_SERVING)
      assert.equal(await server.check('liveness'), SERVING)
      assert.match(server.log.lines.join(), /Not ready: the check 'db' (says no|has failed: .+)/)
      assert.equal(server.log.lines.length, 1)
    })

  it('costs one run of the checks, however many ask at a time', async () => {
    let runs = 0
    let finish = () => {}
    const server = new Server({
      db() {
        runs++
        return new Promise<void>((resolve) => (finish = resolve))
      }
    })
    const probes = Promise.all(Array.from({ length: 100 }, () => server.check('')))
    await turns()
    finish()
    assert.deepEqual([...new Set(await probes)], [SERVING])
    assert.equal(runs, 1)
  })
})

describe('a watcher of the health', () => {
  it('hears of a change of the checks, and only of changes', async () => {
    let isUp = true
    const server = new Server({ db: () => isUp })
    const { next } = server.watch('shop.v1.Orders')
    assert.equal(await next(), SERVING)
    const changed = next()
    await turns()
    server.clock.pass(20_000)
    await turns()
    isUp = false
    server.clock.pass(5_000)
    assert.equal(await changed, NOT_SERVING)
  })

  it('hears that the server stops, and is not waited for', async () => {
    const server = new Server()
    const { next } = server.watch('')
    assert.equal(await next(), SERVING)
    const changed = next()
    await turns()
    server.stop()
    assert.equal(await changed, NOT_SERVING)
    await assert.rejects(next(), { code: 'UNAVAILABLE' })
  })

  it('of a name that there is not hears so, and waits', async () => {
    const server = new Server()
    const { next } = server.watch('shop.v1.Cart')
    assert.equal(await next(), SERVICE_UNKNOWN)
    const changed = next()
    await turns()
    server.stop()
    await assert.rejects(changed, { code: 'UNAVAILABLE' })
  })

  it('that leaves is forgotten, and no check runs for it', async () => {
    let runs = 0
    const server = new Server({ db: () => void runs++ })
    const { message, next } = server.watch('')
    assert.equal(await next(), SERVING)
    const over = next()
    await turns()
    message.abort(server.log.logger)
    assert.equal(await over, undefined)
    const before = runs
    server.clock.pass(60_000)
    await turns()
    assert.deepEqual([runs, server.clock.next], [before, Number.POSITIVE_INFINITY])
  })
})

describe('the messages of health', () => {
  const [check, , list] = HEALTH_METHODS

  it('are read as they were written', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.dictionary(fc.string(), fc.integer({ min: 0, max: 3 })),
        (name, statuses) => {
          assert.equal(check!.input.decode(check!.input.encode(name)), name)
          const all = new Map(Object.entries(statuses))
          assert.deepEqual(list!.output.decode(list!.output.encode(all)), all)
        }
      )
    )
  })

  it('may be any bytes: they are read, or refused with a sentence', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        for (const method of HEALTH_METHODS)
          for (const codec of [method.input, method.output])
            try {
              codec.decode(bytes)
            } catch (error) {
              assert.equal((error as Error).message, 'data: it is no message of grpc.health.v1')
            }
      })
    )
  })
})
