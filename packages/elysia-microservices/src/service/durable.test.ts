import 'reflect-metadata'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import {
  type Delivery,
  Discard,
  type DurableOptions,
  ManualClock,
  memory,
  OptionError,
  RetryLater
} from '@elysia-microservices/transport'
import { type ExceptionFilter, UseFilters } from '@nestjs/common'
import { t } from 'elysia'
import { EMPTY, throwError } from 'rxjs'
import { connect } from '../client/connect.ts'
import type { UntypedStoringClient } from '../client/index.ts'
import { EventPattern, Payload } from '../controller/decorators.ts'
import { microservice } from './microservice.ts'

interface Seen {
  readonly data: unknown
  readonly delivery: Delivery
}

/** A service with one durable handler, which calls `act` with each event. */
async function setting(durable: DurableOptions | true, act: (seen: Seen) => unknown = () => {}) {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const transport = memory({ clock })
  const lines: string[] = []
  const logger = {
    error: (line: string) => void lines.push(line),
    warn: (line: string) => void lines.push(line)
  }
  const seen: Seen[] = []
  const newService = () =>
    microservice({ name: 'billing', transport, logger, drain: 1_000 }).event(
      'paid',
      ({ data, delivery }) => {
        const one = { data, delivery: delivery as Delivery }
        seen.push(one)
        return act(one)
      },
      { durable }
    )
  const service = newService()
  await service.listen()
  const client = connect<typeof service>({ transport, logger })
  return {
    clock,
    transport,
    service,
    client,
    seen,
    lines,
    newService,
    data: () => seen.map(({ data }) => data)
  }
}

const fail = () => {
  throw new Error('not now')
}

describe('a durable event', () => {
  it('is stored with its id once, and its handler learns about its delivery', async () => {
    const { client, seen, clock } = await setting(true)
    const first = await client.publish('paid', 1, { id: 'evt-7', key: 'order' })
    const again = await client.publish('paid', 1, { id: 'evt-7', key: 'order' })
    assert.deepEqual([first.id, first.duplicate, again.duplicate], ['evt-7', false, true])
    assert.equal(again.position, first.position)
    await clock.advance(0)
    assert.equal(seen.length, 1)
    const { id, key, attempt, redelivered, group, age, publishedAt, position } = (seen[0] as Seen).delivery
    assert.deepEqual([id, key, attempt, redelivered, group, age], ['evt-7', 'order', 1, false, 'billing', 0])
    assert.deepEqual([publishedAt, position], [new Date(Date.UTC(2026, 0, 1)), first.position])
  })

  it('is delivered again after growing pauses, while others go on, and is a dead letter at last', async () => {
    const { client, seen, clock, lines, data } = await setting(
      { retry: { attempts: 3, minDelay: 1_000, factor: 4 } },
      ({ data }) => data === 'bad' && fail()
    )
    await client.publish('paid', 'bad', { id: 'b', headers: { 'x-a': '1' } })
    await client.publish('paid', 'good')
    await clock.advance(999)
    assert.deepEqual(data(), ['bad', 'good'])
    await clock.advance(1)
    assert.deepEqual(data(), ['bad', 'good', 'bad'])
    await clock.advance(3_999)
    assert.equal(seen.length, 3)
    await clock.advance(1)
    assert.deepEqual(
      seen.filter(({ data }) => data === 'bad').map(({ delivery }) => delivery.attempt),
      [1, 2, 3]
    )
    await clock.advance(1_000_000)
    assert.equal(seen.length, 4)
    const [letter, ...others] = await all(client.group('billing').deadLetters.list())
    assert.equal(others.length, 0)
    assert.equal(letter?.reason, 'Error: not now')
    assert.deepEqual(
      [letter?.id, letter?.attempts, letter?.headers, letter?.data, letter?.pattern],
      ['b', 3, { 'x-a': '1' }, 'bad', 'paid']
    )
    assert.ok(lines.some((line) => line.includes('becomes a dead letter')))
  })

  it('is given back to its group from the dead letters, once', async () => {
    let isBroken = true
    const { client, clock, seen } = await setting({ retry: { attempts: 1 } }, () => isBroken && fail())
    await client.publish('paid', 1)
    await clock.advance(0)
    const letters = client.group('billing').deadLetters
    const [letter] = await all(letters.list())
    isBroken = false
    const { position } = letter as { position: string }
    assert.equal(await client.group('another').deadLetters.redrive(position), false)
    assert.equal(await letters.redrive(position), true)
    assert.equal(await letters.redrive(position), false)
    await clock.advance(0)
    assert.deepEqual(
      seen.map(({ delivery }) => delivery.attempt),
      [1, 1]
    )
    assert.deepEqual(await all(letters.list()), [])
  })

  it('with data that fails its schema is a dead letter at once', async () => {
    const clock = new ManualClock()
    const transport = memory({ clock })
    const logger = { error() {}, warn() {} }
    const service = microservice({ name: 's', transport, logger }).event('e', () => {}, {
      durable: true,
      data: t.Object({ a: t.Number() })
    })
    await service.listen()
    const client = connect({ transport })
    await client.publish('e', { a: 'x' })
    await clock.advance(0)
    const [letter] = await all(client.group('s').deadLetters.list())
    assert.match(letter?.reason ?? '', /^ValidationError: data\.a/)
    assert.equal(letter?.attempts, 1)
  })

  it('is not run again after Discard, and later after RetryLater', async () => {
    const { client, clock, seen, lines } = await setting({ retry: { attempts: 1 } }, ({ data, delivery }) => {
      if (data === 'unwanted') throw new Discard('we know it')
      if (delivery.attempt < 3) throw new RetryLater(5_000)
    })
    await client.publish('paid', 'unwanted')
    await client.publish('paid', 'later')
    await clock.advance(4_999)
    assert.equal(seen.length, 2)
    await clock.advance(5_001)
    assert.deepEqual(
      seen.map(({ data, delivery }) => `${data} ${delivery.attempt}`),
      ['unwanted 1', 'later 1', 'later 2', 'later 3']
    )
    assert.deepEqual(await all(client.group('billing').deadLetters.list()), [])
    assert.ok(lines.some((line) => line.includes('we know it')))
  })

  it('waits for those of its key before it, if they are ordered, also while they pause', async () => {
    const { client, clock, seen } = await setting(
      { ordered: true, retry: { attempts: 3, minDelay: 1_000, factor: 1 } },
      ({ data, delivery }) => data === 1 && delivery.attempt < 3 && fail()
    )
    await client.publish('paid', 1, { key: 'a' })
    await client.publish('paid', 2, { key: 'a' })
    await client.publish('paid', 3, { key: 'b' })
    await clock.advance(10_000)
    assert.deepEqual(
      seen.map(({ data, delivery }) => `${data} ${delivery.attempt}`),
      ['1 1', '3 1', '1 2', '1 3', '2 1']
    )
  })

  it('waits while no service of its group runs, and its group alone gets it', async () => {
    const { client, clock, service, newService, data } = await setting(true)
    await service.stop()
    await client.publish('paid', 1)
    await clock.advance(0)
    assert.deepEqual(data(), [])
    await newService().listen()
    await clock.advance(0)
    assert.deepEqual(data(), [1])
  })

  it('goes to each group once, whatever runs there', async () => {
    const transport = memory()
    const seen: string[] = []
    for (const [name, copy] of ['a', 'a', 'b'].map((name, copy) => [name, copy] as const))
      await microservice({ name, transport })
        .event('e', ({ data }) => void seen.push(`${name} ${data}`), { durable: true })
        .event('e', () => void seen.push(`plain ${name}`), {})
        .message(`other.${copy}`, () => 1)
        .listen()
    await connect({ transport }).publish('e', 1)
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.deepEqual(seen.sort(), ['a 1', 'b 1', 'plain a', 'plain b'])
  })

  it('that is ordered, and pauses when its service stops, has the next attempt afterwards', async () => {
    const durable = { ordered: true, retry: { attempts: 5, minDelay: 1_000, factor: 1 } }
    const { client, clock, service, newService, seen } = await setting(durable, fail)
    await client.publish('paid', 1, { key: 'a' })
    await client.publish('paid', 2, { key: 'a' })
    await clock.advance(0)
    await service.stop()
    await newService().listen()
    await clock.advance(1_000)
    const told = seen.map(({ data, delivery }) => `${data} ${delivery.attempt}`)
    assert.deepEqual(told.slice(0, 2), ['1 1', '1 2'])
  })

  it('goes back at once when its service stops before it has begun; what runs is waited for', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { client, clock, service, newService, seen } = await setting({ concurrency: 1 }, ({ data }) =>
      data === 1 ? held : undefined
    )
    for (const n of [1, 2, 3]) await client.publish('paid', n)
    await clock.advance(0)
    const stopped = service.stop()
    await newService().listen()
    await clock.advance(0)
    assert.deepEqual(
      seen.map(({ data, delivery }) => `${data} ${delivery.attempt}`),
      ['1 1', '2 1', '3 1']
    )
    release()
    await stopped
    await clock.advance(1_000_000)
    assert.equal(seen.length, 3)
  })

  it('is counted in stats(), and its options stand in describe()', async () => {
    const { client, clock, service } = await setting({ retry: { attempts: 2, minDelay: 10 } }, fail)
    await client.publish('paid', 1)
    await clock.advance(0)
    const figures = () => service.stats()[0]?.durable?.[0]
    assert.deepEqual([figures()?.lag, figures()?.group, figures()?.pattern], [1, 'billing', 'paid'])
    await clock.advance(10)
    assert.deepEqual([figures()?.lag, figures()?.redeliveries, figures()?.deadLetters], [0, 1, 1])
    assert.equal(service.describe().handlers[0]?.durable?.retry.attempts, 2)
  })

  it('waits while its group is paused', async () => {
    const { client, clock, service, data } = await setting(true)
    await client.group('billing').pause()
    await client.publish('paid', 1)
    await clock.advance(0)
    assert.deepEqual([data(), service.stats()[0]?.durable?.[0]?.isPaused], [[], true])
    await client.group('billing').resume()
    await clock.advance(0)
    assert.deepEqual(data(), [1])
  })

  it('reaches a new group from where it is to start', async () => {
    const transport = memory()
    const client = connect({ transport })
    const { position } = await client.publish('e', 1)
    await client.publish('e', 2)
    const seen: Record<string, unknown[]> = {}
    const starts = { all: 'all', fresh: 'new', behind: { after: position } } as const
    for (const [name, start] of Object.entries(starts)) {
      seen[name] = []
      await microservice({ name, transport })
        .event('e', ({ data }) => void seen[name]?.push(data), { durable: { start } })
        .listen()
    }
    await client.publish('e', 3)
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.deepEqual(seen, { all: [1, 2, 3], fresh: [3], behind: [2, 3] })
  })

  it('may be declared by a decorator, as with Nest', async () => {
    const seen: unknown[] = []
    class Payments {
      @EventPattern('paid', { durable: { group: 'ledger' } })
      paid(@Payload() data: unknown): void {
        seen.push(data)
      }
    }
    const transport = memory()
    const service = microservice({ transport, controllers: [new Payments()] })
    await service.listen()
    await connect({ transport }).publish('paid', 1)
    await new Promise((resolve) => setTimeout(resolve, 0))
    assert.deepEqual(seen, [1])
    assert.equal(service.describe().handlers[0]?.durable?.group, 'ledger')
  })
})

describe('what cannot be durable is refused', () => {
  const refused = (path: RegExp | string, message: RegExp) => (error: unknown) => {
    assert.ok(error instanceof OptionError)
    assert.match(error.path, path instanceof RegExp ? path : new RegExp(path))
    assert.match(error.message, message)
    return true
  }

  it('in a transaction, over a store that has none', async () => {
    for (const place of [{ transport: memory() }, { transport: tcp({ port: 0 }), store: memory() }])
      await assert.rejects(
        microservice({ ...place, name: 's' })
          .event('e', () => {}, { durable: { transactional: true } })
          .listen(),
        refused('transactional', /'e' is transactional, and memory cannot acknowledge.*postgres\(\{ sql \}\)/)
      )
  })

  it('on a transport that stores nothing, at the start', async () => {
    const service = microservice({ transport: tcp({ port: 0 }), name: 's' }).event('e', () => {}, {
      durable: true
    })
    await assert.rejects(
      service.listen(),
      refused('durable', /'e' is durable, and tcp stores no events.*a transport that stores events/)
    )
    const client = connect({ transport: tcp({ port: 1 }) }) as UntypedStoringClient
    await assert.rejects(
      client.publish('e', 1),
      refused('transport', /tcp\(\) stores no events.*or a transport that stores events/)
    )
    assert.throws(() => client.group('g').deadLetters, refused('transport', /stores no events/))
    await client.close()
  })

  it('without a group, and with options that are none', async () => {
    const service = microservice({ transport: memory() }).event('e', () => {}, { durable: true })
    await assert.rejects(service.listen(), refused('durable.group', /has no group/))
    const bad = (durable: unknown) => () =>
      microservice({ transport: memory() }).event('e', () => {}, { durable: durable as true })
    assert.throws(bad({ retry: { attempts: 0 } }), refused('durable.retry.attempts', /whole number/))
    assert.throws(bad({ concurency: 3 }), refused('durable.concurency', /did you mean/))
    assert.throws(bad({ group: 'a b' }), refused('durable.group', /without blanks/))
    assert.throws(bad({ start: { since: 'yesterday' } }), refused('durable.start', /since: Date/))
    assert.throws(bad('yes'), refused('durable', /object of options/))
    const asMessage = { durable: true } as object
    assert.throws(
      () => microservice({ transport: memory() }).message('m', () => 1, asMessage),
      refused('durable', /Only events/)
    )
    assert.throws(
      () => microservice({ transport: memory() }).event(/e/, () => {}, { durable: true }),
      refused('pattern', /RegExp/)
    )
  })

  it('with options of publish() that are none', async () => {
    const client = connect({ transport: memory() })
    const wrong = (options: unknown) => client.publish('e', 1, options as object)
    await assert.rejects(wrong(null), refused('options', /object of options/))
    await assert.rejects(wrong({ id: 7 }), refused('options.id', /a text/))
    await assert.rejects(wrong({ key: 'a\nb' }), refused('options.key', /control characters/))
    await assert.rejects(wrong({ signal: {} }), refused('options.signal', /AbortSignal/))
    await assert.rejects(wrong({ timeout: 'soon' }), refused('options.timeout', /milliseconds/))
    await assert.rejects(wrong({ headers: { a: 1 } }), refused('headers', /a string/))
    await assert.rejects(client.publish('e', 1n), OptionError)
  })

  it('with two services of one group that disagree', async () => {
    const transport = memory()
    await microservice({ transport, name: 's' })
      .event('e', () => {}, { durable: true })
      .listen()
    const other = microservice({ transport, name: 's' }).event('e', () => {}, { durable: { ordered: true } })
    await assert.rejects(other.listen(), refused('durable.ordered', /ordered: false/))
  })
})

async function all<Value>(values: AsyncIterable<Value>): Promise<Value[]> {
  const list: Value[] = []
  for await (const value of values) list.push(value)
  return list
}

describe('an exception filter that answers the failure of a durable event', () => {
  const cases: readonly (readonly [string, () => unknown])[] = [
    ['EMPTY', () => EMPTY],
    ['a value', () => 'handled'],
    ['null later', async () => null],
    ['a promise of EMPTY', async () => EMPTY]
  ]
  async function failing(answer: () => unknown) {
    class Swallow implements ExceptionFilter {
      catch() {
        return answer()
      }
    }
    class Billing {
      @EventPattern('paid', { durable: { retry: { attempts: 1 } } })
      @UseFilters(new Swallow())
      paid(@Payload() _data: unknown) {
        throw new Error('no money')
      }
    }
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const transport = memory({ clock })
    const lines: string[] = []
    const add = (line: string, cause?: unknown) =>
      void lines.push(`${line}: ${cause instanceof Error ? cause.message : JSON.stringify(cause)}`)
    const service = microservice({
      name: 'billing',
      transport,
      logger: { error: add, warn: add },
      controllers: [Billing]
    })
    await service.listen()
    const client = connect({ transport, logger: { error() {}, warn() {} } })
    await client.publish('paid', 1, { id: 'one' })
    const isBusy = () => service.stats().some(({ inFlight }) => inFlight.current > 0)
    while (lines.length === 0 || isBusy()) await new Promise((resolve) => setImmediate(resolve))
    await client.close()
    await service.stop()
    return lines
  }
  for (const [name, answer] of cases)
    it(`with ${name} is told of in the log: the event counts as handled`, async () => {
      assert.deepEqual(await failing(answer), [
        "The filter Swallow has answered the failure of the durable event 'paid', so the event counts as handled: it is acknowledged and not delivered again. To let the event fail, the filter has to throw, or return throwError(…): no money"
      ])
    })

  it('with an error lets it fail, as it says', async () => {
    const [line] = await failing(() => throwError(() => ({ code: 404 })))
    assert.match(line!, /dead letter/)
    assert.match(line!, /\{"code":404\}/)
  })
})
