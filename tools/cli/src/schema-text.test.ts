import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { transform } from 'esbuild'
import fc from 'fast-check'
import { contractOf, interfaceName, typeText } from './schema-text.ts'

const TYPES = [
  [{ type: 'string' }, 'string'],
  [{ type: 'integer' }, 'number'],
  [{ type: ['string', 'null'] }, 'string | null'],
  [{ type: 'string', nullable: true }, 'string | null'],
  [{ type: 'Date' }, 'Date'],
  [{ const: 'a' }, '"a"'],
  [{ enum: ['a', 1, null] }, '"a" | 1 | null'],
  [{ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'number' } }] }, 'string | (number)[]'],
  [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
  [
    {
      allOf: [
        { type: 'object', properties: { a: true } },
        { type: 'object', properties: { b: false }, required: ['b'] }
      ]
    },
    '{ "a"?: unknown } & { "b": never }'
  ],
  [{ type: 'array' }, 'unknown[]'],
  [{ type: 'array', items: [{ type: 'string' }, { type: 'number' }] }, '[string, number]'],
  [{ type: 'object' }, 'Record<string, unknown>'],
  [{ type: 'object', additionalProperties: false }, 'Record<string, never>'],
  [{ type: 'object', patternProperties: { '^.*$': { type: 'number' } } }, 'Record<string, number>'],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'number' } } }, 'number'],
  [{ $ref: 'Id', $defs: { Id: { $id: 'Id', type: 'string' } } }, 'string'],
  [{ $ref: '#/constructor/name' }, 'unknown'],
  [{ type: 'constructor' }, 'unknown'],
  ['string', 'unknown'],
  [undefined, 'unknown']
] as const

const KEYWORDS = [
  'type',
  'properties',
  'items',
  'anyOf',
  'allOf',
  'enum',
  'const',
  '$ref',
  'required',
  'nullable'
]
const schema = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('string', 'number', 'object', 'array', '#', '#/items', 'Date'),
    fc.jsonValue(),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...KEYWORDS), fc.string()), tie('any'), { maxKeys: 4 })
  )
})).any

/** @throws the text is not TypeScript */
const parsed = (text: string) => transform(text, { loader: 'ts' })

describe('a schema as a type', () => {
  for (const [given, text] of TYPES)
    it(`${JSON.stringify(given)} is ${text}`, () => assert.equal(typeText(given), text))

  it('is unknown below a schema that contains itself', () => {
    const text = typeText({ type: 'object', properties: { below: { $ref: '#' } }, required: ['below'] })
    assert.match(text, /^\{ "below": \{ "below": .*unknown/)
  })

  it('does not grow without end', () => {
    const both = { anyOf: [{ $ref: '#/a' }, { type: 'array', items: { $ref: '#/a' } }] }
    assert.ok(typeText({ a: both, ...both }).length < 1_000_000)
  })

  it('is TypeScript, whatever the schema is', async () => {
    await fc.assert(
      fc.asyncProperty(schema, async (given) => void (await parsed(`type A = ${typeText(given)}`)))
    )
  })
})

describe('a description as a contract', () => {
  it('is TypeScript, whatever the patterns are', async () => {
    const handler = fc.record({
      kind: fc.constantFrom('message' as const, 'event' as const),
      patterns: fc.array(
        fc.record({ kind: fc.constantFrom('exact', 'wildcard', 'regexp', 'all'), pattern: fc.string() })
      ),
      data: schema,
      headers: schema,
      response: schema,
      streams: fc.anything()
    })
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.array(handler, { maxLength: 4 }), async (name, handlers) => {
        await parsed(contractOf({ name, handlers: handlers as never }).text)
      })
    )
  })

  it('has streams where the description says so, and leaves open what it does not say', () => {
    const one = (pattern: string, rest: object) => ({
      kind: 'message' as const,
      patterns: [{ kind: 'exact' as const, pattern }],
      hooks: [],
      ...rest
    })
    const number = { type: 'number' }
    const handlers = [
      one('open', { data: number, response: number }),
      one('value', { data: number, response: number, streams: { data: false, answer: false } }),
      one('stream', { data: number, response: number, streams: { data: true, answer: true } }),
      one('bare', { streams: { data: true, answer: true } }),
      one('wrong', { response: number, streams: { answer: 'yes' } })
    ]
    assert.equal(
      contractOf({ name: 'a', handlers: handlers as never }).text,
      `export interface A {
  "open": (data: number) => number | AsyncIterable<number>
  "value": (data: number) => number
  "stream": (data: AsyncIterable<number>) => AsyncIterable<number>
  "bare": (data: AsyncIterable<unknown>) => AsyncIterable<unknown>
  "wrong": (data?: unknown) => number | AsyncIterable<number>
}`
    )
  })

  it('has a name that types can have', () => {
    assert.equal(interfaceName('shop-orders 1.0'), 'ShopOrders10')
    assert.equal(interfaceName('7'), 'Service7')
    assert.equal(interfaceName('…'), 'Service')
  })
})
