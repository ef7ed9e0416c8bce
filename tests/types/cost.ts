/**
 * What the types of services cost the compiler: instantiations by the number of patterns. `bun tests/types/cost.ts` prints
 * them all, `TSC=…` with another compiler.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)

const HEAD = `
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
`
const NEW = "microservice({ transport: 'tcp' })"
/** Patterns of each group, and of each service that is used. */
const PART = 20

const lines = (count: number, line: (n: number) => string, between = '\n') =>
  Array.from({ length: count }, (_, n) => line(n)).join(between)

/** Patterns in one chain, each with a schema and an answer of its own. */
const chain = (count: number, prefix = '') =>
  lines(
    count,
    (n) =>
      `.message('${prefix}p${n}', ({ data }) => ({ id: data.id, n${n}: data.name.length }), {
        data: t.Object({ id: t.Number(), name: t.String(), f${n}: t.Optional(t.Boolean()) })
      })`
  )
const service = (count: number) => `${HEAD}export const s = ${NEW}\n${chain(count)}\n`
const client = (pattern: string) =>
  `const c = connect<typeof s>({})\nexport const r = c.request('${pattern}', { id: 1, name: 'a' })\n`

/** Programs by the number of their patterns. */
export const SHAPES = {
  'a chain': service,
  'a chain with errors': (count: number) =>
    `${HEAD}export const s = ${NEW}.guard({ errors: { DENIED: {} } })
${lines(
  count,
  (n) =>
    `.message('p${n}', ({ data, error }) => (data > ${n} ? error('FULL', { n${n}: data }) : data), {
      data: t.Number(), errors: { FULL: t.Object({ n${n}: t.Number() }) }
    })`
)}
const c = connect<typeof s>({})
export const r = c.safeRequest('p0', 1)
`,
  'a chain and a call of each': (count: number) =>
    `${service(count)}const c = connect<typeof s>({})\n${lines(count, (n) => `export const r${n} = c.request('p${n}', { id: 1, name: 'a' })`)}`,
  'services that are used': (count: number) =>
    `${HEAD}${lines(count / PART, (k) => `const s${k} = ${NEW}${chain(PART, `s${k}.`)}`)}
export const s = ${NEW}${lines(count / PART, (k) => `.use(s${k})`)}\n${client('s0.p0')}`,
  'services that are used, and a call of each pattern': (count: number) =>
    `${HEAD}${lines(count / PART, (k) => `const s${k} = ${NEW}${chain(PART, `s${k}.`)}`)}
export const s = ${NEW}${lines(count / PART, (k) => `.use(s${k})`)}
const c = connect<typeof s>({})\n${lines(count, (n) => `export const r${n} = c.request('s${Math.floor(n / PART)}.p${n % PART}', { id: 1, name: 'a' })`)}`,
  groups: (count: number) =>
    `${HEAD}export const s = ${NEW}${lines(count / PART, (k) => `.group('g${k}', (g) => g${chain(PART)})`)}\n${client('g0.p0')}`,
  'a gateway': (count: number) =>
    `${service(count)}export const g = gateway(() => connect<typeof s>({}), {
${lines(count, (n) => `'POST /r${n}/:id': { pattern: 'p${n}', params: t.Object({ id: t.Number() }) }`, ',\n')}\n})`
} as const

/** Instantiations of a program. @param compiler path of `tsc` */
export async function cost(shape: keyof typeof SHAPES, count: number, compiler = tsc): Promise<number> {
  const folder = join(testsFolder, 'dist', `cost-${process.pid}-${shape.replaceAll(' ', '-')}-${count}`)
  mkdirSync(folder, { recursive: true })
  try {
    const options = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true }
    const compilerOptions = { ...options, skipLibCheck: true, types: ['node'] }
    writeFileSync(join(folder, 'program.ts'), SHAPES[shape](count))
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    const { stdout } = await run(compiler, ['-p', folder, '--extendedDiagnostics'])
    return Number(/Instantiations:\s+([\d,]+)/.exec(stdout)?.[1]?.replaceAll(',', ''))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[1]?.endsWith('types/cost.ts')) {
  const { TSC = tsc } = process.env
  for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[])
    for (const count of [100, 200, 400, 800])
      console.log(shape, count, await cost(shape, count, TSC).catch((error: Error) => error.message))
}
