/** The printed types are those of the values that arrive: the compiler checks values of random messages against them. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
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

describe('printed types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'proto-types-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [index, [what, shapes]] of Object.entries(SHAPES).entries())
    it(`are those of values in ${what}`, async () => {
      const file = join(folder, `types-${index}.ts`)
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
      writeFileSync(file, parts.join('\n'))
      const args = [
        '--noEmit',
        '--strict',
        '--exactOptionalPropertyTypes',
        '--target',
        'es2023',
        '--types',
        '',
        '--ignoreConfig',
        file
      ]
      const said = await run(process.execPath, [TSC, ...args], { maxBuffer: 2 ** 26 }).catch(
        (error: { stdout: string }) => error
      )
      assert.equal(said.stdout.slice(0, 4000), '')
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
