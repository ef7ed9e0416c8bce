/** The options `timeout` and `idempotent` beside a handler. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { collected } from '@elysia-microservices/test-support'
import { connect, type RpcError } from '../client/index.ts'
import { type Message, memory, microservice } from '../index.ts'
import { Ctx, EventPattern, MessagePattern, type RpcContext } from '../nest.ts'
import { tcp } from '../tcp.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const SOON = 5
const silent = { error() {}, warn() {}, log() {} }
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
const late = (pattern: string) => ({
  name: 'RpcError',
  code: 'TIMEOUT',
  message: `The handler of '${pattern}' has taken longer than its timeout of ${SOON} ms`,
  mayHaveRun: true,
  retryable: true
})

for (const way of WAYS)
  describe(`a handler with a timeout, ${way}`, () => {
    it('has its signal aborted and its caller answered when the time is over', async () => {
      const { transport, client: options } = newWay(way)
      const ended = happening()
      const service = microservice({ transport }).message(
        'slow',
        async ({ signal }) => {
          await aborted(signal)
          ended.happen()
        },
        { timeout: SOON }
      )
      await cleanups.add(service).listen()
      const client = cleanups.add(connect<typeof service>(options()))
      await assert.rejects(client.request('slow'), late('slow'))
      await ended.happened
    })

    it('must begin its stream in time, which then may pause as long as it likes', async () => {
      const { transport, client: options } = newWay(way)
      const service = microservice({ transport })
        .message(
          'never',
          async function* ({ signal }) {
            await aborted(signal)
            yield 1
          },
          { timeout: SOON }
        )
        .message(
          'slowly',
          async function* (message) {
            yield 1
            for (const end = performance.now() + 3 * SOON; performance.now() < end; )
              await new Promise((resolve) => setTimeout(resolve, 1))
            yield message.remaining === undefined && !message.signal.aborted
          },
          { timeout: SOON }
        )
      await cleanups.add(service).listen()
      const client = cleanups.add(connect<typeof service>(options({ timeout: false })))
      await assert.rejects(client.stream('never').next(), late('never'))
      assert.deepEqual(await collected(client.stream('slowly')), [1, true])
    })

    it('gives way to a caller that waits for less time', async () => {
      const { transport, client: options } = newWay(way)
      const service = microservice({ transport }).message('slow', ({ signal }) => aborted(signal), {
        timeout: way === 'nest' ? 50 : 60_000
      })
      await cleanups.add(service).listen()
      const client = cleanups.add(connect<typeof service>(options()))
      await assert.rejects(client.request('slow', undefined, { timeout: SOON }), { name: 'TimeoutError' })
    })
  })

describe('the timeout of a handler', () => {
  it('bounds hooks, too, and the calls that are made within the message', async () => {
    const transport = memory()
    const left: (number | undefined)[] = []
    const service = microservice({ transport })
      .message('hooked', () => 1, { timeout: SOON, beforeHandle: ({ signal }) => aborted(signal) })
      .message(
        'outer',
        (message): Promise<unknown> => inner.request('inner', undefined, { within: message }),
        {
          timeout: 10_000
        }
      )
      .message('inner', ({ timeout }) => void left.push(timeout))
    await cleanups.add(service).listen()
    const inner = cleanups.add(connect({ transport }))
    const client = cleanups.add(connect<typeof service>({ transport }))
    await assert.rejects(client.request('hooked'), late('hooked'))
    await client.request('outer')
    assert.ok(left[0] !== undefined && left[0] <= 10_000)
  })

  it('ends for one handler of an event and not for the others', async () => {
    const transport = memory()
    const failed = happening<unknown>()
    const over = happening()
    const isAborted: boolean[] = []
    const logger = { ...silent, error: (_line: string, error: unknown) => failed.happen(error) }
    const service = microservice({ transport, name: 'events', logger })
      .event('placed', async ({ signal }) => {
        await over.happened
        isAborted.push(signal.aborted)
      })
      .event(
        'placed',
        async ({ signal }) => {
          await aborted(signal)
          over.happen()
        },
        { timeout: SOON }
      )
    await cleanups.add(service).listen()
    const client = cleanups.add(connect<typeof service>({ transport }))
    await client.emit('placed')
    assert.equal(((await failed.happened) as RpcError).code, 'TIMEOUT')
    assert.deepEqual(isAborted, [false])
  })

  it('is a failure of a durable handler, which then gets the event again', async () => {
    const transport = memory()
    const done = happening<number | undefined>()
    const service = microservice({ transport, name: 'orders', logger: silent }).event(
      'placed',
      async ({ delivery, signal }) => {
        if (delivery?.attempt === 1) await aborted(signal)
        else done.happen(delivery?.attempt)
      },
      { durable: { retry: { minDelay: 0 } }, timeout: SOON }
    )
    await cleanups.add(service).listen()
    const client = cleanups.add(connect<typeof service>({ transport }))
    await client.publish('placed')
    assert.equal(await done.happened, 2)
  })

  it('does not let limits.inFlight admit more work while the handler runs on', async () => {
    const transport = tcp({ host: '127.0.0.1', port: 0, limits: { inFlight: 1 } })
    const go = happening()
    const service = microservice({ transport }).message('deaf', () => go.happened, { timeout: SOON })
    await cleanups.add(service).listen()
    const client = cleanups.add(connect<typeof service>({ port: transport.address!.port, retry: false }))
    await assert.rejects(client.request('deaf'), late('deaf'))
    await assert.rejects(client.request('deaf'), { name: 'RejectedError' })
    go.happen()
    await client.request('deaf')
  })

  it('can stand in the decorator of a method', async () => {
    const transport = memory()
    class Orders {
      @MessagePattern('slow', { timeout: SOON, idempotent: true })
      slow(@Ctx() { message }: RpcContext) {
        return aborted(message.signal)
      }
    }
    const service = microservice({ transport, controllers: [Orders] })
    await cleanups.add(service).listen()
    const client = cleanups.add(connect({ transport }))
    await assert.rejects(client.request('slow'), late('slow'))
    const [handler] = service.describe().handlers
    assert.deepEqual([handler?.timeout, handler?.idempotent], [SOON, true])
  })
})

describe('a stream that has begun', () => {
  for (const way of ['rsocket', 'memory'] as const)
    it(`leaves the calls of its handler their own time, although its caller's is over, ${way}`, async () => {
      const { transport, client: options } = newWay(way)
      const service = microservice({ transport })
        .message('inner', () => 'answered')
        .message('outer', async function* (message) {
          yield 1
          while (message.remaining !== undefined && message.remaining > 0)
            await new Promise((resolve) => setTimeout(resolve, 1))
          yield await connected().request('inner', undefined, { within: message })
        })
      await cleanups.add(service).listen()
      const client = cleanups.add(connect<typeof service>(options()))
      const connected = () => cleanups.add(connect({ ...options() }))
      await client.connect()
      assert.deepEqual(await collected(client.stream('outer', undefined, { timeout: 200 })), [1, 'answered'])
    })
})

describe('an idempotent handler', () => {
  async function cutOnce() {
    const transport = tcp({ host: '127.0.0.1', port: 0 })
    let runs = 0
    const cut = ({ peer }: Message) => {
      if (++runs === 1) peer?.disconnect()
      return runs
    }
    const service = microservice({ transport })
      .message('get', cut, { idempotent: true })
      .message('users.*', cut, { idempotent: true })
      .message('add', cut)
    await cleanups.add(service).listen()
    return { service, port: transport.address!.port }
  }

  it('is called again after a lost connection by a client that names it', async () => {
    for (const pattern of ['get', 'users.7'] as const) {
      const { service, port } = await cutOnce()
      const client = cleanups.add(connect<typeof service>({ port, idempotent: ['get', 'users.*'] }))
      assert.equal(await client.request(pattern), 2)
    }
  })

  it('is called once by a client that does not name it, or by a call that says so', async () => {
    const { service, port } = await cutOnce()
    const lost = { name: 'ConnectionError', mayHaveRun: true }
    await assert.rejects(cleanups.add(connect<typeof service>({ port })).request('get'), lost)
    const again = await cutOnce()
    const client = cleanups.add(connect<typeof service>({ port: again.port, idempotent: ['get'] }))
    await assert.rejects(client.request('get', undefined, { idempotent: false }), lost)
  })

  it('is named by the types and descriptions of its service', async () => {
    const { service } = await cutOnce()
    // @ts-expect-error 'add' is not declared idempotent
    connect<typeof service>({ idempotent: ['add'] })
    connect<{ add(): number }>({ idempotent: ['add'] })
    connect({ idempotent: ['add', { cmd: 'get' }] })
    assert.deepEqual(
      service.describe().handlers.map(({ idempotent }) => idempotent),
      [true, true, undefined]
    )
  })

  it('is refused where it cannot be one', () => {
    const refused = (path: string) => (error: RpcError & { path: string }) => error.path === path
    const service = microservice()
    assert.throws(
      () => service.event('x', () => {}, { idempotent: true } as never),
      refused('options.idempotent')
    )
    assert.throws(
      () => service.message('x', () => {}, { idempotent: 1 } as never),
      refused('options.idempotent')
    )
    assert.throws(() => service.message('x', () => {}, { timeout: 0 }), refused('options.timeout'))
    assert.throws(
      () => service.guard({ timeout: 5 } as never),
      /options.timeout is an option of each handler/
    )
    assert.throws(() => connect({ idempotent: 'get' } as never), refused('options.idempotent'))
    class Wrong {
      @EventPattern('x', { idempotent: true } as never)
      x() {}
    }
    assert.throws(() => microservice({ controllers: [Wrong] }), refused('the options of Wrong.x.idempotent'))
  })
})
