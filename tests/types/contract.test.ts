/**
 * The contracts that the command line writes: they import nothing of the service, and give a caller the same types.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { rootFolder, testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `contract-${process.pid}`)
/** A folder in which only our own package is installed. */
const alone = join(tmpdir(), `contract-${process.pid}`)
const program = join(rootFolder, 'packages/elysia-microservices/lib/program.js')

const DATABASE = `
import { createHash } from 'node:crypto'
export enum State { open = 'open', done = 'done' }
export interface Line { sku: string; price: [number, string] }
export class Money {
  readonly cents = 1
  toJSON() { return '0.01 EUR' }
}
export class Order {
  state = State.open
  lines: Line[] = []
  at = new Date()
  proof = Buffer.from('')
  price = new Money()
  constructor(readonly id: number) {}
  save() { return createHash('md5') }
}
export interface Tree { readonly below: readonly Tree[] }
export declare const secret: unique symbol
`
const SERVICE = `
import { t } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { type Line, Order } from './database.js'
export const orders = microservice({ transport: 'tcp' })
  .message('orders.get', ({ data }: Message<number>) => new Order(data))
  .message('orders.find', ({ data }) => [data.id], { data: t.Object({ id: t.Number(), name: t.Optional(t.String()) }), headers: t.Object({ tenant: t.String() }) })
  .message('orders.watch', async function* ({ data }: Message<string | undefined>) { yield { left: 1, data } })
  .message('time', async ({ data: _ }: Message<undefined>) => 'now')
  .message({ cmd: 'sum' }, ({ data }: Message<AsyncIterable<number>>) => data)
  .message('orders.take', ({ fail }) => fail('OUT_OF_STOCK', { left: 3 }), { errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) } })
  .message('logs.*', () => 1)
  .message('logs.one', () => 'one')
  .event('orders.placed', ({ data }: Message<{ lines: readonly Line[] }>) => data)
export default () => microservice({ transport: 'tcp' }).message('sum', ({ data }: Message<number[]>) => data.length)
export const none = 1
`
const CALLER = `
import { connect, isError } from 'elysia-microservices/client'
import type { Orders, Service } from './contract.js'
const client = connect<Orders>({})
export const order: Promise<{ id: number; state: 'open' | 'done'; lines: { sku: string }[]; at: string; proof: { type: 'Buffer'; data: number[] }; price: string }> = client.request('orders.get', 1)
const packed = connect<Orders>({ codec: 'msgpack' })
export const whole: Promise<{ id: number; at: Date; proof: Uint8Array; price: string }> = packed.request('orders.get', 1)
// @ts-expect-error JSON delivers the text of a Date
export const wrong: Promise<{ at: Date }> = client.request('orders.get', 1)
export const found: Promise<number[]> = client.request('orders.find', { id: 1 }, { headers: { tenant: 'x' } })
export const watched: AsyncIterableIterator<{ left: number; data: string | undefined }> = client.stream('orders.watch')
export const time: Promise<string> = client.request('time')
export const sums: AsyncIterableIterator<number> = client.stream({ cmd: 'sum' }, (async function* () { yield 1 })())
export const family: Promise<number> = client.request('logs.two')
export const one: Promise<string> = client.request('logs.one')
export const placed: Promise<void> = client.emit('orders.placed', { lines: [{ sku: 'a', price: [1, 'EUR'] }] })
export const left = async () => {
  const { error } = await client.safe.request('orders.take')
  return isError(error, 'OUT_OF_STOCK') ? (error.details.left satisfies number) : 0
}
export const sum: Promise<number> = connect<Service>({}).request('sum', [1])
// @ts-expect-error headers are missing
void client.request('orders.find', { id: 1 })
// @ts-expect-error the data is a number
void client.request('orders.get', 'a')
// @ts-expect-error this is a stream
void client.request('orders.watch')
// @ts-expect-error there is no save
void client.request('orders.get', 1).then((order) => order.save())
`
const OPTIONS = { target: 'es2023', module: 'nodenext', strict: true, skipLibCheck: true, noEmit: true }

/** Runs the command, which prints contracts. @throws an error with `stderr` */
const types = (...args: string[]) => run(process.execPath, [program, 'types', ...args], { cwd: folder })

async function compile(where: string, file: string, types: readonly string[]): Promise<void> {
  const config = join(where, `${file}.json`)
  writeFileSync(config, JSON.stringify({ compilerOptions: { ...OPTIONS, types }, files: [file] }))
  await run(tsc, ['-p', config]).catch((error: { stdout: string }) => assert.fail(error.stdout))
}

describe('elysia-microservices types', { timeout: 120_000 }, () => {
  before(() => {
    mkdirSync(folder, { recursive: true })
    mkdirSync(join(alone, 'node_modules'), { recursive: true })
    symlinkSync(
      join(rootFolder, 'packages/elysia-microservices'),
      join(alone, 'node_modules/elysia-microservices')
    )
    const compilerOptions = { ...OPTIONS, types: ['node'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(join(folder, 'database.ts'), DATABASE)
    writeFileSync(join(folder, 'service.ts'), SERVICE)
  })
  after(() => {
    for (const one of [folder, alone]) rmSync(one, { recursive: true, force: true })
  })

  it('writes contracts of a file, which import nothing and give a caller the types of the service', async () => {
    const { stdout, stderr } = await types('service.ts')
    assert.equal(stderr, '')
    assert.doesNotMatch(stdout, /\b(import\(|(?<!")Buffer|State|Line|Money|createHash)/)
    assert.deepEqual(stdout.match(/^import .*$/gm), [
      "import type { DeclaredError } from 'elysia-microservices/client'"
    ])
    writeFileSync(join(alone, 'contract.ts'), stdout)
    await compile(alone, 'contract.ts', [])
    writeFileSync(join(folder, 'contract.ts'), stdout)
    writeFileSync(join(folder, 'caller.ts'), CALLER)
    await compile(folder, 'caller.ts', ['node'])
  })

  it('leaves nothing behind', () => {
    const left = readdirSync(join(testsFolder, 'node_modules')).filter((name) => name.startsWith('.elysia-'))
    assert.deepEqual(left, [])
  })

  for (const [what, service, sentence] of [
    ['of a file without a service', 'export const orders = 1', /exports no service that the compiler knows/],
    [
      'of a name that only its own project has',
      `import { microservice } from 'elysia-microservices'
import { secret } from './database.js'
export const orders = microservice({ transport: 'tcp' }).message('a', () => ({ [secret]: 1 }))`,
      /The types of wrong\.ts cannot be written down: .*'secret'/
    ],
    [
      'of a type that only its own project has',
      `import { microservice } from 'elysia-microservices'
export const orders = microservice({ transport: 'tcp' }).message('a', () => [() => Buffer.from('')])`,
      /The types of wrong\.ts depend on something that only its own project has: Cannot find name 'Buffer'/
    ]
  ] as const)
    it(`reports why there is no contract ${what}`, async () => {
      writeFileSync(join(folder, 'wrong.ts'), service)
      await assert.rejects(types('wrong.ts'), { code: 2, stderr: sentence })
    })

  it('reports the place of a type that contains itself', async () => {
    writeFileSync(
      join(folder, 'tree.ts'),
      `import { microservice } from 'elysia-microservices'
import type { Tree } from './database.js'
export const trees = microservice({ transport: 'tcp' }).message('tree', (): Tree => ({ below: [] }))`
    )
    const { stdout, stderr } = await types('tree.ts')
    assert.match(stdout, /readonly below: readonly unknown\[\]/)
    assert.match(stderr, /In a recursive type, the inner use of the type is written as unknown/)
  })

  it('reports a missing file', async () => {
    await assert.rejects(types('nothing.ts'), { code: 2, stderr: /There is no file nothing\.ts/ })
  })

  it('writes the contract of a running service from its schemas', async () => {
    const service = microservice({
      name: 'shop-orders',
      transport: 'tcp',
      host: '127.0.0.1',
      port: 0,
      describe: true
    })
      .message('get', ({ data }) => ({ id: data.id, state: 'open' as const }), {
        data: t.Object({ id: t.Number(), note: t.Optional(t.String()) }),
        headers: t.Object({ tenant: t.String() }),
        response: t.Object({ id: t.Number(), state: t.Union([t.Literal('open'), t.Literal('done')]) })
      })
      .message('logs.*', () => 1)
      .message(/^any/, () => 1)
      .event('placed', () => {}, { data: t.Array(t.Tuple([t.String(), t.Integer()])) })
    await service.listen()
    try {
      const { stdout, stderr } = await types(`tcp://127.0.0.1:${service.address?.port}`)
      assert.equal(
        stdout,
        `export type ShopOrders = {
  "get": (data: { "id": number; "note"?: string }, headers: { "tenant": string }) => ({ "id": number; "state": "open" | "done" }) | AsyncIterable<{ "id": number; "state": "open" | "done" }>
  "placed": { readonly '~event': ([string, number])[] }
} & {
  [name: \`logs.\${string}\`]: (data?: unknown) => unknown
}
`
      )
      assert.match(stderr, /Left out, because a type cannot have such a name: \/\^any\//)
      writeFileSync(join(alone, 'described.ts'), stdout)
      await compile(alone, 'described.ts', [])
    } finally {
      await service.stop()
    }
  })
})
