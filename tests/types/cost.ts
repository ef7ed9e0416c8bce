/**
 * Measures how much the types of services cost the compiler: the number of instantiations by the number of patterns.
 * `bun tests/types/cost.ts` prints all numbers, together with those of other libraries; `TSC=…` sets another
 * compiler.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { testsFolder, tsc } from '../workspace.ts'
import { lines } from './lines.ts'
import { installPeers, PEERS } from './peers.ts'

const run = promisify(execFile)

const HEAD = `
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { decoratorsOf, Payload } from 'elysia-microservices/nest'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
`
const NEW = "microservice({ transport: 'tcp' })"
/** The number of patterns in each group, and in each service that is used. */
const PART = 20

/** Patterns in one chain, each with its own schema and answer. */
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

/** The programs to measure, by the number of their patterns. */
export const SHAPES = {
  'a chain': service,
  'a chain with errors': (count: number) =>
    `${HEAD}export const s = ${NEW}.guard({ errors: { DENIED: {} } })
${lines(
  count,
  (n) =>
    `.message('p${n}', ({ data, fail }) => (data > ${n} ? fail('FULL', { n${n}: data }) : data), {
      data: t.Number(), errors: { FULL: t.Object({ n${n}: t.Number() }) }
    })`
)}
const c = connect<typeof s>({})
export const r = c.safe.request('p0', 1)
`,
  'a chain and a call of each': (count: number) =>
    `${service(count)}const c = connect<typeof s>({})\n${lines(count, (n) => `export const r${n} = c.request('p${n}', { id: 1, name: 'a' })`)}`,
  'services that are used': (count: number) =>
    `${HEAD}${lines(Math.ceil(count / PART), (k) => `const s${k} = ${NEW}${chain(PART, `s${k}.`)}`)}
export const s = ${NEW}${lines(Math.ceil(count / PART), (k) => `.use(s${k})`)}\n${client('s0.p0')}`,
  'services that are used, and a call of each pattern': (count: number) =>
    `${HEAD}${lines(Math.ceil(count / PART), (k) => `const s${k} = ${NEW}${chain(PART, `s${k}.`)}`)}
export const s = ${NEW}${lines(Math.ceil(count / PART), (k) => `.use(s${k})`)}
const c = connect<typeof s>({})\n${lines(count, (n) => `export const r${n} = c.request('s${Math.floor(n / PART)}.p${n % PART}', { id: 1, name: 'a' })`)}`,
  groups: (count: number) =>
    `${HEAD}export const s = ${NEW}${lines(Math.ceil(count / PART), (k) => `.group('g${k}', (g) => g${chain(PART)})`)}\n${client('g0.p0')}`,
  'a gateway': (count: number) =>
    `${service(count)}export const g = gateway(() => connect<typeof s>({}), {
${lines(count, (n) => `'POST /r${n}/:id': { pattern: 'p${n}', params: t.Object({ id: t.Number() }) }`, ',\n')}\n})`,
  'controllers, their contract and a call of each': (count: number) =>
    `${HEAD}interface Contract {
${lines(count, (n) => `  p${n}(data: { id: number; name: string; f${n}?: boolean }): { id: number; n${n}: number }`)}
}
const { MessagePattern } = decoratorsOf<Contract>()
${lines(
  Math.ceil(count / PART),
  (k) =>
    `class K${k} {\n${lines(PART, (i) => {
      const n = k * PART + i
      const data = `{ id: number; name: string; f${n}?: boolean }`
      return `  @MessagePattern('p${n}') async p${n}(@Payload() data: ${data}) { return { id: data.id, n${n}: data.name.length } }`
    })}\n}`
)}
export const s = ${NEW.replace(' }', `, controllers: [${lines(Math.ceil(count / PART), (k) => `K${k}`, ', ')}] }`)}
const c = connect<Contract>({})
${lines(count, (n) => `export const r${n} = c.request('p${n}', { id: 1, name: 'a' })`)}
`
} as const

/** The compiler options for every program that is measured. */
export const COMPILER_OPTIONS = {
  target: 'es2023',
  module: 'nodenext',
  strict: true,
  noEmit: true,
  experimentalDecorators: true,
  skipLibCheck: true,
  types: ['node']
}

/** The cost of one program. */
interface Cost {
  readonly instantiations: number
  /** Seconds of type checking, which are only meaningful on a machine without other work. */
  readonly seconds: number
}

/** The instantiations of a program. @param compiler the path of `tsc` */
export async function cost(shape: keyof typeof SHAPES, count: number, compiler = tsc): Promise<number> {
  const folder = join(testsFolder, 'dist', `cost-${process.pid}`)
  return (
    await costOf(join(folder, `${shape.replaceAll(/\W+/g, '-')}-${count}`), SHAPES[shape](count), compiler)
  ).instantiations
}

/** Compiles a program in its own folder. */
async function costOf(folder: string, program: string, compiler: string): Promise<Cost> {
  mkdirSync(folder, { recursive: true })
  try {
    writeFileSync(join(folder, 'program.ts'), program)
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['program.ts'] })
    )
    const { stdout } = await run(compiler, ['-p', folder, '--extendedDiagnostics'])
    return {
      instantiations: Number(/Instantiations:\s+([\d,]+)/.exec(stdout)?.[1]?.replaceAll(',', '')),
      seconds: Number(/Check time:\s+([\d.]+)/.exec(stdout)?.[1])
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Prints the cost of all programs, and of other libraries with as many patterns. */
async function table(compiler: string, counts: readonly number[]): Promise<void> {
  const peers = join(testsFolder, 'dist', `cost-peers-${process.pid}`)
  try {
    await installPeers(peers)
    for (const [name, program] of Object.entries({ ...SHAPES, ...PEERS }))
      for (const count of counts) {
        const { instantiations, seconds } = await costOf(join(peers, 'program'), program(count), compiler)
        console.log(`${name} | ${count} | ${instantiations} | ${seconds} s`)
      }
  } finally {
    rmSync(peers, { recursive: true, force: true })
  }
}

if (process.argv[1]?.endsWith('types/cost.ts'))
  await table(process.env['TSC'] ?? tsc, [50, 100, 200, 400, 800])
