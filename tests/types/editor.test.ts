/**
 * A service with many patterns in an editor: the editor offers all patterns, and shows for a call only the types of
 * its pattern.
 */
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { testsFolder } from '../workspace.ts'
import { LanguageServer } from './language-server.ts'

const folder = join(testsFolder, 'dist', `editor-${process.pid}`)
const file = join(folder, 'program.ts')
const MANY = Array.from({ length: 40 }, (_, n) => `p${n}`)

const PROGRAM = `
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
const service = microservice({ transport: 'tcp' })
${MANY.map((name) => `  .message('${name}', ({ data }) => ({ ${name}: data.id }), { data: t.Object({ id: t.Number() }) })`).join('\n')}
  .message({ cmd: 'find' }, ({ data }) => [data], { data: t.String() })
  .message('watch', async function* () { yield { left: 1 } })
  .event('placed', ({ data }) => data, { data: t.Object({ id: t.Number() }) })
const client = connect<typeof service>({})
void client.request('p7', { id: 1 })
void client.request({ cmd: 'find' }, 'a')
for await (const value of client.stream('watch')) value
void client.emit('placed', { id: 1 })
void client.request('')
void client.stream('')
void client.emit('')
service.
`

/** Two tasks of somebody who knows nothing yet, as far as they are written when the editor is asked. */
const TASKS = `
import { memory } from 'elysia-microservices'
import { isError } from 'elysia-microservices/client'
const orders = microservice({ name: 'orders', transport: memory() })
  .message('order.place', ({ data, fail }) => {
    if (data.count > 3) throw fail('OUT_OF_STOCK', { left: 3 })
    return { id: 7 }
  }, { /* of a message */ data: t.Object({ count: t.Number() }), errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) } })
  .event('order.placed', ({ data, delivery }) => void delivery?.attempt, { /* of an event */ durable: { retry: { } } })
  .message('order.watch', async function* () { yield { state: 'packed' } }, { headers: t.Object({ tenant: t.String() }), idempotent: true })
const caller = connect<typeof orders>({ port: 4000, /* of a client */ headers: { tenant: 'a' }, retry: { } })
connect<typeof orders>({ idempotent: [''] })
const mine = caller.with({ /* of calls */ headers: { tenant: 'a' } })
for await (const { state } of mine.stream('order.watch', undefined, { /* of a call */ })) void state
const { error } = await caller.safe.request('order.place', { count: 5 })
orders.message('order.check', ({ fail }) => fail('', { }), { errors: { NO: t.Object({ why: t.String() }) } })
if (isError(error, '')) void error
if (isError(error, 'OUT_OF_STOCK')) void error.details.left
`

/** Where the editor is asked, and all that it must offer there. */
const ASKED = [
  ["fail('", "', { })", ['NO']],
  ["fail('', { ", '})', ['why']],
  [
    '{ /* of a message */',
    ' data',
    'afterHandle afterResponse beforeHandle error headers idempotent passes response streams timeout'
  ],
  ['{ /* of an event */', ' durable', 'afterHandle afterResponse beforeHandle data error headers timeout'],
  ['durable: { retry: { ', '} }', 'attempts factor maxDelay minDelay'],
  ["idempotent: ['", "']", ['order.watch']],
  ['retry: { ', '} })\nconnect', 'attempts budget maxDelay minDelay'],
  ['{ /* of calls */', ' headers', 'signal timeout within'],
  [
    "stream('order.watch', undefined, { /* of a call */ ",
    '})',
    'headers idempotent key lifetime onHeaders onTrailers signal timeout waitForConnection within'
  ],
  ["isError(error, '", "')) void", ['OUT_OF_STOCK']],
  ['error.details.', 'left', ['left']]
] as const

const HOVERS = [
  [
    "client.request('p7'",
    `TypedCalls.request<"p7", Known<"…">>(this: Knowing<Known<"…">>, pattern: "p7", data: {
    id: number;
}, options?: CallOptions | undefined): Promise<{
    p7: number;
}>`
  ],
  [
    'client.request({',
    `TypedCalls.request<{
    readonly cmd: "find";
}, Known<"…">>(this: Knowing<Known<"…">>, pattern: {
    readonly cmd: "find";
}, data: string, options?: CallOptions | undefined): Promise<string[]>`
  ],
  [
    "client.stream('watch'",
    `TypedCalls.stream<"watch", Known<"…">>(this: Knowing<Known<"…">>, pattern: "watch", data?: unknown, options?: CallOptions | undefined): AsyncIterableIterator<{
    left: number;
}>`
  ],
  [
    "client.emit('placed'",
    `TypedCalls.emit<"placed", Known<"…">>(this: Knowing<Known<"…">>, pattern: "placed", data: {
    id: number;
}, options?: EmitOptions | undefined): Promise<void>`
  ]
] as const

describe('an editor', { timeout: 120_000 }, () => {
  let server: LanguageServer

  before(async () => {
    mkdirSync(folder, { recursive: true })
    const options = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true }
    const compilerOptions = { ...options, skipLibCheck: true, types: ['node'] }
    writeFileSync(file, PROGRAM.replace('\nservice.\n', `\n${TASKS}\nservice.\n`))
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
    server = await LanguageServer.open(file)
  })
  after(async () => {
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const [call, shown] of HOVERS)
    it(`shows the types of ${call}…) only, and not those of all patterns`, async () => {
      const hover = await server.hover(call, 'client.'.length + 1)
      assert.ok(hover.startsWith(`(method) ${shown}`), hover)
    })

  it('offers the patterns of each method', async () => {
    assert.deepEqual(
      (await server.completion("client.request('", "')\nvoid client.stream")).sort(),
      [...MANY, '{\\"cmd\\":\\"find\\"}'].sort()
    )
    assert.deepEqual(await server.completion("client.stream('", "')\nvoid client.emit"), ['watch'])
    assert.deepEqual(await server.completion("client.emit('", "')\n"), ['placed'])
  })

  for (const [before, next, names] of ASKED)
    it(`offers behind ${before.split('\n')[0]} what one may write there`, async () => {
      const wanted = typeof names === 'string' ? names.split(' ') : names
      const offered = await server.completion(before, next)
      assert.deepEqual(offered.map((name) => name.replace(/\?$/, '')).sort(), [...wanted].sort())
    })

  it('offers behind service. and client. the names that one may use, and none of JavaScript or of types', async () => {
    const service = await server.completion('\nservice.', '\n')
    const client = await server.completion('void client.', "request('p7'")
    const hidden = ['apply', 'arguments', 'bind', 'call', 'caller', 'length', 'prototype', 'toString']
    for (const offered of [service, client])
      assert.deepEqual(
        offered.filter((name) => !/^[a-z]/i.test(name) || hidden.includes(name)),
        []
      )
    assert.ok(
      ['event', 'listen', 'message', 'name', 'stop', 'use', 'workers'].every((name) => service.includes(name))
    )
    assert.ok(['emit', 'request', 'safe', 'stream', 'with'].every((name) => client.includes(name)))
  })
})
