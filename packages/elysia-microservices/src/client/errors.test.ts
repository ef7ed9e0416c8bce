/**
 * Errors tell apart who has failed: an error that a handler throws as its answer reaches the caller, and an error
 * inside the handler stays in its process.
 */
import assert from 'node:assert/strict'
import net from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { DEAF_PORT, isInCheck } from '@elysia-microservices/test-support'
import { t } from 'elysia'
import * as everything from '../index.ts'
import {
  CanceledError,
  ConnectionError,
  ListenError,
  MicroserviceError,
  microservice,
  OptionError,
  OverloadedError,
  PatternNotFoundError,
  PayloadTooLargeError,
  ProtocolError,
  RejectedError,
  RpcError,
  TimeoutError,
  UnauthenticatedError,
  ValidationError,
  WorkerError
} from '../index.ts'
import { tcp } from '../tcp.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, newWay, WAYS, type Way } from '../testing/ways.ts'
import { type ConnectionEvent, connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const silent = { error() {}, warn() {} }

/** A proxy between a client and a port that keeps what the server sends. */
async function tapped(port: number): Promise<{ port: number; said(): string }> {
  const chunks: Buffer[] = []
  const server = net.createServer((near) => {
    const far = net.connect({ port, host: '127.0.0.1' })
    far.on('data', (chunk) => chunks.push(chunk))
    near.pipe(far).pipe(near)
    for (const [one, other] of [
      [near, far],
      [far, near]
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.add({ stop: () => new Promise<void>((resolve) => server.close(() => resolve())) })
  return {
    port: (server.address() as net.AddressInfo).port,
    said: () => Buffer.concat(chunks).toString('latin1')
  }
}

/** A service that the handlers of other services call. */
async function further(way: Way) {
  const ends = newWay(way)
  const service = microservice({ transport: ends.transport, logger: silent })
    .message('echo', ({ data }) => data)
    .message('checked', ({ data }) => data, { data: t.Object({ further: t.Number() }) })
    .message('never', () => new Promise(() => {}))
    .message('busy', () => {
      throw new RejectedError('the further one is busy')
    })
    .message('unauthenticated', () => {
      throw new UnauthenticatedError('not for the further one')
    })
    .message('fails', () => {
      const message = 'the further one failed'
      throw new RpcError({ code: 'FURTHER', message, details: 'further details', status: 418 })
    })
  await service.listen()
  cleanups.add(service)
  const down = cleanups.add(connect(ends.client({ retry: false })))
  // A time of a millisecond may be over before there is a connection, which would be another error.
  await down.connect()
  return { ends, down }
}

/** Mistakes of a handler that calls other services. */
const MISTAKES = [
  'passes an option that is none',
  'passes data that cannot be encoded',
  'passes a header that is no text',
  'passes a pattern that is none',
  'calls more than its client may hold',
  'calls where nobody listens',
  'is not answered in time',
  'calls with a signal that has aborted',
  'calls with a client that is closed',
  'is told that a further service is busy',
  'fails the schema of a further service',
  'asks what a further service does not handle',
  'is not known to a further service',
  'is told of the failure of a further service'
] as const

type Mistake = readonly [call: () => Promise<unknown>, name: string, said: RegExp]

/** For each mistake the call that goes wrong, and its error: the name, and a part of the message. */
async function mistakes(way: Way) {
  const { down } = await further(way)
  const wire = way === 'memory' ? 'rsocket' : way
  const far = await further(wire)
  const small = cleanups.add(connect(far.ends.client({ limits: { sendBuffer: 500 }, retry: false })))
  const nobody = cleanups.add(connect({ host: '127.0.0.1', port: DEAF_PORT, protocol: wire, retry: false }))
  const aborted = AbortSignal.abort(new Error('given up on purpose'))
  const text = 'x'.repeat(300)
  const all: Record<(typeof MISTAKES)[number], Mistake> = {
    'passes an option that is none': [
      () => down.request('echo', 1, { timeout: -1 }),
      'OptionError',
      /options\.timeout/
    ],
    'passes data that cannot be encoded': [() => down.request('echo', { big: 5n }), 'OptionError', /data/],
    'passes a header that is no text': [
      () => down.request('echo', 1, { headers: { tenant: 5 as never } }),
      'OptionError',
      /options\.headers\["tenant"\]/
    ],
    'passes a pattern that is none': [() => down.request(true as never), 'OptionError', /pattern/],
    'calls more than its client may hold': [
      () => Promise.all([1, 2, 3].map(() => small.request('echo', text))),
      'OverloadedError',
      /limits\.sendBuffer/
    ],
    'calls where nobody listens': [() => nobody.request('echo', 1), 'ConnectionError', /127\.0\.0\.1/],
    'is not answered in time': [() => down.request('never', 1, { timeout: 1 }), 'TimeoutError', /'never'/],
    'calls with a signal that has aborted': [
      () => down.request('echo', 1, { signal: aborted }),
      'CanceledError',
      /canceled by its signal/
    ],
    'calls with a client that is closed': [
      async () => {
        const closed = connect(far.ends.client())
        await closed.close()
        return closed.request('echo', 1)
      },
      'ConnectionError',
      /client is closed/
    ],
    'is told that a further service is busy': [
      () => down.request('busy'),
      way === 'nest' ? 'RpcError' : 'RejectedError',
      /the further one is busy/
    ],
    'fails the schema of a further service': [
      () => down.request('checked', { further: 'no number' }),
      'ValidationError',
      /data\.further/
    ],
    'asks what a further service does not handle': [
      () => down.request('not.handled'),
      'PatternNotFoundError',
      /handle/
    ],
    'is not known to a further service': [
      () => down.request('unauthenticated'),
      'UnauthenticatedError',
      /not for the further one/
    ],
    'is told of the failure of a further service': [
      () => down.request('fails'),
      'RpcError',
      /the further one/
    ]
  }
  return all
}

for (const way of isInCheck ? (['nest'] as const) : WAYS) {
  /** A service, its client, what the service has logged, and which errors the client got. */
  async function start(handler: () => unknown, onError = false) {
    const logged: unknown[] = []
    const logger = { error: (_text: string, cause?: unknown) => void logged.push(cause), warn() {} }
    let runs = 0
    const ends = newWay(way)
    const service = microservice({ transport: ends.transport, logger }).message('x', () => {
      runs++
      return handler()
    })
    if (onError) service.onError(() => undefined)
    cleanups.add(await service.listen())
    const between = service.address === undefined ? undefined : await tapped(service.address.port)
    const client = cleanups.add(connect(ends.client(between && { port: between.port })))
    return { client, logged, runs: () => runs, told: () => between?.said() ?? '' }
  }

  const INTERNAL = { code: 'INTERNAL', message: 'Internal server error' }

  describe(`a handler over ${way}`, () => {
    for (const mistake of MISTAKES) {
      it(`that ${mistake} runs once, has failed for its caller, and its error is for the log`, async () => {
        const [call, name, said] = (await mistakes(way))[mistake]
        const how: Record<string, () => unknown> = {
          'with a promise': call,
          'after others': async () => {
            await Promise.resolve()
            return await call()
          },
          'in a stream': async function* () {
            yield await call()
          }
        }
        for (const [where, handler] of Object.entries(how)) {
          const { client, logged, runs, told } = await start(handler)
          const error = await client.request('x').then(
            () => assert.fail('was answered'),
            (error: RpcError) => error
          )
          assert.equal(error.constructor, RpcError, where)
          assert.deepEqual({ code: error.code, message: error.message }, INTERNAL)
          assert.equal(error.details, undefined)
          assert.deepEqual(
            error.received,
            way === 'nest' ? { status: 'error', message: INTERNAL.message } : INTERNAL
          )
          assert.doesNotMatch(told(), said)
          assert.doesNotMatch(told(), /further|options|REJECTED|VALIDATION|UNAUTHENTICATED|CONNECTION/)
          assert.equal(runs(), 1, where)
          assert.equal(logged.length, 1, where)
          assert.equal((logged[0] as Error).name, name)
          assert.match((logged[0] as Error).message, said)
        }
      })
    }

    it('that has begun to answer fails there, with nothing more told', async () => {
      const { down } = await further(way)
      const { client, logged } = await start(async function* () {
        yield 1
        yield await down.request('busy')
      })
      const values: unknown[] = []
      await assert.rejects(async () => {
        for await (const value of client.stream('x')) values.push(value)
      }, INTERNAL)
      assert.deepEqual(values, [1])
      assert.equal(logged.length, 1)
    })

    it('that lets an Observable of another service fail has failed itself', async () => {
      const { down } = await further(way)
      const { client, logged, runs } = await start(() => down.send('busy'))
      await assert.rejects(client.request('x'), INTERNAL)
      assert.deepEqual([runs(), logged.length], [1, 1])
    })

    it('with hooks for errors, which say nothing to it, is no different', async () => {
      const { down } = await further(way)
      const { client, logged, runs } = await start(() => down.request('busy'), true)
      await assert.rejects(client.request('x'), INTERNAL)
      assert.deepEqual([runs(), logged.length], [1, 1])
    })

    for (const [error, name] of [
      [new RejectedError('busy'), way === 'nest' ? 'RpcError' : 'RejectedError'],
      [new UnauthenticatedError('who are you?'), 'UnauthenticatedError'],
      [new ValidationError('data.id', 'a number', 'x'), 'ValidationError'],
      [new RpcError({ code: 'NOT_FOUND', message: 'no such thing', details: { id: 5 } }), 'RpcError']
    ] as const) {
      it(`that throws ${error.name} (${error.code}) on purpose has answered with it`, async () => {
        const logged: unknown[] = []
        const ends = newWay(way)
        const logger = { error: (...all: unknown[]) => void logged.push(all), warn() {} }
        const service = microservice({ transport: ends.transport, logger })
          .message('at once', () => {
            throw error
          })
          .message('later', async () => {
            throw error
          })
          .message('in a stream', async function* () {
            yield* []
            throw error
          })
        cleanups.add(await service.listen())
        const client = cleanups.add(connect(ends.client({ retry: false })))
        for (const pattern of ['at once', 'later', 'in a stream']) {
          const { code, message, details } = error
          await assert.rejects(client.request(pattern), { name, code, message, details })
        }
        assert.deepEqual(logged, [])
      })
    }

    for (const [pattern, code, status, details] of [
      ['fails', 'FURTHER', 418, 'further details'],
      ['busy', way === 'nest' ? 'REJECTED' : 'SERVICE_UNAVAILABLE', undefined, undefined],
      ['unauthenticated', 'UNAUTHORIZED', undefined, undefined],
      ['not.handled', 'NOT_IMPLEMENTED', undefined, undefined]
    ] as const)
      it(`that passes on what '${pattern}' of a further service has said has answered with that`, async () => {
        const { down } = await further(way)
        const { client, logged, runs } = await start(async () => {
          try {
            return await down.request(pattern)
          } catch (error) {
            throw (error as RpcError).pass()
          }
        })
        const error = await client.request('x').then(
          () => assert.fail('was answered'),
          (error: RpcError) => error
        )
        assert.equal(error.constructor, RpcError)
        assert.deepEqual([error.code, error.status, error.details], [code, status, details])
        assert.deepEqual([error.mayHaveRun, error.retryable], [true, false])
        assert.deepEqual([runs(), logged], [1, []])
      })

    it('may have run when its caller gives up or waits no longer', async () => {
      const ends = newWay(way)
      const begun = { 'given up': happening(), late: happening(), lost: happening() }
      const service = microservice({ transport: ends.transport }).message('never', ({ data }) => {
        begun[data as keyof typeof begun].happen()
        return new Promise(() => {})
      })
      cleanups.add(await service.listen())
      const client = cleanups.add(connect(ends.client()))
      const failed = (call: Promise<unknown>, name: string) =>
        assert.rejects(call, { name, mayHaveRun: true })
      const controller = new AbortController()
      const givenUp = failed(
        client.request('never', 'given up', { signal: controller.signal }),
        'CanceledError'
      )
      await begun['given up'].happened
      controller.abort()
      await givenUp
      await failed(client.request('never', 'late', { timeout: 20 }), 'TimeoutError')
      const lost = failed(client.request('never', 'lost'), 'ConnectionError')
      await begun.lost.happened
      await client.close()
      await lost
    })

    it('has certainly not run for a call that was given up before it was made', async () => {
      const ends = newWay(way)
      const service = microservice({ transport: ends.transport }).message('x', () => assert.fail('has run'))
      cleanups.add(await service.listen())
      const client = cleanups.add(connect(ends.client()))
      await assert.rejects(client.request('x', 1, { signal: AbortSignal.abort() }), {
        name: 'CanceledError',
        mayHaveRun: false
      })
      await assert.rejects(client.request('x', 1, { within: { remaining: 0 } }), {
        name: 'TimeoutError',
        mayHaveRun: false
      })
      await assert.rejects(client.request('x', 5n), { name: 'OptionError', mayHaveRun: false })
    })
  })
}

describe('where nobody listens', () => {
  for (const protocol of ['rsocket', 'nest'] as const) {
    it(`a call over ${protocol} says where, and that the connection was refused`, async () => {
      const port = DEAF_PORT
      const client = cleanups.add(connect({ host: '127.0.0.1', port, protocol }))
      const refused = {
        name: 'ConnectionError',
        code: 'CONNECTION',
        message: `Cannot connect to tcp://127.0.0.1:${port}: connection refused`,
        reason: 'ECONNREFUSED',
        mayHaveRun: false,
        retryable: true
      }
      await assert.rejects(client.connect(), refused)
      await assert.rejects(client.request('x'), refused)
      await assert.rejects(client.emit('x'), refused)
      await assert.rejects(client.stream('x').next(), refused)
    })
  }
})

describe('a client whose credentials are not accepted', () => {
  const credentials = { type: 'bearer', token: 'wrong' } as const

  /** A service that accepts only callers with the right token, and the tokens that it has checked. */
  async function start(verdict: unknown) {
    const asked: unknown[] = []
    const door = tcp({
      ...{ host: '127.0.0.1', port: 0 },
      authenticate({ credentials }) {
        asked.push(credentials)
        return (credentials?.type === 'bearer' && credentials.token === 'right') || (verdict as boolean)
      }
    })
    const service = microservice({ transport: door, logger: silent }).message('x', () => 'answered')
    cleanups.add(await service.listen())
    return { asked, port: door.address!.port }
  }

  const refused = (port: number) => ({
    name: 'UnauthenticatedError',
    code: 'UNAUTHENTICATED',
    message: `tcp://127.0.0.1:${port}: The credentials are not accepted`,
    mayHaveRun: false,
    retryable: false
  })

  for (const [said, verdict] of [
    ['false', false],
    ['nothing', undefined],
    ['what is not true', 'yes'],
    ['false later', Promise.resolve(false)],
    ['nothing later', Promise.resolve()]
  ] as const) {
    it(`because the service said ${said} learns it from its call, which is not retried`, async () => {
      const { asked, port } = await start(verdict)
      const events: ConnectionEvent[] = []
      const client = cleanups.add(
        connect({
          ...{ host: '127.0.0.1', port, credentials, reconnect: false },
          onStatus: (event) => events.push(event)
        })
      )
      await assert.rejects(client.request('x', 1, { idempotent: true }), refused(port))
      assert.deepEqual(asked, [credentials])
      // Each connection attempt checks the token once.
      await assert.rejects(client.request('x'), refused(port))
      assert.equal(asked.length, 2)
      assert.deepEqual(
        events.filter(({ type }) => type === 'retry' || type === 'ejected'),
        []
      )
    })
  }

  it('learns it from each of its calls, not only from the first', async () => {
    const { port } = await start(false)
    const reconnect = { minDelay: 1, maxDelay: 1 }
    const client = cleanups.add(connect({ host: '127.0.0.1', port, reconnect, credentials }))
    for (let call = 1; call <= 3; call++) await assert.rejects(client.request('x'), refused(port))
  })

  it('learns it from connect()', async () => {
    const { port } = await start(false)
    const endpoints = [`127.0.0.1:${port}`, `127.0.0.1:${port}`]
    const client = cleanups.add(connect({ url: endpoints, connections: 2, credentials }))
    await assert.rejects(client.connect(), refused(port))
  })

  it('learns it with several servers, of which none is ejected', async () => {
    const services = [await start(false), await start(false)]
    const events: ConnectionEvent[] = []
    const client = cleanups.add(
      connect({
        ...{ url: services.map(({ port }) => `127.0.0.1:${port}`), credentials },
        ...{ reconnect: false, eject: { failures: 1, ratio: 0 } },
        onStatus: (event) => events.push(event)
      })
    )
    await assert.rejects(client.request('x'), {
      name: 'UnauthenticatedError',
      mayHaveRun: false,
      message: /^tcp:\/\/127\.0\.0\.1:\d+: The credentials are not accepted$/
    })
    assert.deepEqual(
      services.map(({ asked }) => asked.length),
      [1, 1]
    )
    assert.deepEqual(
      events.filter(({ type }) => type === 'retry' || type === 'ejected'),
      []
    )
  })

  it('is served by those servers that accept them', async () => {
    const services = [await start(false), await start(true)]
    const client = cleanups.add(
      connect({ url: services.map(({ port }) => `127.0.0.1:${port}`), credentials })
    )
    for (let call = 1; call <= 4; call++) assert.equal(await client.request('x'), 'answered')
  })

  it('waits for the servers that have not decided yet', async () => {
    const decided = happening<boolean>()
    const services = [await start(false), await start(decided.happened)]
    const client = cleanups.add(
      connect({ url: services.map(({ port }) => `127.0.0.1:${port}`), credentials })
    )
    client.onStatus(({ type }) => type === 'connect-failed' && decided.happen(true))
    assert.equal(await client.request('x'), 'answered')
  })

  it('is another one than whose are', async () => {
    const { port } = await start(false)
    const right = { type: 'bearer', token: 'right' } as const
    const client = cleanups.add(connect({ host: '127.0.0.1', port, credentials: right }))
    assert.equal(await client.request('x'), 'answered')
  })
})

describe('every error says whether the work may have run, and whether the call may be retried', () => {
  const cause = Object.assign(new Error('in use'), { code: 'EADDRINUSE' })
  const table: [MicroserviceError, code: string, mayHaveRun: boolean, retryable: boolean][] = [
    [new RpcError('no'), 'UNKNOWN', true, false],
    [PatternNotFoundError.of('x'), 'PATTERN_NOT_FOUND', false, false],
    [new ValidationError('data', 'a number', 'x'), 'VALIDATION', true, false],
    [new RejectedError('busy'), 'REJECTED', false, true],
    [new UnauthenticatedError('who?'), 'UNAUTHENTICATED', false, false],
    [new OptionError('options.port', 'no'), 'OPTION', false, false],
    [new OverloadedError('full'), 'OVERLOADED', false, true],
    [new TimeoutError('x', 5), 'TIMEOUT', true, true],
    [new TimeoutError('x', 5, false), 'TIMEOUT', false, true],
    [new CanceledError('x'), 'CANCELED', true, false],
    [new CanceledError('x', undefined, false), 'CANCELED', false, false],
    [new ConnectionError('gone', true), 'CONNECTION', true, true],
    [new ConnectionError('gone', false), 'CONNECTION', false, true],
    [new ListenError('tcp://localhost:4000', cause), 'EADDRINUSE', false, false],
    [new PayloadTooLargeError('limits.sendBuffer', 1, 2, 'bytes'), 'PAYLOAD_TOO_LARGE', false, false],
    [new ProtocolError('nonsense'), 'PROTOCOL', true, false],
    [new WorkerError(1, 5, 'ended'), 'WORKER', true, false]
  ]
  for (const [error, code, mayHaveRun, retryable] of table) {
    it(`${error.name} (${code}): ${mayHaveRun}, ${retryable}`, () => {
      assert.deepEqual([error.code, error.mayHaveRun, error.retryable], [code, mayHaveRun, retryable])
      assert.ok(error instanceof MicroserviceError)
    })
  }

  it('and the table above has all classes', () => {
    const abstract = ['MicroserviceError', 'LocalError']
    const classes = Object.values(everything).filter(
      (value) => typeof value === 'function' && value.prototype instanceof MicroserviceError
    )
    const known = new Set(table.map(([error]) => error.constructor.name))
    assert.deepEqual(
      classes.map(({ name }) => name).filter((name) => !known.has(name) && !abstract.includes(name)),
      []
    )
  })
})
