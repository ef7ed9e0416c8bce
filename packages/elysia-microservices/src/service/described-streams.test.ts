/** The facts about streams in descriptions. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { t } from 'elysia'
import { of } from 'rxjs'
import { z } from 'zod'
import { asyncApi } from '../describe.ts'
import { type Message, memory, microservice } from '../index.ts'
import { EventPattern, MessagePattern, Payload } from '../nest.ts'

const streamsOf = (service: ReturnType<typeof microservice>) =>
  Object.fromEntries(
    service.describe().handlers.map(({ patterns: [first], streams }) => [first?.pattern, streams])
  )

describe('a description', () => {
  it('knows that a generator function answers with a stream, and nothing of other functions', () => {
    const values = async function* () {
      yield 1
    }
    const service = microservice({ transport: memory() })
      .message('async', values)
      .message('sync', function* () {
        yield 1
      })
      .message('bound', values.bind(undefined))
      .message('observable', () => of(1))
      .message('value', async () => 1)
      .event('placed', async function* () {
        yield 1
      })
    assert.deepEqual(streamsOf(service as never), {
      async: { answer: true },
      sync: { answer: true },
      bound: { answer: true },
      observable: undefined,
      value: undefined,
      placed: undefined
    })
  })

  it('takes from the schema whether the data is a stream', () => {
    const service = microservice({ transport: memory() })
      .guard({ data: t.Number() }, (group) => group.message('guarded', ({ data }) => data))
      .message('one', ({ data }) => data, { data: t.Number() })
      .message('zod', ({ data }) => data, { data: z.number() })
      .message('many', ({ data }) => data, { data: t.AsyncIterator(t.Number()) })
      .message('any', ({ data }) => data)
    assert.deepEqual(streamsOf(service as never), {
      guarded: { data: false },
      one: { data: false },
      zod: { data: false },
      many: { data: true },
      any: undefined
    })
  })

  it('takes from the option what function and schema do not show, also in a group and a service that uses it', () => {
    const inner = microservice({ transport: memory() }).group('a', (group) =>
      group
        .message('ticks', () => of(1), { streams: { answer: true } })
        .message('total', async () => 1, { streams: { answer: false }, data: t.AsyncIterator(t.Number()) })
        .message('chat', ({ data }: Message<AsyncIterable<string>>) => data, {
          streams: { data: true, answer: true }
        })
    )
    const service = microservice({ transport: memory() }).use(inner)
    assert.deepEqual(streamsOf(service as never), {
      'a.ticks': { answer: true },
      'a.total': { data: true, answer: false },
      'a.chat': { data: true, answer: true }
    })
  })

  it('knows the same of the methods of controllers', () => {
    class Ticks {
      @MessagePattern('generated')
      async *generated() {
        yield 1
      }
      @MessagePattern('declared', { streams: { data: true, answer: false } })
      async declared(@Payload() data: AsyncIterable<number>) {
        let count = 0
        for await (const _ of data) count++
        return count
      }
      @EventPattern('placed')
      placed() {}
    }
    assert.deepEqual(streamsOf(microservice({ transport: memory(), controllers: [Ticks] }) as never), {
      generated: { answer: true },
      declared: { data: true, answer: false },
      placed: undefined
    })
  })

  it('says it in AsyncAPI, too', () => {
    const service = microservice({ transport: memory() })
      .message('ticks', () => of(1), { streams: { answer: true } })
      .message('value', () => 1)
    const { operations } = asyncApi(service)
    assert.deepEqual(
      Object.values(operations).map((operation) => (operation as { 'x-streams'?: object })['x-streams']),
      [{ answer: true }, undefined]
    )
  })
})

describe('the option streams', () => {
  const service = () => microservice({ transport: memory() })
  const refused = (path: string, message: RegExp) => (error: Error & { path?: string }) => {
    assert.equal(error.path, path)
    assert.match(error.message, message)
    return true
  }

  it('is refused where it is wrong, or contradicts the handler', () => {
    const cases: [path: string, message: RegExp, add: () => void][] = [
      [
        'options.streams',
        /an object such as/,
        () => service().message('x', () => 1, { streams: true as never })
      ],
      [
        'options.streams.answers',
        /answer\b/,
        () => service().message('x', () => 1, { streams: { answers: true } as never })
      ],
      [
        'options.streams.answer',
        /a boolean/,
        () => service().message('x', () => 1, { streams: { answer: 'yes' as never } })
      ],
      [
        'options.streams.answer',
        /is a generator/,
        () =>
          service().message(
            'x',
            function* () {
              yield 1
            },
            { streams: { answer: false as never } }
          )
      ],
      [
        'options.streams.data',
        /is for one value/,
        () => service().message('x', () => 1, { data: t.Number(), streams: { data: true } })
      ],
      [
        'options.streams.data',
        /is for one value/,
        () =>
          service()
            .guard({ data: t.Number() })
            .message('x', () => 1, { streams: { data: true } })
      ],
      [
        'options.streams.data',
        /is for a stream/,
        () => service().message('x', () => 1, { data: t.AsyncIterator(t.Number()), streams: { data: false } })
      ],
      ['options.streams', /is an option of each handler/, () => service().guard({ streams: {} } as never)],
      ['options.streams', /An event/, () => service().event('x', () => {}, { streams: {} } as never)]
    ]
    for (const [path, message, add] of cases) assert.throws(add, refused(path, message), path)
  })

  it('has the type of what the handler returns', () => {
    service()
      .message('stream', () => of(1), { streams: { answer: true } })
      .message('value', async () => 1, { streams: { answer: false, data: true } })
      .message('unknown', () => 1 as unknown, { streams: { answer: true } })
      // @ts-expect-error the handler returns a stream
      .message('stream-not', () => of(1), { streams: { answer: false } })
      // @ts-expect-error the handler returns one value
      .message('value-not', () => 1, { streams: { answer: true } })
  })
})
