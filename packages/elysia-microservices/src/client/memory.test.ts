/** `memory()` as users have it in their tests: services and clients behave as over TCP, but need no port. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { t } from 'elysia'
import { firstValueFrom, from, interval, of, toArray } from 'rxjs'
import { type Message, memory, microservice, type Transport } from '../index.ts'
import { happening } from '../testing/service.ts'
import { Cleanups } from '../testing/ways.ts'
import { type ConnectionEvent, connect } from './index.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

/** A service on a transport, with a logger that keeps its lines. */
function on(transport: Transport, name?: string) {
  const logged: unknown[][] = []
  const logger = { error: (...all: unknown[]) => void logged.push(all), warn() {} }
  return { service: microservice({ transport, name, logger }), logged }
}

const listening = async (service: { listen(): Promise<{ stop(): Promise<void> }> }) =>
  cleanups.add(await service.listen())
const clientOf = (transport: Transport, options = {}) => cleanups.add(connect({ transport, ...options }))

/** Waits for one turn of the event loop, in which everything that was sent arrives. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** All values of a stream. */
async function valuesOf(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of stream) values.push(value)
  return values
}

describe('values over memory()', () => {
  /** A service that returns the data it gets, and remembers that data. */
  async function echo(options?: Parameters<typeof memory>[0]) {
    const transport = memory(options)
    const { service, logged } = on(transport)
    const got: unknown[] = []
    service
      .message('echo', ({ data }) => {
        got.push(data)
        return data
      })
      .message('map', () => new Map([[1, 2]]))
      .message('maps', function* () {
        yield 1
        yield new Map()
      })
      .message('date', () => new Date(0))
      .message('nothing', () => undefined)
    await listening(service)
    return { client: clientOf(transport), got, logged }
  }

  it('are encoded on their way, as a wire would: nothing is shared', async () => {
    const { client, got } = await echo()
    const data = { list: [1, { two: 2 }], text: 'ü', none: null, left: undefined }
    const answer = await client.request('echo', data)
    assert.deepEqual(answer, { list: [1, { two: 2 }], text: 'ü', none: null })
    assert.notEqual(got[0], data)
    assert.notEqual(answer, got[0])
    assert.equal(await client.request('nothing'), undefined)
    assert.equal(await client.request('echo'), undefined)
  })

  it('become what JSON makes of them: a date arrives as text, both ways', async () => {
    const { client, got } = await echo()
    assert.equal(await client.request('echo', new Date(0)), '1970-01-01T00:00:00.000Z')
    assert.deepEqual(got, ['1970-01-01T00:00:00.000Z'])
    assert.equal(await client.request('date'), '1970-01-01T00:00:00.000Z')
  })

  for (const [what, value] of [
    ['a Map', new Map()],
    ['a Map somewhere inside', { list: [new Map()] }],
    ['a Set', new Set()],
    ['a bigint', 5n]
  ] as const) {
    it(`that no wire could carry are refused where they are sent: ${what}`, async () => {
      const { client, got } = await echo()
      const refused = { name: 'OptionError', code: 'OPTION', mayHaveRun: false, message: /data/ }
      await assert.rejects(client.request('echo', value), refused)
      await assert.rejects(client.stream('echo', value).next(), refused)
      await assert.rejects(client.emit('echo', value), refused)
      await assert.rejects(valuesOf(client.stream('echo', from([1, value]))), refused)
      assert.ok(got.length <= 1)
    })
  }

  it('that a handler must not answer with are its failure', async () => {
    const { client, logged } = await echo()
    const failed = { code: 'INTERNAL', message: 'Internal server error' }
    await assert.rejects(client.request('map'), failed)
    const values: unknown[] = []
    await assert.rejects(async () => {
      for await (const value of client.stream('maps')) values.push(value)
    }, failed)
    assert.deepEqual(values, [1])
    assert.equal(logged.length, 2)
    const [, error] = logged[0] as [string, Error & { cause: Error }]
    assert.match(error.cause.message, /Map/)
  })

  it('are what another codec makes of them, if the transport was given one', async () => {
    const { client } = await echo({ codec: 'msgpack' })
    const answer = (await client.request('echo', new Uint8Array([1, 2]))) as Uint8Array
    assert.deepEqual([...answer], [1, 2])
  })

  it('need a codec that there is', () => {
    assert.throws(() => memory({ codec: 'xml' as 'json' }), {
      name: 'OptionError',
      path: 'options.codec',
      message: /one of 'json', 'bytes'/
    })
  })
})

describe('a message over memory()', () => {
  it('has all that others have, but no connection', async () => {
    const transport = memory()
    const { service } = on(transport)
    service.message(
      { cmd: 'all', v: 1 },
      ({ pattern, headers, timeout, kind, transport, peer, delivery }) => [
        ...[pattern, headers, timeout, kind, transport],
        ...[peer === undefined, delivery === undefined]
      ]
    )
    await listening(service)
    const client = clientOf(transport)
    const options = { headers: { tenant: 'a' }, timeout: 4_000 }
    assert.deepEqual(await client.request({ v: 1, cmd: 'all' }, 1, options), [
      ...['{"v":1,"cmd":"all"}', { tenant: 'a' }, 4_000, 'request', 'memory'],
      ...[true, true]
    ])
  })

  it('has types, schemas, hooks and wildcards as over any transport', async () => {
    const transport = memory()
    const service = microservice({ transport })
      .derive(({ headers }) => ({ user: headers['user'] ?? 'nobody' }))
      .message('orders.*', ({ params, user, data }) => [params[0], user, data], { data: t.Number() })
    await listening(service)
    const client = cleanups.add(connect<typeof service>({ transport }))
    assert.deepEqual(await client.request('orders.7', 5, { headers: { user: 'Ada' } }), ['7', 'Ada', 5])
    await assert.rejects(client.request('orders.7', 'text' as never), {
      name: 'ValidationError',
      path: 'data'
    })
  })

  it('is given up with the message that it was called for', async () => {
    const [near, far] = [memory(), memory()]
    const begun = happening()
    const aborted = happening()
    const { service: inner } = on(far)
    inner.message('wait', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.happen())
      begun.happen()
      return new Promise(() => {})
    })
    await listening(inner)
    const down = clientOf(far)
    const { service: outer } = on(near)
    outer.message('waiting', (message) => down.request('wait', 1, { within: message }))
    await listening(outer)
    const controller = new AbortController()
    const asked = assert.rejects(clientOf(near).request('waiting', 1, { signal: controller.signal }), {
      name: 'CanceledError'
    })
    await begun.happened
    controller.abort()
    await asked
    await aborted.happened
  })

  it('that waits too long fails, and its handler is told', async () => {
    const transport = memory()
    const aborted = happening()
    const { service } = on(transport)
    service.message('never', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.happen())
      return new Promise(() => {})
    })
    await listening(service)
    await assert.rejects(clientOf(transport).request('never', 1, { timeout: 5 }), {
      name: 'TimeoutError',
      message: "No answer to 'never' within 5 ms",
      mayHaveRun: true
    })
    await aborted.happened
    await assert.rejects(clientOf(transport, { timeout: 5 }).request('never'), { name: 'TimeoutError' })
  })

  it('is answered with the error that its handler throws', async () => {
    const transport = memory()
    class Taken extends Error {
      readonly details = { by: 'Ada' }
    }
    const { service } = on(transport)
    service.error('TAKEN', Taken).message('take', () => {
      throw new Taken('it is taken')
    })
    await listening(service)
    await assert.rejects(clientOf(transport).request('take'), {
      name: 'RpcError',
      code: 'TAKEN',
      message: 'it is taken',
      details: { by: 'Ada' }
    })
  })
})

describe('several services on one memory()', () => {
  /** Services that answer with their own name, and a list of the events that each service got. */
  async function start(...names: (readonly [name: string | undefined, who: string])[]) {
    const transport = memory()
    const events: string[] = []
    for (const [name, who] of names) {
      const { service } = on(transport, name)
      service
        .message('who', () => who)
        .message(`only ${who}`, () => who)
        .event('event', () => void events.push(who))
      await listening(service)
    }
    return { client: clientOf(transport), events }
  }

  it('answer each what it handles, with names and without', async () => {
    const { client } = await start([undefined, 'a'], [undefined, 'b'], ['named', 'c'])
    for (const who of ['a', 'b', 'c', 'a']) assert.equal(await client.request(`only ${who}`), who)
    await assert.rejects(client.request('only d'), { name: 'PatternNotFoundError', mayHaveRun: false })
  })

  for (const name of ['orders', undefined]) {
    it(`take turns with what both handle, ${name === undefined ? 'without a name' : 'of one name'}`, async () => {
      const { client } = await start([name, 'a'], [name, 'b'])
      const answers: unknown[] = []
      for (let call = 0; call < 6; call++) answers.push(await client.request('who'))
      const [first, second] = answers
      assert.deepEqual([first, second].sort(), ['a', 'b'])
      assert.deepEqual(answers, [first, second, first, second, first, second])
    })
  }

  it('get each event once a name: those of one name take turns, those without get all', async () => {
    const { client, events } = await start(
      ['orders', 'orders 1'],
      ['orders', 'orders 2'],
      ['mail', 'mail'],
      [undefined, 'unnamed 1'],
      [undefined, 'unnamed 2']
    )
    const seen = new Set<string>()
    for (let event = 0; event < 10; event++) {
      await client.emit('event')
      const got = events.splice(0)
      const orders = got.filter((who) => who.startsWith('orders'))
      assert.equal(orders.length, 1)
      seen.add(orders[0] as string)
      const others = got.filter((who) => !who.startsWith('orders'))
      assert.deepEqual(others.sort(), ['mail', 'unnamed 1', 'unnamed 2'])
    }
    assert.deepEqual([...seen].sort(), ['orders 1', 'orders 2'])
  })

  it('of different names share events, and stored events, in one group', async () => {
    const transport = memory()
    const got: unknown[] = []
    const handle = ({ data }: { readonly data: unknown }) => {
      got.push(data)
      if (got.length === 8) all.happen(0)
    }
    const all = happening<number>()
    for (const name of ['orders', 'old-orders'])
      await listening(
        microservice({ name, group: 'orders', transport })
          .event('event', handle)
          .event('stored', handle, { durable: true })
      )
    const client = cleanups.add(connect({ transport }))
    for (let event = 0; event < 4; event++) {
      await client.emit('event', event)
      await client.publish('stored', event)
    }
    await all.happened
    assert.deepEqual(got.sort(), [0, 0, 1, 1, 2, 2, 3, 3])
  })

  it('are all seen by one that handles every event, which answers for none of them', async () => {
    const transport = memory()
    const [orders, audit] = [on(transport), on(transport)]
    const seen: string[] = []
    orders.service.message('get', () => 'an order').event('paid', () => void seen.push('orders'))
    audit.service.event('>', ({ pattern }) => void seen.push(`audit: ${pattern}`))
    for (const { service } of [audit, orders]) await listening(service)
    const client = clientOf(transport)
    for (let call = 0; call < 4; call++) assert.equal(await client.request('get'), 'an order')
    await assert.rejects(client.request('mistyped'), { name: 'PatternNotFoundError' })
    assert.deepEqual(seen, [])
    await client.emit('paid')
    await client.emit('sent')
    assert.deepEqual(seen.sort(), ['audit: paid', 'audit: sent', 'orders'])
    assert.deepEqual([orders.logged, audit.logged], [[], []])
  })

  it('say once that none of them handles an event', async () => {
    const transport = memory()
    const all = [on(transport), on(transport)]
    for (const { service } of all) await listening(service.message('who', () => 1))
    await clientOf(transport).emit('paid')
    assert.match(
      String(all.flatMap(({ logged }) => logged)),
      /^There is no matching event handler[^,]* paid,?$/
    )
  })

  it('have nothing to do with those on another one', async () => {
    const { client } = await start([undefined, 'a'])
    const other = await start([undefined, 'b'])
    assert.deepEqual(await Promise.all([client.request('who'), other.client.request('who')]), ['a', 'b'])
  })

  it('give their work to the one that is left when the other stops', async () => {
    const transport = memory()
    const services = ['a', 'b'].map((who) => on(transport, 'one').service.message('who', () => who))
    for (const service of services) await listening(service)
    const client = clientOf(transport)
    await services[0]!.stop()
    for (let call = 0; call < 3; call++) assert.equal(await client.request('who'), 'b')
    await services[0]!.listen()
    const answers = [await client.request('who'), await client.request('who')]
    assert.deepEqual(answers.sort(), ['a', 'b'])
  })
})

describe('an event over memory()', () => {
  it('is handled by all handlers whose pattern matches, and what fails is logged', async () => {
    const transport = memory()
    const { service, logged } = on(transport)
    const seen: unknown[] = []
    service
      .event('placed.*', ({ params, kind }) => void seen.push([params[0], kind]))
      .event('placed.7', ({ data }) => void seen.push(data))
      .event('placed.7', async () => {
        throw new Error('no')
      })
    await listening(service)
    const client = clientOf(transport)
    assert.equal(await client.emit('placed.7', { id: 7 }), undefined)
    assert.deepEqual(seen, [['7', 'event'], { id: 7 }])
    await turn()
    assert.deepEqual(
      logged.map(([text, error]) => [text, (error as Error).message]),
      [["A handler of the event 'placed.7' failed", 'no']]
    )
    await client.emit('unknown')
    assert.match(String(logged[1]?.[0]), /no matching event handler .* Event pattern: unknown/)
  })
})

describe('a stream over memory()', () => {
  it('gives all values, in order: of a generator, an Observable, an iterator', async () => {
    const transport = memory()
    const { service } = on(transport)
    const many = Array.from({ length: 5_000 }, (_, index) => index)
    service
      .message('generator', async function* () {
        yield* many
      })
      .message('iterator', () => many[Symbol.iterator]())
      .message('observable', () => from(many))
      .message('promise', async () => of(1, 2))
      .message('list', () => [1, 2])
    await listening(service)
    const client = clientOf(transport)
    for (const pattern of ['generator', 'iterator', 'observable'])
      assert.deepEqual(await valuesOf(client.stream(pattern)), many)
    assert.deepEqual(await firstValueFrom(client.send('promise').pipe(toArray())), [1, 2])
    assert.deepEqual(await valuesOf(client.stream('list')), [[1, 2]])
    assert.equal(await client.request('generator'), 0)
  })

  it('is no further than its slow reader wants, and ends with it', async () => {
    const transport = memory()
    const { service } = on(transport)
    const left = happening<number>()
    let made = 0
    service.message('endless', function* () {
      try {
        while (true) yield ++made
      } finally {
        left.happen(made)
      }
    })
    await listening(service)
    let read = 0
    for await (const value of clientOf(transport).stream('endless')) {
      assert.equal(value, ++read)
      await turn()
      assert.ok(made - read <= 1_024, `${made - read} values ahead`)
      if (read === 100) break
    }
    assert.ok((await left.happened) <= 100 + 1_024)
  })

  it('of an Observable is unsubscribed from when its reader leaves', async () => {
    const transport = memory()
    const { service } = on(transport)
    const aborted = happening()
    service.message('ticks', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.happen())
      return interval(1)
    })
    await listening(service)
    const client = clientOf(transport)
    for await (const _ of client.stream('ticks')) break
    await aborted.happened
    assert.equal(service.stats()[0]?.streams, 0)
  })

  it('fails where its handler does, behind its values', async () => {
    const transport = memory()
    const { service } = on(transport)
    service.message('fails', async function* () {
      yield 1
      throw new Error('secret')
    })
    await listening(service)
    const values: unknown[] = []
    await assert.rejects(
      async () => {
        for await (const value of clientOf(transport).stream('fails')) values.push(value)
      },
      { code: 'INTERNAL', message: 'Internal server error' }
    )
    assert.deepEqual(values, [1])
  })
})

describe('a channel over memory()', () => {
  const start = async () => {
    const transport = memory()
    const { service } = on(transport)
    const logged: string[] = []
    const logger = { error: (text: string) => void logged.push(text), warn() {} }
    const left = happening()
    const failed = happening<unknown>()
    service
      .message('double', async function* ({ data }: Message<AsyncIterable<number>>) {
        for await (const value of data) yield value * 2
      })
      .message('sum', async ({ data }: Message<AsyncIterable<number>>) => {
        let sum = 0
        for await (const value of data) sum += value
        return sum
      })
      .message('two', async function* ({ data }: Message<AsyncIterable<number>>) {
        let count = 0
        for await (const value of data) {
          yield value
          if (++count === 2) return
        }
      })
      .message('fails', async ({ data }: Message<AsyncIterable<number>>) => {
        try {
          for await (const _ of data);
        } catch (error) {
          failed.happen(error)
        }
      })
    await listening(service)
    return { client: clientOf(transport, { logger }), left, failed, service, logged }
  }

  it('goes both ways at once, in order, whatever gives the values', async () => {
    const { client } = await start()
    const many = Array.from({ length: 1_000 }, (_, index) => index)
    const doubled = many.map((value) => value * 2)
    async function* generator() {
      yield* many
    }
    assert.deepEqual(await valuesOf(client.stream('double', generator())), doubled)
    assert.deepEqual(await valuesOf(client.stream('double', from(many))), doubled)
    assert.deepEqual(await valuesOf(client.stream('double', from([]))), [])
    assert.deepEqual(await valuesOf(client.stream('double', of(1))), [2])
    assert.equal(await client.request('sum', generator()), 499_500)
  })

  it('ends its source when the handler wants no more', async () => {
    const { client, left } = await start()
    async function* endless() {
      try {
        for (let value = 0; ; value++) yield value
      } finally {
        left.happen()
      }
    }
    assert.deepEqual(await valuesOf(client.stream('two', endless())), [0, 1])
    await left.happened
  })

  it('ends its source when its reader leaves', async () => {
    const { client, left, service } = await start()
    async function* endless() {
      try {
        for (let value = 0; ; value++) yield value
      } finally {
        left.happen()
      }
    }
    for await (const _ of client.stream('double', endless())) break
    await left.happened
    assert.equal(service.stats()[0]?.inFlight.current, 0)
  })

  it('tells the handler that its source has failed, and its call too, and the log', async () => {
    const { client, failed, logged } = await start()
    async function* broken() {
      yield 1
      throw new Error('of the source')
    }
    await assert.rejects(client.request('fails', broken()), { message: 'of the source' })
    assert.ok((await failed.happened) instanceof Error)
    assert.deepEqual(logged, ["The input of the channel 'fails' failed"])
  })
})

describe('a service on memory() that stops', () => {
  it('lets what is in flight end, and takes nothing new', async () => {
    const transport = memory()
    const { service } = on(transport)
    const begun = happening()
    const answer = happening<number>()
    const handled: unknown[] = []
    service
      .message('slow', () => {
        begun.happen()
        return answer.happened
      })
      .event('event', async () => {
        await answer.happened
        handled.push('event')
      })
    await service.listen()
    const client = clientOf(transport)
    const asked = client.request('slow')
    await client.emit('event')
    await begun.happened
    let hasStopped = false
    const stopping = service.stop().then(() => {
      hasStopped = true
    })
    await assert.rejects(client.request('slow'), { name: 'ConnectionError', mayHaveRun: false })
    assert.equal(hasStopped, false)
    assert.equal(service.stats()[0]?.inFlight.current, 2)
    answer.happen(5)
    assert.equal(await asked, 5)
    await stopping
    assert.deepEqual(handled, ['event'])
    await service.listen()
    cleanups.add(service)
    assert.equal(await client.request('slow'), 5)
  })

  it('gives up what is in flight when its time is over, and says so', async () => {
    const transport = memory()
    const aborted = happening()
    const begun = happening()
    const service = microservice({ transport, drain: 1 }).message('never', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.happen())
      begun.happen()
      return new Promise(() => {})
    })
    await service.listen()
    const asked = assert.rejects(clientOf(transport).request('never'), { mayHaveRun: true })
    await begun.happened
    await service.stop()
    await asked
    await aborted.happened
  })
})

describe('a client of memory()', () => {
  const nobody = {
    name: 'ConnectionError',
    code: 'CONNECTION',
    mayHaveRun: false,
    retryable: true,
    message: /^No service listens on this memory\(\) transport/
  }

  it('says that nobody is there, and is served once somebody is', async () => {
    const transport = memory()
    const client = clientOf(transport)
    await assert.rejects(client.connect(), nobody)
    await assert.rejects(client.request('x'), nobody)
    await assert.rejects(client.emit('x'), nobody)
    await assert.rejects(client.stream('x').next(), nobody)
    await assert.rejects(client.stream('x', from([1, 2])).next(), nobody)
    const { service } = on(transport)
    // The service is made, but does not listen yet.
    service.message('x', () => 1)
    await assert.rejects(client.request('x'), nobody)
    await listening(service)
    await client.connect()
    assert.equal(await client.request('x'), 1)
    await service.stop()
    await assert.rejects(client.request('x'), nobody)
  })

  it('that is closed fails what it has asked, and is of no use any more', async () => {
    const transport = memory()
    const aborted = happening()
    const begun = happening()
    const { service } = on(transport)
    service.message('never', ({ signal }) => {
      signal.addEventListener('abort', () => aborted.happen())
      begun.happen()
      return new Promise(() => {})
    })
    await listening(service)
    const client = connect({ transport })
    const events: ConnectionEvent[] = []
    client.onStatus((event) => events.push(event))
    assert.equal(client.status, 'connected')
    const asked = assert.rejects(client.request('never'), { name: 'ConnectionError', mayHaveRun: true })
    await begun.happened
    await client.close()
    await asked
    await aborted.happened
    assert.equal(client.status, 'closed')
    assert.deepEqual(events, [{ type: 'status', status: 'closed' }])
    const closed = { name: 'ConnectionError', message: /client is closed/, mayHaveRun: false }
    await assert.rejects(client.request('never'), closed)
    await assert.rejects(client.emit('never'), closed)
    await assert.rejects(client.connect(), closed)
    await assert.rejects(client.stream('never').next(), closed)
    await client.close()
  })

  it('gives up a call by its signal, before it leaves and after', async () => {
    const transport = memory()
    const aborted = happening()
    const begun = happening()
    let runs = 0
    const { service } = on(transport)
    service.message('never', ({ signal }) => {
      runs++
      signal.addEventListener('abort', () => aborted.happen())
      begun.happen()
      return new Promise(() => {})
    })
    await listening(service)
    const client = clientOf(transport)
    const early = { name: 'CanceledError', mayHaveRun: false }
    await assert.rejects(client.request('never', 1, { signal: AbortSignal.abort() }), early)
    const controller = new AbortController()
    const atOnce = assert.rejects(client.request('never', 1, { signal: controller.signal }), early)
    controller.abort()
    await atOnce
    assert.equal(runs, 0)
    const later = new AbortController()
    const asked = assert.rejects(client.request('never', 1, { signal: later.signal }), {
      name: 'CanceledError',
      mayHaveRun: true
    })
    await begun.happened
    later.abort()
    await asked
    await aborted.happened
    assert.deepEqual([runs, service.stats()[0]?.inFlight.current], [1, 0])
  })
})

describe('a channel over memory()', () => {
  it('fails if one of its values is nested too deeply, and nothing else does', async () => {
    const transport = memory()
    const { service } = on(transport)
    service.message('last', async ({ data }) => {
      let last: unknown
      for await (const value of data as AsyncIterable<unknown>) last = value
      return last
    })
    await listening(service)
    const client = clientOf(transport)
    const deep: unknown = JSON.parse(`${'['.repeat(1_100)}${']'.repeat(1_100)}`)
    for (const values of [[deep], [1, deep]]) await assert.rejects(client.request('last', from(values)))
    assert.equal(await client.request('last', from([1, 2])), 2)
  })
})
