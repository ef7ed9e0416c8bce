/**
 * Random types and values: what the compiler says arrives is what arrives, and what it lets a caller send is what the
 * handler gets. The values are sent by each codec; what has arrived is then written down as constants of the types that
 * the compiler predicts, which it must accept.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import fc from 'fast-check'
import { rootFolder, testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `arriving-${process.pid}`)
const COUNT = 60
const SEED = 58

/** A type as text, and one of its values. */
interface Typed {
  readonly type: string
  readonly value: unknown
}

/** The classes of the program, as text and as values. */
const CLASSES = `
export interface User { id: number; nick?: string; friends: User[] }
export class Point { x = 1; at = new Date(7); size() { return this.x } }
export class Money { cents = 5; toJSON() { return { money: this.cents } } }
export class Failed extends Error { left = 3; since = new Date(9) }
`
class Point {
  x = 1
  at = new Date(7)
  size() {
    return this.x
  }
}
class Money {
  cents = 5
  toJSON() {
    return { money: this.cents }
  }
}
class Failed extends Error {
  left = 3
  since = new Date(9)
}

const typed = (type: string, value: fc.Arbitrary<unknown>): fc.Arbitrary<Typed> =>
  value.map((one) => ({ type, value: one }))
const constant = (type: string, make: () => unknown) => typed(type, fc.constant(0).map(make))

const plain = fc.oneof(
  typed('string', fc.string({ unit: 'grapheme-ascii', maxLength: 4 })),
  typed('number', fc.integer({ min: -9, max: 9 })),
  typed('boolean', fc.boolean()),
  constant('null', () => null),
  constant('User', () => ({ id: 1, friends: [{ id: 2, nick: 'a', friends: [] }] })),
  constant('"a" | 1', () => 'a')
)
const special = fc.oneof(
  typed(
    'Date',
    fc.integer({ min: 0, max: 99 }).map((time) => new Date(time))
  ),
  typed('bigint', fc.bigInt({ min: -9n, max: 9n })),
  constant('Uint8Array', () => new Uint8Array([1, 2])),
  constant('Buffer', () => Buffer.from([3])),
  constant('Point', () => new Point()),
  constant('Money', () => new Money()),
  constant('Failed', () => new Failed('no')),
  constant('URL', () => new URL('http://a.b/'))
)

/** Names of members, with a `?` for one that may be missing. */
const members = (value: fc.Arbitrary<Typed>) =>
  fc
    .array(fc.tuple(fc.constantFrom('a', 'b?', 'c', 'd?', 'e'), value, fc.boolean()), { maxLength: 4 })
    .map((entries) => {
      const seen = new Map(entries.map((entry) => [entry[0], entry]))
      const all = [...seen.values()]
      return {
        type: `{ ${all.map(([name, { type }]) => `${name}: ${type}`).join('; ')} }`,
        value: Object.fromEntries(
          all
            .filter(([name, , isThere]) => isThere || !name.endsWith('?'))
            .map(([name, { value }]) => [name.replace('?', ''), value])
        )
      }
    })

const { any } = fc.letrec<{ any: Typed }>((tie) => {
  const inner = tie('any')
  return {
    any: fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      plain,
      special,
      members(inner),
      members(inner).map(({ type, value }) => ({
        type: `${type} & { act(): void }`,
        value: { ...(value as object), act() {} }
      })),
      inner.map(({ type, value }) => ({ type: `(${type})[]`, value: [value] })),
      fc.tuple(inner, inner).map(([one, other]) => ({
        type: `[${one.type}, ${other.type}]`,
        value: [one.value, other.value]
      })),
      fc
        .tuple(inner, plain)
        .map(([one, other]) => ({ type: `${one.type} | ${other.type}`, value: one.value })),
      inner.map(({ type, value }) => ({ type: `(${type} | undefined)[]`, value: [value, undefined] })),
      inner.map(({ type, value }) => ({ type: `Record<string, ${type}>`, value: { k: value } })),
      inner.map(({ type, value }) => ({ type: `Map<string, ${type}>`, value: new Map([['k', value]]) })),
      inner.map(({ type, value }) => ({ type: `Set<${type}>`, value: new Set([value]) }))
    )
  }
})

/** A value as the text of a program. */
function literal(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null)
    return value === undefined ? 'undefined' : JSON.stringify(value)
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value instanceof Uint8Array) return `new Uint8Array([${[...value].join()}])`
  if (value instanceof Map)
    return `new Map([${[...value].map(([key, item]) => `[${literal(key)}, ${literal(item)}]`).join()}])`
  if (value instanceof Set) return `new Set([${[...value].map(literal).join()}])`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${literal(item)}`)
    .join(', ')} }`
}

/** Sends all values by a codec, both ways. Returns the lines that say what has arrived. */
async function arrivals(codec: 'json' | 'msgpack', all: readonly Typed[]): Promise<readonly string[]> {
  const transport = memory({ codec })
  const got = new Map<number, unknown>()
  const service = microservice({ transport, logger: { error() {}, warn() {} } })
    .message('give', ({ data }: { data: number }) => ({ value: all[data]?.value }))
    .message('take', ({ data }: { data: { index: number; value: unknown } }) => {
      got.set(data.index, data.value)
    })
  await using running = await service.listen()
  await using client = connect({ transport })
  assert.ok(running)
  const lines: string[] = []
  for (const [index, { value }] of all.entries()) {
    const { data, error } = await client.safe.request<{ value: unknown }>('give', index)
    if (error === null)
      lines.push(`export const ${codec}${index}: Arriving<T${index}>['${codec}'] = ${literal(data.value)}`)
    await client.safe.request('take', { index, value })
    if (got.has(index))
      lines.push(`export const ${codec}Got${index}: Got<T${index}, '${codec}'> = ${literal(got.get(index))}`)
  }
  return lines
}

describe('random types', { timeout: 120_000 }, () => {
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('arrive as the compiler says, by each codec', async () => {
    const all = fc.sample(any, { numRuns: COUNT, seed: SEED })
    const lines = [...(await arrivals('json', all)), ...(await arrivals('msgpack', all))]
    // The codecs refuse the others.
    assert.ok(lines.length > COUNT * 2, `${lines.length}`)
    const types = join(rootFolder, 'packages/elysia-microservices/src/types/arriving.ts')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'program.ts'),
      `import type { Arriving, Sending } from ${JSON.stringify(types)}
${CLASSES}
/** If the compiler lets callers send a value of a type, the handler gets this type; else it may get anything. */
type Got<T, By extends 'json' | 'msgpack'> = [T] extends [Sending<T>[By]] ? T : unknown
${all.map(({ type }, index) => `type T${index} = ${type}`).join('\n')}
${lines.join('\n')}
`
    )
    const compilerOptions = {
      target: 'es2023',
      module: 'nodenext',
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ['node']
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    await run(tsc, ['-p', folder, '--pretty', 'false']).catch((error: { stdout: string }) =>
      assert.fail(error.stdout)
    )
  })
})
