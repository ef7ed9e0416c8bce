/** What the compiler says of mistakes: a sentence that helps, in the first line, at the place of the mistake. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `messages-${process.pid}`)

const HEAD = `
import { Elysia, t } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
const service = microservice({ transport: 'tcp' })
  .message('users.get', ({ data }: Message<{ id: string }>) => data)
  .message('users.age', ({ data }: Message<{ id: number }>) => data.id)
  .message('users.list', async function* () { yield 1 })
  .event('users.made', ({ data }: Message<{ id: string }>) => data)
const factory = () => service
const client = connect<typeof service>({})
const empty = microservice({ transport: 'tcp' })
const later = async () => service
class Orders {}
const classes = microservice({ transport: 'tcp', controllers: [Orders] })
`

const IS_STREAM = 'This pattern answers with a stream: use'
const IS_VALUE = 'This pattern answers with one value: use'
const IS_EVENT = 'This pattern is an event: use'
const NONE = 'There is no such pattern; there are:'
const KEY = 'A key is a method in capitals, one space and a path, such as GET /users/:id'
const CONTRACT = 'The type has no such patterns; those of classes come by a contract: connect<Contract>()'
const UNFIT =
  'What comes by default does not fit the data: add schemas (params, query, body), or a function data'

/** Each on its line, with the text that stands where the compiler points, and what it says. */
const MISTAKES = [
  ["client.request('users.list')", "'users.list'", `"${IS_STREAM} 'stream' or 'send'"`],
  ["client.request('users.made', { id: 'a' })", "'users.made'", `"${IS_EVENT} 'emit'"`],
  ["client.request('users.gte')", "'users.gte'", 'AsPattern<"users.age" | "users.get">'],
  ["client.stream('users.get', { id: 'a' })", "'users.get'", `"${IS_VALUE} 'request' or 'send'"`],
  ["client.send('users.made')", "'users.made'", `"${IS_EVENT} 'emit'"`],
  ["client.emit('users.get', { id: 'a' })", "'users.get'", `"${IS_VALUE} 'request' or 'send'"`],
  ["client.emit('users.list')", "'users.list'", `"${IS_STREAM} 'stream' or 'send'"`],
  ["client.publish('users.get')", "'users.get'", 'This pattern is no event: only events are published'],
  ["client.request('users.age', { id: 'a' })", 'id:', "'string' is not assignable to type 'number'"],
  ["connect<typeof factory>().request('a')", "'a'", 'take ReturnType<typeof …>'],
  [
    "connect<Promise<typeof service>>().request('a')",
    "'a'",
    'This is a promise of a service: take Awaited<…>'
  ],
  [
    "connect<ReturnType<typeof later>>().stream('a')",
    "'a'",
    'This is a promise of a service: take Awaited<…>'
  ],
  ["connect<typeof classes>().request('get-order')", "'get-order'", CONTRACT],
  ["connect<typeof classes>().stream('get-order')", "'get-order'", CONTRACT],
  ["connect<typeof classes>().emit('placed')", "'placed'", CONTRACT],
  ["gateway(client, { 'GTE /x': 'users.get' })", "'GTE /x'", KEY],
  ["gateway(client, { 'GET users': { pattern: 'users.get' } })", "'GET users'", KEY],
  ["gateway(client, { 'GET /a/:id': 'users.age' })", "'GET /a/:id'", UNFIT],
  ["gateway(client, { 'GET /a/:id': { pattern: 'users.age' } })", "'GET /a/:id'", UNFIT],
  ["gateway(client, { 'GET /a/:id': { stream: 'users.get' } })", 'stream:', `${IS_VALUE} { pattern }`],
  ["gateway(client, { 'POST /a/:id': { emit: 'users.get' } })", 'emit:', `${IS_VALUE} { pattern }`],
  ["gateway(client, { 'GET /a': 'users.list' })", "'GET /a'", `${IS_STREAM} { stream }`],
  ["gateway(client, { 'GET /a': { pattern: 'users.list' } })", "'GET /a'", `${IS_STREAM} { stream }`],
  ["gateway(client, { 'POST /a': { emit: 'users.list' } })", 'emit:', `${IS_STREAM} { stream }`],
  ["gateway(client, { 'POST /a': { pattern: 'users.made' } })", "'POST /a'", `${IS_EVENT} { emit }`],
  ["gateway(client, { 'POST /a': { stream: 'users.made' } })", 'stream:', `${IS_EVENT} { emit }`],
  ["gateway(client, { 'GET /a': 'users.gte' })", "'GET /a'", NONE],
  ["gateway(client, { 'GET /a': { stream: 'users.gte' } })", 'stream:', NONE],
  [
    "empty.message('x', () => 1, { body: t.Object({}) })",
    'body:',
    "A message has no body: the schema of what callers send is 'data'"
  ],
  [
    "empty.event('x', () => 1, { query: t.Object({}) })",
    'query:',
    "A message has no query: the schema of what callers send is 'data'"
  ],
  [
    "empty.event('x', () => 1, { response: t.Number() })",
    'response:',
    'An event has no answer, and so no schema of one'
  ],
  [
    "empty.event('x', ({ data }: Message<number>) => data, { response: t.Number() })",
    'response:',
    'An event has no answer, and so no schema of one'
  ],
  ['empty.guard({ params: t.Object({}) })', 'params:', 'A message has no params'],
  ["empty.message('x', () => 1, { detail: {} })", 'detail:', 'A message has no detail: it is no HTTP route'],
  [
    "empty.message('x', () => 1, { beforeHandel() {} })",
    'beforeHandel',
    "There is no option 'beforeHandel', and no macro of that name"
  ]
] as const

describe('what the compiler says of', () => {
  /** The first line of the first error of each line of the file, and its column. */
  const said = new Map<number, { readonly column: number; readonly text: string }>()

  before(async () => {
    mkdirSync(folder, { recursive: true })
    const lines = MISTAKES.map(([code]) => `void ${code}`)
    writeFileSync(join(folder, 'mistakes.ts'), `${HEAD}${lines.join('\n')}\n`)
    const compilerOptions = { target: 'es2023', module: 'nodenext', strict: true, noEmit: true }
    const options = {
      compilerOptions: { ...compilerOptions, skipLibCheck: true, types: ['node'] },
      include: ['*.ts']
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options))
    const { stdout } = await run(tsc, ['-p', folder, '--pretty', 'false']).catch(
      (error: { readonly stdout: string }) => error
    )
    for (const [, line, column, text] of stdout.matchAll(/^.*mistakes\.ts\((\d+),(\d+)\): (.*)$/gm))
      if (!said.has(Number(line))) said.set(Number(line), { column: Number(column), text: String(text) })
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [index, [code, place, sentence]] of MISTAKES.entries())
    it(code, () => {
      const line = HEAD.split('\n').length + index
      const { column, text } = said.get(line) ?? assert.fail('nothing')
      assert.ok(text.includes(sentence), text)
      assert.equal(`void ${code}`.indexOf(place) + 1, column, text)
    })
})
