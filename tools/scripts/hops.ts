/**
 * `npm run hops`: how many functions of this library, function calls and files a user's call passes through, over
 * each transport, counted by V8 (Node 20, 1,000 calls of `[1,2,3]` in turn, handlers that answer at once). `--write`
 * puts the table into docs/architecture.md; `--list=rsocket` lists the functions of a transport, with their calls and
 * files.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { oldestNode } from '@elysia-microservices/test-support'
import { decode, type SourceMapMappings } from '@jridgewell/sourcemap-codec'
import { spawnSync } from 'bun'

const ROOT = join(import.meta.dir, '../..')
const PAGE = join(ROOT, 'docs/architecture.md')
const WAYS = {
  rsocket: 'a request over RSocket',
  nest: "a request on Nest's wire",
  nats: 'a request over NATS',
  memory: 'a request over `memory()`',
  durable: 'a durable event over NATS, published and handled',
  gateway: 'a call through the gateway, over RSocket'
}
/**
 * The share of calls in which a function must be called to be counted: functions that are called now and then are
 * left out.
 */
const LEAST = 0.5

interface FunctionCount {
  readonly functionName: string
  readonly ranges: readonly { readonly startOffset: number; readonly count: number }[]
}

interface Coverage {
  readonly calls: number
  readonly result: readonly { readonly url: string; readonly functions: readonly FunctionCount[] }[]
}

/** One function on the path of a call. */
interface Hop {
  readonly name: string
  readonly file: string
  /** How often the function is called for one call of the user. */
  readonly times: number
}

/** Finds the source file of a position in a bundle. */
class Bundle {
  readonly #folder: string
  readonly #lines: readonly number[]
  readonly #sources: readonly string[]
  readonly #mappings: SourceMapMappings

  constructor(file: string) {
    this.#folder = dirname(file)
    const text = readFileSync(file, 'utf8')
    this.#lines = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
    const map = JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { sources: string[]; mappings: string }
    this.#sources = map.sources
    this.#mappings = decode(map.mappings)
  }

  /** The source file of the code at an offset, as a path from the root of the repository. */
  sourceAt(offset: number): string {
    const line = this.#lines.findLastIndex((start) => start <= offset)
    const column = offset - (this.#lines[line] as number)
    // A segment lasts until the next one, also across the ends of lines.
    const here = this.#mappings[line]?.findLast(([start]) => start <= column)
    const before = this.#mappings.slice(0, line).findLast((segments) => segments.length > 0)
    const [, source = 0] = here ?? before?.at(-1) ?? []
    return relative(ROOT, join(this.#folder, this.#sources[source as number] as string))
  }
}

function hopsOf(way: string): Hop[] {
  const program = join(ROOT, 'tests/dist/hops/calls.js')
  const { stdout, stderr, exitCode } = spawnSync([oldestNode(), program, way], { cwd: ROOT })
  if (exitCode !== 0) throw new Error(`${way}: ${stderr.toString()}`)
  const { calls, result } = JSON.parse(stdout.toString()) as Coverage
  return result
    .filter(({ url }) => /\/(packages|engines)\/[^/]+\/lib\//.test(url))
    .flatMap(({ url, functions }) => {
      const often = functions.filter(({ ranges: [whole] }) => (whole?.count ?? 0) >= calls * LEAST)
      if (often.length === 0) return []
      const bundle = new Bundle(fileURLToPath(url))
      return often.map(({ functionName: name, ranges: [whole] }) => ({
        name,
        file: bundle.sourceAt(whole?.startOffset ?? 0),
        times: (whole?.count ?? 0) / calls
      }))
    })
}

const { values } = parseArgs({ options: { write: { type: 'boolean' }, list: { type: 'string' } } })

if (values.list !== undefined) {
  for (const { name, file, times } of hopsOf(values.list).sort((a, b) => b.times - a.times))
    console.log(`${times.toFixed(1).padStart(6)}  ${name || '(anonymous)'}  ${file}`)
  process.exit()
}

const rows = Object.entries(WAYS).map(([way, words]) => {
  const hops = hopsOf(way)
  const calls = Math.round(hops.reduce((sum, { times }) => sum + times, 0))
  return `| ${words} | ${hops.length} | ${calls} | ${new Set(hops.map(({ file }) => file)).size} |`
})
const table = ['| | functions | calls | files |', '| --- | --- | --- | --- |', ...rows].join('\n')
console.log(table)
if (values.write) {
  const page = readFileSync(PAGE, 'utf8')
  const written = page.replace(/\| \| functions \| calls \| files \|\n(\|.*\n)*/, `${table}\n`)
  if (!written.includes(table))
    throw new Error('docs/architecture.md has no table with functions, calls and files')
  writeFileSync(PAGE, written)
}
