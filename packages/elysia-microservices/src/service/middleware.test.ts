/** Middleware (functions around messages) of services and of clients, over every transport of these tests. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterEach, describe, it } from 'node:test'
import { differsOnDeno } from '@elysia-microservices/test-support'
import { firstValueFrom, interval, Observable, of, throwError } from 'rxjs'
import { connect, type SentMessage } from '../client/index.ts'
import { type Middleware, memory, type ReceivedMessage, RpcError, tap } from '../index.ts'
import { MessagePattern } from '../nest.ts'
import { tcp } from '../tcp.ts'
import { happening } from '../testing/service.ts'
import { Cleanups, type Ends, newWay, WAYS } from '../testing/ways.ts'
import type { AnyMiddleware, Handle, MiddlewareMessage, ResultEnd } from '../types/index.ts'
import { microservice } from './microservice.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const silent = { error() {}, warn() {} }
const newService = ({ transport }: Ends) => microservice({ transport, logger: silent })

/** Makes a service listen, and returns a client for it. */
async function asked(ends: Ends, service: { listen(): Promise<{ stop(): Promise<void> }> }, options = {}) {
  cleanups.add(await service.listen())
  return cleanups.add(connect(ends.client(options)))
}

/** All values of a stream. */
async function valuesOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

/** The outcome of a message as text, with the message of the error if it failed. */
function inWords(end: ResultEnd): string {
  return end.outcome === 'failed' ? `failed: ${(end.error as Error).message}` : end.outcome
}

/** A middleware that writes each message, its values and its end to the log. */
function recorder(log: string[], ended: () => void = () => {}): Middleware<ReceivedMessage> {
  return (next) => (message) => {
    const name = `${message.kind} ${message.pattern}`
    log.push(`${name} begins by ${message.transport}`)
    try {
      return tap(next(message), {
        pending: () => log.push(`${name} is pending`),
        settled: () => log.push(`${name} is settled`),
        streaming: () => log.push(`${name} streams`),
        value: (value) => log.push(`${name} gives ${JSON.stringify(value)}`),
        ended(end) {
          log.push(`${name} ${inWords(end)}`)
          ended()
        }
      })
    } catch (error) {
      log.push(`${name} throws: ${(error as Error).message}`)
      throw error
    }
  }
}

for (const way of WAYS) {
  const by = way === 'memory' ? 'memory' : 'tcp'

  describe(`what stands around the messages of a service, over ${way}`, () => {
    it('sees each request with its pattern, and its answer: a value, a promise, an error', async () => {
      const log: string[] = []
      const ends = newWay(way)
      const service = newService(ends)
        .wrap(recorder(log))
        .message('value', () => 1)
        .message({ cmd: 'later' }, async () => 2)
        .message('throws', () => {
          throw new RpcError('no')
        })
        .message('rejects', async () => {
          throw new RpcError('not either')
        })
      const client = await asked(ends, service)
      assert.equal(await client.request('value'), 1)
      assert.equal(await client.request({ cmd: 'later' }), 2)
      await assert.rejects(client.request('throws'), { message: 'no' })
      await assert.rejects(client.request('rejects'), { message: 'not either' })
      const later = 'request {"cmd":"later"}'
      assert.deepEqual(log, [
        ...[`request value begins by ${by}`, 'request value gives 1', 'request value completed'],
        ...[`${later} begins by ${by}`, `${later} is pending`, `${later} is settled`],
        ...[`${later} gives 2`, `${later} completed`],
        ...[`request throws begins by ${by}`, 'request throws throws: no'],
        ...[`request rejects begins by ${by}`, 'request rejects is pending', 'request rejects is settled'],
        'request rejects failed: not either'
      ])
    })

    it('sees a message whose pattern nobody handles', async () => {
      const log: string[] = []
      const event = happening()
      const ends = newWay(way)
      const middleware: Middleware<ReceivedMessage> = (next) => (message) => {
        try {
          return next(message)
        } catch (error) {
          log.push(`${message.kind} ${message.pattern}: ${(error as Error).name}`)
          if (message.kind === 'event') event.happen()
          throw error
        }
      }
      const client = await asked(ends, newService(ends).wrap(middleware))
      await assert.rejects(client.request('nobody'), { name: 'PatternNotFoundError' })
      await client.emit('nobody')
      await event.happened
      assert.deepEqual(log, ['request nobody: PatternNotFoundError', 'event nobody: PatternNotFoundError'])
    })

    for (const [kind, stream] of [
      ['a generator', (values: readonly number[]) => values[Symbol.iterator]()],
      [
        'an async generator',
        async function* (values: readonly number[]) {
          yield* values
        }
      ],
      ['an Observable', (values: readonly number[]) => of(...values)],
      ['a promise of a stream', async (values: readonly number[]) => of(...values)]
    ] as const) {
      it(`sees the values of ${kind}, and its end`, async () => {
        const log: string[] = []
        const ends = newWay(way)
        const service = newService(ends)
          .wrap(recorder(log))
          .message('count', () => stream([1, 2]))
        const client = await asked(ends, service)
        assert.deepEqual(await valuesOf(client.stream('count')), [1, 2])
        assert.deepEqual(
          log.filter((line) => !/pending|settled/.test(line)),
          [
            `request count begins by ${by}`,
            'request count streams',
            'request count gives 1',
            'request count gives 2',
            'request count completed'
          ]
        )
      })
    }

    it('sees that a stream has failed', async () => {
      const log: string[] = []
      const ends = newWay(way)
      const service = newService(ends)
        .wrap(recorder(log))
        .message('generator', function* () {
          yield 1
          throw new RpcError('no')
        })
        .message('observable', () => throwError(() => new RpcError('not either')))
      const client = await asked(ends, service)
      await assert.rejects(valuesOf(client.stream('generator')), { message: 'no' })
      await assert.rejects(valuesOf(client.stream('observable')), { message: 'not either' })
      assert.deepEqual(
        log.filter((line) => /failed/.test(line)),
        ['request generator failed: no', 'request observable failed: not either']
      )
    })

    it('sees each event, and that all its handlers have ended', async () => {
      const log: string[] = []
      const ended = happening()
      let count = 0
      const ends = newWay(way)
      const middleware = recorder(log, () => {
        if (++count === 3) ended.happen()
      })
      const service = newService(ends)
        .wrap(middleware)
        .event('placed', () => 'is not told')
        .event('placed', async () => {
          log.push('handled later')
        })
        .event('fails', async () => {
          throw new Error('no')
        })
        .event('at once', () => 5)
      const client = await asked(ends, service)
      for (const pattern of ['placed', 'fails', 'at once']) await client.emit(pattern)
      await ended.happened
      const lines = (pattern: string) => log.filter((line) => line.startsWith(`event ${pattern}`))
      const begins = (pattern: string) => `event ${pattern} begins by ${by}`
      const settles = (pattern: string) => [`event ${pattern} is pending`, `event ${pattern} is settled`]
      assert.deepEqual(lines('placed'), [
        ...[begins('placed'), ...settles('placed'), 'event placed gives undefined', 'event placed completed']
      ])
      assert.ok(log.indexOf('handled later') < log.indexOf('event placed is settled'))
      assert.deepEqual(lines('fails'), [begins('fails'), ...settles('fails'), 'event fails failed: no'])
      assert.deepEqual(lines('at once'), [
        ...[begins('at once'), 'event at once gives undefined', 'event at once completed']
      ])
    })

    it('may answer in place of the handler, and change what is answered', async () => {
      const ends = newWay(way)
      const middleware: Middleware<ReceivedMessage> = (next) => (message) => {
        if (message.headers['user'] === undefined) throw new RpcError({ code: 'UNAUTHORIZED' })
        if (message.data === 'cached') return 'from the cache'
        return tap(next(message), { ended() {}, error: () => new RpcError({ code: 'CHANGED' }) })
      }
      const service = newService(ends)
        .wrap(middleware)
        .message('x', async ({ data }) => {
          if (data === 'fails') throw new Error('no')
          return data
        })
      const client = await asked(ends, service)
      const ask = (data: string) => client.request('x', data, { headers: { user: '1' } })
      await assert.rejects(client.request('x', 'a'), { code: 'UNAUTHORIZED' })
      assert.equal(await ask('cached'), 'from the cache')
      assert.equal(await ask('a'), 'a')
      await assert.rejects(ask('fails'), { code: 'CHANGED' })
    })

    it('gives a store to the handler and to each step of its stream, and nothing of it to the next message', {
      skip: differsOnDeno('does not see the store of an `AsyncLocalStorage`')
    }, async () => {
      const scope = new AsyncLocalStorage<string>()
      const ends = newWay(way)
      const middleware: Middleware<ReceivedMessage> = (next) => (message) => {
        const { store } = message.headers
        if (store === undefined) return next(message)
        const run = <Result>(work: () => Result): Result => scope.run(store, work)
        return tap(
          run(() => next(message)),
          { run, ended() {} }
        )
      }
      const store = () => scope.getStore() ?? 'nothing'
      // Values so large that streams have to pause, and to go on in a later turn of the event loop.
      const padding = 'x'.repeat(500)
      const turn = () => new Promise((resolve) => setImmediate(resolve))
      const cleanedUp = happening<string>()
      const service = newService(ends)
        .wrap(middleware)
        .message('value', () => store())
        .message('later', async () => {
          await turn()
          return store()
        })
        .message('generator', function* () {
          for (let count = 0; count < 600; count++) yield [store(), padding]
        })
        .message('async generator', async function* () {
          yield [store()]
          await turn()
          for (let count = 0; count < 600; count++) yield [store(), padding]
        })
        .message(
          'observable',
          () =>
            new Observable((subscriber) => {
              subscriber.next([store()])
              setImmediate(() => {
                subscriber.next([store()])
                subscriber.complete()
              })
            })
        )
        .message('given up', async function* () {
          try {
            while (true) yield store()
          } finally {
            cleanedUp.happen(store())
          }
        })
      const client = await asked(ends, service)
      // The three calls are written in one turn of the event loop, so they arrive together.
      for (const pattern of ['value', 'later']) {
        const headers = (name: string) => ({ headers: { store: name } })
        const answers = await Promise.all([
          client.request(pattern, 0, headers('a')),
          client.request(pattern, 0),
          client.request(pattern, 0, headers('b'))
        ])
        assert.deepEqual(answers, ['a', 'nothing', 'b'])
      }
      for (const pattern of ['generator', 'async generator', 'observable']) {
        const answers = await Promise.all([
          valuesOf(client.stream(pattern, 0, { headers: { store: 'a' } })),
          valuesOf(client.stream(pattern, 0)),
          valuesOf(client.stream(pattern, 0, { headers: { store: 'b' } }))
        ])
        const seen = answers.map((values) => [...new Set((values as string[][]).map(([first]) => first))])
        assert.deepEqual(seen, [['a'], ['nothing'], ['b']], pattern)
      }
      if (way === 'nest') return
      for await (const _ of client.stream('given up', 0, { headers: { store: 'a' } })) break
      assert.equal(await cleanedUp.happened, 'a')
    })
  })

  describe(`what stands around the calls of a client, over ${way}`, () => {
    /** A service, and a client with this middleware around its calls. */
    async function start(...wrap: Middleware<SentMessage>[]) {
      const ends = newWay(way)
      const emitted = happening<unknown>()
      const given = happening()
      const service = newService(ends)
        .message('headers', ({ headers }) => headers)
        .message({ cmd: 'headers' }, ({ headers }) => headers)
        .message('stream', async function* ({ headers }) {
          yield* [headers, 2, 3]
        })
        .message('endless', ({ signal }) => {
          signal.addEventListener('abort', () => given.happen())
          return interval(1)
        })
        .message('fails', () => {
          throw new RpcError('no')
        })
        .event('event', ({ headers }) => emitted.happen(headers))
      return { client: await asked(ends, service, { wrap }), emitted, given }
    }

    const withTrace: Middleware<SentMessage> = (next) => (message) =>
      next(message.withHeaders({ ...message.headers, trace: `of ${message.kind}` }))

    it('adds headers to requests, streams and events', async () => {
      const { client, emitted } = await start(withTrace)
      const headers = { user: '1' }
      assert.deepEqual(await client.request('headers', 0, { headers }), { user: '1', trace: 'of request' })
      assert.deepEqual(await client.request({ cmd: 'headers' }), { trace: 'of request' })
      const [first] = await valuesOf(client.stream('stream', 0, { headers }))
      assert.deepEqual(first, { user: '1', trace: 'of stream' })
      assert.deepEqual(await firstValueFrom(client.send('headers')), { trace: 'of stream' })
      await client.emit('event', 0, { headers })
      assert.deepEqual(await emitted.happened, { user: '1', trace: 'of event' })
    })

    it('sees what was called, and how', async () => {
      const seen: unknown[] = []
      const { client } = await start((next) => (message) => {
        const { kind, transport, pattern, data, headers, timeout, options } = message
        seen.push([kind, transport, pattern, data, headers, timeout, options?.idempotent])
        return next(message)
      })
      await client.request({ cmd: 'headers' }, 5, { timeout: 7_000, headers: { a: 'b' }, idempotent: true })
      await valuesOf(client.stream('stream'))
      await client.emit('event', [1])
      assert.deepEqual(seen, [
        ['request', by, '{"cmd":"headers"}', 5, { a: 'b' }, 7_000, true],
        ['stream', by, 'stream', undefined, {}, undefined, undefined],
        ['event', by, 'event', [1], {}, undefined, undefined]
      ])
    })

    it('sees values and ends: of requests, of streams, and that a reader has left', async () => {
      const log: string[] = []
      const { client, given } = await start((next) => (message) => {
        const name = `${message.kind} ${message.pattern}`
        return tap(next(message), {
          value: (value) => log.push(`${name} gives ${typeof value}`),
          ended: (end) => log.push(`${name} ${inWords(end)}`)
        })
      })
      await client.request('headers')
      await assert.rejects(client.request('fails'), { message: 'no' })
      await valuesOf(client.stream('stream'))
      await assert.rejects(valuesOf(client.stream('fails')), { message: 'no' })
      await client.emit('event')
      assert.deepEqual(log.splice(0), [
        ...['request headers gives object', 'request headers completed'],
        'request fails failed: no',
        ...['stream stream gives object', 'stream stream gives number', 'stream stream gives number'],
        ...['stream stream completed', 'stream fails failed: no'],
        ...['event event gives undefined', 'event event completed']
      ])
      for await (const _ of client.stream('endless')) break
      assert.deepEqual(log.at(-1), 'stream endless canceled')
      assert.equal(log.filter((line) => line.endsWith('canceled')).length, 1)
      if (way !== 'nest') await given.happened
    })

    it('stands in the order of the list, the first outermost', async () => {
      const log: string[] = []
      const named =
        (name: string): Middleware<SentMessage> =>
        (next) =>
        (message) => {
          log.push(name)
          return tap(next(message), { ended: () => log.push(`${name} ended`) })
        }
      const { client } = await start(named('outer'), named('inner'))
      await client.request('headers')
      assert.deepEqual(log, ['outer', 'inner', 'inner ended', 'outer ended'])
    })

    it('may fail a call, or answer it', async () => {
      const middleware: Middleware<SentMessage> = (next) => (message) => {
        if (message.data === 'throw') throw new Error('from around')
        if (message.data === 'cached') return message.kind === 'stream' ? of('cached') : 'cached'
        return next(message)
      }
      const { client } = await start(middleware)
      const failed = { message: 'from around' }
      await assert.rejects(client.request('headers', 'throw'), failed)
      await assert.rejects(valuesOf(client.stream('stream', 'throw')), failed)
      await assert.rejects(client.emit('event', 'throw'), failed)
      assert.equal(await client.request('headers', 'cached'), 'cached')
      assert.deepEqual(await valuesOf(client.stream('stream', 'cached')), ['cached'])
    })

    it('may be asynchronous', async () => {
      const begun = happening()
      const goOn = happening()
      const { client } = await start((next) => async (message) => {
        if (message.data === 'left') {
          begun.happen()
          await goOn.happened
        } else await new Promise((resolve) => setImmediate(resolve))
        if (message.data === 'throw') throw new Error('from around')
        return message.data === 'a value' ? 'no stream' : next(message)
      })
      assert.deepEqual(await valuesOf(client.stream('stream')), [{}, 2, 3])
      assert.deepEqual(await firstValueFrom(client.send('headers')), {})
      await assert.rejects(valuesOf(client.stream('stream', 'throw')), { message: 'from around' })
      await assert.rejects(valuesOf(client.stream('stream', 'a value')), {
        name: 'OptionError',
        message: /^The result of a middleware for a stream must be a stream, but is 'no stream'$/
      })
      const subscription = client.send('stream', 'left').subscribe({
        next: () => assert.fail('no value'),
        error: () => assert.fail('no error'),
        complete: () => assert.fail('no end')
      })
      await begun.happened
      subscription.unsubscribe()
      goOn.happen()
      await client.request('headers')
    })

    it('is around each subscription of `send`, which is a call of its own', async () => {
      let calls = 0
      const { client } = await start((next) => (message) => {
        calls++
        return next(message)
      })
      const sent = client.send('headers')
      assert.equal(calls, 0)
      await firstValueFrom(sent)
      await firstValueFrom(sent)
      assert.equal(calls, 2)
    })
  })
}

describe('a store that stands around a message', () => {
  for (const pattern of ['value', 'stream']) {
    it(`is not that of a message that has waited for the end of its ${pattern}`, async () => {
      const scope = new AsyncLocalStorage<string>()
      const begun = happening()
      const answer = happening<string>()
      const door = tcp({ host: '127.0.0.1', port: 0, limits: { inFlight: 1 } })
      const service = microservice({ transport: door, logger: silent })
        .wrap((next) => (message) => {
          const { store } = message.headers
          if (store === undefined) return next(message)
          const run = <Result>(work: () => Result): Result => scope.run(store, work)
          const result = run(() => next(message))
          return tap(result, { run, ended() {} })
        })
        .message('value', async () => {
          begun.happen()
          return [await answer.happened, scope.getStore()]
        })
        .message('stream', async function* () {
          begun.happen()
          yield [await answer.happened, scope.getStore()]
        })
        .message('waits', () => scope.getStore() ?? 'nothing')
      cleanups.add(await service.listen())
      // Nest's protocol has no way to refuse a call, so calls beyond the limit wait.
      const { port } = door.address!
      const client = cleanups.add(connect({ host: '127.0.0.1', port, protocol: 'nest' }))
      const first = client.request(pattern, 0, { headers: { store: 'a' } })
      const waits = client.request('waits')
      await begun.happened
      answer.happen('answered')
      assert.deepEqual(await Promise.all([first, waits]), [['answered', 'a'], 'nothing'])
    })
  }
})

describe('what stands around a service that another one uses', () => {
  const named =
    (name: string, log: string[]): Middleware<ReceivedMessage> =>
    (next) =>
    (message) => {
      log.push(`${name} ${message.pattern}`)
      return next(message)
    }
  const plain = () => microservice({ transport: 'tcp', logger: silent })

  it('stands around its handlers only, inside what its user has', async () => {
    const log: string[] = []
    const ends = newWay('memory')
    const seen = happening()
    const deepest = plain()
      .wrap(named('deepest', log))
      .message('deep.*', ({ params }) => params[0])
    const used = plain()
      .wrap(named('used', log))
      .wrap(named('used too', log))
      .message('of used', () => 'used')
      .message('logs.>', ({ params }) => params[0])
      .event(/^seen/, () => seen.happen())
      .use(deepest)
    const service = newService(ends)
      .wrap(named('user', log))
      .use(used)
      .message('own', () => 'own')
    const client = await asked(ends, service)
    assert.equal(await client.request('own'), 'own')
    assert.deepEqual(log.splice(0), ['user own'])
    assert.equal(await client.request('of used'), 'used')
    assert.deepEqual(log.splice(0), ['user of used', 'used of used', 'used too of used'])
    assert.equal(await client.request('logs.a.b'), 'a.b')
    assert.deepEqual(log.splice(0), ['user logs.a.b', 'used logs.a.b', 'used too logs.a.b'])
    assert.equal(await client.request('deep.7'), '7')
    assert.deepEqual(log.splice(0), ['user deep.7', 'used deep.7', 'used too deep.7', 'deepest deep.7'])
    await client.emit('seen.now')
    await seen.happened
    assert.deepEqual(log.splice(0), ['user seen.now', 'used seen.now', 'used too seen.now'])
    await assert.rejects(client.request('nobody'), { name: 'PatternNotFoundError' })
    assert.deepEqual(log, ['user nobody'])
  })

  it('stands around the handlers of a group, behind its prefix', async () => {
    const log: string[] = []
    const ends = newWay('memory')
    const service = newService(ends)
      .group('orders', (group) => group.wrap(named('group', log)).message('create', () => 1))
      .message('other', () => 2)
    const client = await asked(ends, service)
    await client.request('orders.create')
    await client.request('other')
    assert.deepEqual(log, ['group orders.create'])
  })

  it('is outside of hooks and schemas, whose errors it sees', async () => {
    const log: string[] = []
    const ends = newWay('memory')
    const used = plain()
      .wrap(recorder(log))
      .derive(() => {
        throw new RpcError('of a hook')
      })
      .message('x', () => 1)
    const client = await asked(ends, newService(ends).use(used))
    await assert.rejects(client.request('x'), { message: 'of a hook' })
    assert.deepEqual(log, ['request x begins by memory', 'request x throws: of a hook'])
  })

  it('keeps what it has, from one message to the next, with wildcards too', async () => {
    const ends = newWay('memory')
    const counting: Middleware<ReceivedMessage> = (next) => {
      let count = 0
      return (message) => [++count, next(message)]
    }
    const used = plain()
      .wrap(counting)
      .message('exact', () => 'exact')
      .message('a.*', ({ params }) => params[0])
    const client = await asked(ends, newService(ends).use(used))
    for (const count of [1, 2, 3]) {
      assert.deepEqual(await client.request('exact'), [count, 'exact'])
      assert.deepEqual(await client.request(`a.${count}`), [count, String(count)])
    }
  })

  it('leaves a handler of several patterns what each of them stands for', async () => {
    const seen: unknown[] = []
    const ends = newWay('memory')
    const used = plain()
      .wrap(named('used', []))
      .event(['a.*', '*.7', 'a.7'], ({ params }) => void seen.push([...params]))
    const client = await asked(ends, newService(ends).use(used))
    await client.emit('a.7')
    assert.deepEqual(seen.sort(), [[], ['7'], ['a']])
  })

  it('is not there for what another service has taken over before', async () => {
    const log: string[] = []
    const ends = newWay('memory')
    const used = plain().message('first', () => 1)
    const service = newService(ends).use(used)
    used.wrap(named('late', log)).message('not taken over', () => 2)
    const client = await asked(ends, service)
    assert.equal(await client.request('first'), 1)
    await assert.rejects(client.request('not taken over'), { name: 'PatternNotFoundError' })
    assert.deepEqual(log, [])
  })
})

describe('the place of middleware in the chain', () => {
  const named =
    (name: string, log: string[]): Middleware<ReceivedMessage> =>
    (next) =>
    (message) => {
      log.push(`${name} ${message.pattern}`)
      return next(message)
    }

  it('decides which handlers it covers: those that follow', async () => {
    const log: string[] = []
    const ends = newWay('memory')
    const used = microservice({ transport: 'tcp', logger: silent })
      .message('used before', () => 1)
      .wrap(named('used', log))
      .message('used', () => 1)
    const service = newService(ends)
      .wrap(named('first', log))
      .message('before', () => 1)
      .wrap(named('second', log))
      .message('after', () => 1)
      .use(used)
      .group('g', (group) =>
        group
          .message('before', () => 1)
          .wrap(named('group', log))
          .message('after', () => 1)
      )
    const client = await asked(ends, service)
    const seen = async (pattern: string) => {
      await client.request(pattern).catch(() => {})
      return log.splice(0).map((line) => line.split(' ')[0])
    }
    assert.deepEqual(await seen('before'), ['first'])
    assert.deepEqual(await seen('after'), ['first', 'second'])
    assert.deepEqual(await seen('used before'), ['first', 'second'])
    assert.deepEqual(await seen('used'), ['first', 'second', 'used'])
    assert.deepEqual(await seen('g.before'), ['first', 'second'])
    assert.deepEqual(await seen('g.after'), ['first', 'second', 'group'])
    assert.deepEqual(await seen('nobody'), ['first'])
  })

  it('is no question for controllers, which all middleware covers', async () => {
    class Sums {
      sum() {
        return 3
      }
    }
    MessagePattern('sum')(Sums.prototype, 'sum', Object.getOwnPropertyDescriptor(Sums.prototype, 'sum')!)
    const log: string[] = []
    const ends = newWay('memory')
    const service = microservice({ transport: ends.transport, logger: silent, controllers: [Sums] })
      .message('x', () => 1)
      .wrap(named('late', log))
    const client = await asked(ends, service)
    assert.equal(await client.request('sum'), 3)
    assert.equal(await client.request('x'), 1)
    assert.deepEqual(log, ['late sum'])
  })

  it('must have a handler behind it, or the middleware is refused', async () => {
    const words = /^wrap\(late\) covers nothing/
    const late: AnyMiddleware = (next) => next
    const trailing = () =>
      microservice({ transport: memory(), logger: silent })
        .message('x', () => 1)
        .wrap(late)
    await assert.rejects(trailing().listen(), { name: 'OptionError', message: words })
    assert.throws(() => newService(newWay('memory')).use(trailing()), { message: words })
    const empty = microservice({ transport: memory(), logger: silent }).wrap(late)
    assert.throws(() => newService(newWay('memory')).use(empty), { message: words })
    cleanups.add(await empty.listen())
  })
})

describe('what stands around messages and wants to know whose', () => {
  it('is told of the service and the client, each once, and sees what they tell', async () => {
    const ends = newWay('memory')
    const seen: object[] = []
    const middleware: AnyMiddleware = Object.assign(
      <Message extends MiddlewareMessage>(next: Handle<Message>): Handle<Message> => next,
      { attach: (end: object) => void seen.push(end) }
    )
    const service = newService(ends)
      .wrap(middleware)
      .message('x', () => 1)
    const client = await asked(ends, service, { wrap: [middleware] })
    assert.equal(await client.request('x'), 1)
    const [first, second] = seen
    assert.equal(seen.length, 2)
    assert.equal(first, service)
    assert.equal(typeof Reflect.get(second!, 'onStatus'), 'function')
  })
})
