/**
 * Services of 200 and 500 patterns, as one chain: they and their clients compile, and the compiler's work is bounded. How
 * long that takes is printed.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
/** The most types that the compiler may instantiate for a service of 200 patterns and its client, and of 500. */
const BOUNDS = [
  [200, 400_000],
  [500, 1_300_000]
] as const
const folder = join(testsFolder, 'dist', `large-service-${process.pid}`)

/** Some of each kind: with and without schemas, streams, events, hooks, objects, wildcards. */
function handlerOf(index: number): string {
  const name = `area${index % 20}.action${index}`
  switch (index % 9) {
    case 0:
      return `.message('${name}', ({ data }: Message<number[]>) => data.length)`
    case 1:
      return `.message('${name}', async function* ({ data, db }) { yield { n: data.n, at: db.now() } }, {
        data: t.Object({ n: t.Number(), tags: t.Optional(t.Array(t.String())) })
      })`
    case 2:
      return `.event('${name}', ({ data }) => void data.id, { data: t.Object({ id: t.Number() }) })`
    case 3:
      return `.message({ cmd: '${name}', v: ${index} }, async () => 'text')`
    case 4:
      return `.message('${name}.*', ({ params }) => params[0])`
    case 5:
      return `.message('${name}', ({ data }) => ({ id: data.id, name: 'x' }), {
        data: t.Object({ id: t.Number() }),
        response: t.Object({ id: t.Number(), name: t.String() })
      })`
    case 6:
      return `.message('${name}', ({ data }) => data.toUpperCase(), { data: z.string() })`
    case 7:
      return `.message('${name}', ({ member, data }) => member.id + data.n, {
        member: 'admin',
        data: t.Object({ n: t.Number() }),
        beforeHandle: ({ member }) => void member.id
      })`
    default:
      return `.message(['${name}', '${name}.old'], ({ user }: { user: string }) => user)`
  }
}

const serviceOf = (patterns: number) => `
import { t } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { z } from 'zod'
const service = microservice({ transport: 'tcp' })
  .decorate('db', { now: () => Date.now() })
  .derive(() => ({ user: 'x' }))
  .macro({
    member: (role: 'admin' | 'user') => ({ resolve: () => ({ member: { id: 1, role } }) }),
    traced: { derive: () => ({ trace: 'x' }) }
  })
${Array.from({ length: patterns }, (_, index) => handlerOf(index)).join('\n')}
const client = connect<typeof service>({ port: 1 })
export const first: Promise<number> = client.request('area0.action0', [1])
export const text: Promise<string> = client.request({ cmd: 'area3.action3', v: 3 })
export const last: Promise<string> = client.request('area15.action195', 'a')
export const stream: AsyncIterableIterator<{ n: number; at: number }> = client.stream('area1.action1', { n: 1 })
export const wildcard: Promise<string> = client.request('area4.action4.7')
export const member: Promise<number> = client.request('area7.action7', { n: 1 })
// @ts-expect-error there is no such pattern
client.request('area0.action1000')
// @ts-expect-error the data is a list of numbers
client.request('area0.action0', 'a')
`

describe('a large service', () => {
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node']
  }

  /** What the compiler says of its work on a file. @throws {AssertionError} with what it complains of */
  async function check(name: string, text: string) {
    const config = { compilerOptions, files: [`${name}.ts`] }
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))
    writeFileSync(join(folder, `${name}.ts`), text)
    const args = ['-p', join(folder, `${name}.json`), '--extendedDiagnostics']
    const { stdout } = await run(tsc, args).catch((error: { stdout: string }) => assert.fail(error.stdout))
    const figure = (of: string) => Number(new RegExp(`^${of}: +([0-9.]+)`, 'm').exec(stdout)?.[1])
    return { instantiations: figure('Instantiations'), seconds: figure('Total time') }
  }

  before(() => mkdirSync(folder, { recursive: true }))
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [patterns, most] of BOUNDS)
    it(`of ${patterns} patterns compiles, as does its client, by at most ${most} instantiations`, async () => {
      const { instantiations, seconds } = await check(`service-${patterns}`, serviceOf(patterns))
      console.log(
        `${patterns} patterns: ${instantiations} instantiations, checked in ${seconds.toFixed(1)} s`
      )
      assert.ok(instantiations > patterns && instantiations <= most, `${instantiations} instantiations`)
    })
})
