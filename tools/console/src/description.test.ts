import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { MAX_PATTERN, MAX_PATTERNS, readDescription } from './description.ts'

const handler = (pattern: unknown, more: object = {}) => ({
  kind: 'message',
  patterns: [{ kind: 'exact', pattern }],
  hooks: [],
  ...more
})
const figures = (pattern: string, more: object = {}) => ({
  kind: 'message',
  pattern,
  inFlight: 0,
  outcomes: { OK: 1 },
  durations: { bounds: [0.1, 1], counts: [1, 0, 0] },
  ...more
})
const described = (more: object) => readDescription({ transports: [], handlers: [], ...more })

describe('readDescription', () => {
  it('reads the description of a service', () => {
    const read = readDescription({
      name: 'orders',
      version: '1.2.0',
      process: { name: 'shop', clients: ['till', 7] },
      status: 'listening',
      transports: [
        {
          transport: 'tcp',
          address: { host: '::1', port: 4000 },
          inFlight: { current: 2, limit: false },
          connections: { current: 1, limit: 10 },
          streams: 3,
          refused: { requests: 4 },
          unavailable: 'no stream',
          durable: [
            { pattern: 'paid', group: 'billing', lag: 3, redeliveries: 1, deadLetters: 2, isPaused: true }
          ]
        }
      ],
      handlers: [
        handler('a', {
          data: { type: 'string' },
          errors: { FULL: { status: 409 } },
          timeout: 500,
          idempotent: true,
          streams: { data: false, answer: true },
          hooks: [{ type: 'beforeHandle', name: 'check' }]
        })
      ],
      figures: [figures('a')],
      parts: [
        {
          name: 'outbox',
          attributes: { schema: 's', engine: 'nats' },
          figures: { pending: 4, oldest: 500, failed: 1 }
        },
        { name: 'other', attributes: {}, figures: {} }
      ]
    })
    assert.deepEqual(read.described, {
      name: 'orders',
      version: '1.2.0',
      status: 'listening',
      isCounted: true,
      process: { name: 'shop', clients: ['till', ''] },
      patterns: [
        {
          kind: 'message',
          form: 'exact',
          pattern: 'a',
          data: { type: 'string' },
          errors: { FULL: { status: 409 } },
          timeout: 500,
          idempotent: true,
          answersStream: true,
          hooks: ['beforeHandle check']
        }
      ],
      leftOut: []
    })
    assert.deepEqual(read.transports, [
      {
        name: 'tcp',
        address: '[::1]:4000',
        gauges: [
          { name: 'inFlight', value: 2 },
          { name: 'connections', value: 1, limit: 10 },
          { name: 'streams', value: 3 },
          { name: 'refused requests', value: 4 }
        ],
        unavailable: 'no stream',
        durable: [
          { pattern: 'paid', group: 'billing', lag: 3, redeliveries: 1, deadLetters: 2, isPaused: true }
        ]
      }
    ])
    assert.deepEqual(read.figures, [figures('a')])
    assert.deepEqual(read.outboxes, [
      { schema: 's', engine: 'nats', pending: 4, oldest: 500, failed: 1, published: 0, retries: 0 }
    ])
  })

  it('refuses what is no description', () => {
    for (const answer of [
      undefined,
      null,
      7,
      'text',
      [],
      {},
      { handlers: [] },
      { handlers: {}, transports: [] }
    ])
      assert.throws(() => readDescription(answer), TypeError)
  })

  it('survives any answer, and says nothing but plain and bounded JSON', () => {
    fc.assert(
      fc.property(
        fc.array(fc.anything()),
        fc.array(fc.anything()),
        fc.anything(),
        (handlers, transports, name) => {
          const read = readDescription({ handlers, transports, name, figures: handlers, parts: handlers })
          assert.deepEqual(JSON.parse(JSON.stringify(read)), read)
        }
      )
    )
  })

  it('leaves out what is too much, and says so', () => {
    const handlers = Array.from({ length: MAX_PATTERNS + 500 }, (_, n) => handler(`p${n}`))
    const { patterns, leftOut } = described({ handlers }).described
    assert.equal(patterns.length, MAX_PATTERNS)
    assert.deepEqual(leftOut, [`500 handlers after the first ${MAX_PATTERNS} patterns`])
    const long = described({ handlers: [handler('x'.repeat(MAX_PATTERN + 1)), handler(1), { kind: 'no' }] })
    assert.deepEqual(long.described.patterns, [])
    assert.deepEqual(long.described.leftOut, ['3 handlers or patterns with an invalid description'])
  })

  it('fits into a message of the page, whatever it has, and is less where there are many', () => {
    const names = Array.from({ length: MAX_PATTERNS }, (_, n) => `${n}${'\u0001'.repeat(MAX_PATTERN - 4)}`)
    const data = { title: '\u0001'.repeat(20_000) }
    const answer = {
      handlers: names.map((pattern) => handler(pattern, { data })),
      transports: [{ durable: names.map((pattern) => ({ pattern, unavailable: pattern, group: pattern })) }],
      callers: names.map((caller) => ({ from: 'client', kind: 'event', caller, pattern: caller }))
    }
    const { described: one, transports, callers } = readDescription(answer)
    assert.equal(one.patterns.length, MAX_PATTERNS)
    for (const part of [one, transports, callers])
      assert.ok(Buffer.byteLength(JSON.stringify(part)) < 12 * 2 ** 20)
    const of = (crowd: number) => readDescription(answer, crowd).described.patterns.length
    assert.deepEqual([of(150), of(300), of(3_000)], [MAX_PATTERNS, MAX_PATTERNS / 2, MAX_PATTERNS / 20])
  })

  it('leaves out schemas that are too deep, too large or refer to themselves', () => {
    const deep = (n: number): object => (n === 0 ? {} : { not: deep(n - 1) })
    const round: Record<string, unknown> = {}
    round['round'] = round
    const wide = { enum: Array.from({ length: 60_000 }, (_, n) => n) }
    for (const data of [deep(100), round, wide, { title: 'x'.repeat(10_000_000) }]) {
      const { patterns, leftOut } = described({ handlers: [handler('a', { data })] }).described
      assert.deepEqual(patterns, [{ kind: 'message', form: 'exact', pattern: 'a', hooks: [] }])
      assert.deepEqual(leftOut, ['1 schema that is too large'])
    }
  })

  it('sets no prototype by what a schema names', () => {
    const data = JSON.parse('{"properties":{"__proto__":{"polluted":true}}}') as object
    const [pattern] = described({ handlers: [handler('a', { data })] }).described.patterns
    const properties = pattern?.data?.['properties'] as object
    assert.deepEqual(Object.keys(properties), ['__proto__'])
    assert.equal('polluted' in properties, false)
  })

  it('takes only figures that can be drawn, of patterns that are described, each once', () => {
    const wrong = [
      figures('b'),
      figures('a', { durations: { bounds: [1, 0.1], counts: [1, 0, 0] } }),
      figures('a')
    ]
    assert.deepEqual(described({ handlers: [handler('a')], figures: wrong }).figures, [])
    for (const durations of [
      { bounds: [0.1], counts: [1] },
      { bounds: [0.1], counts: [1, Number.NaN] },
      { bounds: [0.1], counts: [1, -1] },
      { bounds: ['1'], counts: [1, 1] },
      { bounds: Array.from({ length: 200 }, (_, n) => n + 1), counts: new Array(201).fill(0) },
      undefined
    ])
      assert.deepEqual(
        described({ handlers: [handler('a')], figures: [figures('a', { durations })] }).figures,
        []
      )
    const twice = { handlers: [handler('a')], figures: [figures('a'), figures('a', { inFlight: 9 })] }
    assert.deepEqual(described(twice).figures, [figures('a')])
  })

  it('counts codes that nobody tells apart together', () => {
    const outcomes = { SOLD_OUT: 2, OK: 3, TIMEOUT: 4, ['x'.repeat(500)]: 5 }
    const [read] = described({ handlers: [handler('a')], figures: [figures('a', { outcomes })] }).figures
    assert.deepEqual(read?.outcomes, { _OTHER: 7, OK: 3, TIMEOUT: 4 })
  })
})
