/** Measures how much a large service and its client cost the compiler, as one chain of methods, which costs most. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import type { TypeChecking } from '../report/schema.ts'

const run = promisify(execFile)
const TSC = join(BENCH_FOLDER, '..', '..', 'node_modules', '.bin', 'tsc')
export const PATTERNS = [200, 500] as const

/** Handlers of each kind: with and without schemas, streams, events, hooks, objects, wildcards. */
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

const compilerOptions = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  types: ['node']
}

/**
 * Compiles services of several sizes.
 * @throws {BenchError} a service does not compile
 */
export async function measureTypeChecking(): Promise<TypeChecking[]> {
  // Inside the folder of the bench, where packages are found.
  const folder = await mkdtemp(join(BENCH_FOLDER, '.types-'))
  try {
    const all: TypeChecking[] = []
    for (const patterns of PATTERNS) {
      await writeFile(join(folder, 'service.ts'), serviceOf(patterns))
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: ['service.ts'] })
      )
      const { stdout } = await run(TSC, ['-p', folder, '--extendedDiagnostics']).catch(
        ({ stdout }: { stdout: string }) => {
          throw new BenchError(`A service of ${patterns} patterns does not compile: ${stdout}`)
        }
      )
      const figure = (of: string) => Number(new RegExp(`^${of}: +([0-9.]+)`, 'm').exec(stdout)?.[1])
      all.push({ patterns, instantiations: figure('Instantiations'), seconds: figure('Total time') })
    }
    return all
  } finally {
    await rm(folder, { recursive: true })
  }
}
