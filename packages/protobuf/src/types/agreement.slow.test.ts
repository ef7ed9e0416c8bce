/** The printed types are those of the values that arrive: the compiler checks values of random messages against them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { nestShapes } from '../options/nest-shapes.ts'
import type { ProtoShapes } from '../proto-shapes.ts'
import { protoTypes } from '../proto-types.ts'
import { protoOfText } from '../testing/of-text.ts'
import { randomProto } from '../testing/random-proto.ts'

const run = promisify(execFile)
const TSC = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc')
const FILES = 25

const SHAPES: Readonly<Record<string, ProtoShapes>> = {
  'the default shapes': {},
  'other shapes': { names: 'proto', int64: 'number', enums: 'number', bytes: 'base64', defaults: 'lists' },
  "Nest's defaults": nestShapes({}),
  "Nest's shapes with options": nestShapes({
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
    bytes: Array
  })
}

/** Random messages in a shape, as a module of which the compiler must not complain. */
async function moduleOf(shapes: ProtoShapes): Promise<string> {
  const drawn = fc.sample(
    randomProto.chain(({ text, values }) =>
      fc.tuple(fc.constant(text), fc.array(values, { minLength: 1, maxLength: 3 }))
    ),
    FILES
  )
  const parts = await Promise.all(
    drawn.map(async ([text, values], part) => {
      const plain = (await protoOfText(text)).message('random.M0')!
      const proto = await protoOfText(text, shapes)
      const codec = proto.message('random.M0')!
      const lines = values.flatMap((value, at) => {
        const sent = `const sent${at}: M0Init = ${literal(value)}; void sent${at}`
        const arrived = arrive(() => codec.decode(plain.encode(value)))
        // A value that the shape cannot hold does not arrive.
        if (arrived === undefined) return []
        const both = shapes.names === undefined || shapes.names === 'camelCase' ? [sent] : []
        return [...both, `const arrived${at}: M0 = ${literal(arrived)}; void arrived${at}`]
      })
      return `namespace P${part} {\n${protoTypes(proto)}\n${lines.join('\n')}\n}`
    })
  )
  return [...parts, 'export {}'].join('\n')
}

describe('printed types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'proto-types-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const files = Object.keys(SHAPES).map((_, index) => `types-${index}.ts`)
  /** Errors of the compiler in all files: together they are read beside one copy of its own declarations. */
  let said: readonly string[] = []

  before(async () => {
    for (const [index, shapes] of Object.values(SHAPES).entries())
      writeFileSync(join(folder, files[index]!), await moduleOf(shapes))
    const args = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--target',
      'es2023',
      '--module',
      'esnext',
      '--types',
      '',
      '--ignoreConfig',
      ...files
    ]
    const { stdout } = await run(process.execPath, [TSC, ...args], { cwd: folder, maxBuffer: 2 ** 26 }).catch(
      (error: Error & { stdout: string }) => {
        // Without a word about the files the compiler has not read them.
        if (error.stdout === '') throw error
        return error
      }
    )
    said = stdout.split('\n').filter(Boolean)
  })

  for (const [index, what] of Object.keys(SHAPES).entries())
    it(`are those of values in ${what}`, () => {
      // An error without a file is one of all.
      const others = files.filter((_, other) => other !== index)
      assert.deepEqual(said.filter((line) => others.every((file) => !line.startsWith(file))).slice(0, 20), [])
    })
})

function arrive(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** A value as an expression of TypeScript. */
function literal(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value)
  if (value instanceof Date) return `new Date(${value.getTime()})`
  if (value instanceof Uint8Array) return `Uint8Array.of(${value.join(', ')})`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isLong = 'low' in value && 'unsigned' in value
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${literal(one)}`)
  const methods = isLong ? ["toString: () => ''", 'toNumber: () => 0'] : []
  return `{ ${[...members, ...methods].join(', ')} }`
}
