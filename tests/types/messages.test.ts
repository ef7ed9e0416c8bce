/** The compiler's messages for mistakes: the first line has a helpful sentence, at the place of the mistake. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { memory, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `messages-${process.pid}`)

const HEAD = `
import { Elysia, t } from 'elysia'
import { isError, type Message, memory, microservice } from 'elysia-microservices'
import { websocket } from '@elysia-microservices/websocket'
import { connect as connectPage } from '@elysia-microservices/websocket/client'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
const service = microservice({ transport: 'tcp' })
  .message('users.get', ({ data }: Message<{ id: string }>) => data)
  .message('users.age', ({ data }: Message<{ id: number }>) => data.id)
  .message('users.list', async function* () { yield 1 })
  .event('users.made', ({ data }: Message<{ id: string }>) => data)
const factory = () => service
const client = connect<typeof service>({})
const storing = connect<typeof service>({ transport: memory() })
const door = websocket({ expose: ['users.get'] })
const app = new Elysia()
const page = connectPage<typeof service, typeof door>()
const empty = microservice({ transport: 'tcp' })
const later = async () => service
class Orders {}
const classes = microservice({ transport: 'tcp', controllers: [Orders] })
const auth = microservice({ transport: 'tcp' }).resolve({ as: 'scoped' }, () => ({ user: { name: 'Ada' } }))
const mine = microservice<typeof auth>({ transport: 'tcp' }).message('mine', ({ user }) => user.name)
const stock = microservice({ transport: 'tcp' })
  .message('take', ({ fail }) => fail('OUT_OF_STOCK', { left: 3 }), { errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) } })
const secured = connect<{ whose(data: unknown, headers: { authorization: string; tenant?: string }): string }>()
const whoami = ({ user }: Message & { readonly user: string }) => user
`

const IS_STREAM = 'This pattern answers with a stream: use'
const IS_VALUE = 'This pattern answers with one value: use'
const IS_EVENT = 'This pattern is an event: use'
const UNEXPOSED = 'This pattern is not exposed: websocket({ expose }) does not name it'
const NONE = 'There is no such pattern; the patterns are:'
const KEY = 'A key is a method in capitals, one space and a path, such as GET /users/:id'
const CONTRACT =
  'The type has no such patterns; patterns of controller classes need a contract: connect<Contract>()'
const NEEDS = "This service needs 'user', which no service before it adds: first use a service that adds it"
const HEADERS = 'The pattern needs headers that the route does not pass on: name them in headers'
const UNFIT =
  'The default data of the route does not fit the pattern: add schemas (params, query, body), or a function data'

/** The beginnings of messages in which the compiler lists what it has tried. */
const BEFORE_THE_SENTENCE = /No overload matches this call|Argument of type '\(/

/** The mistakes: each has its line, the text to which the compiler must point, and the expected message. */
const MISTAKES = [
  ["microservice({ transport: 'tcp' }).use(mine)", 'mine', NEEDS],
  ['mine.listen()', 'mine.listen', NEEDS],
  [
    "microservice({ transport: 'tcp' }).message('whoami', whoami)",
    'whoami)',
    "Property 'user' is missing in type"
  ],
  [
    "connect<typeof stock>().safe.request('take').then(({ error }) => isError(error, 'OUT_OF_STOK'))",
    "'OUT_OF_STOK'",
    `not assignable to parameter of type '"OUT_OF_STOCK"'`
  ],
  [
    "stock.message('more', ({ fail }) => fail('OUT_OF_STOCK', { left: '3' }), { errors: { OUT_OF_STOCK: t.Object({ left: t.Number() }) } })",
    'left: ',
    "'string' is not assignable to type 'number'"
  ],
  [
    "stock.message('more', () => 1, { passes: ['OUT_OF_STOCK'] })",
    'passes:',
    'Only declared errors can be passed on: declare them in errors'
  ],
  ["page.request('users.age', { id: 1 })", "'users.age'", UNEXPOSED],
  ["page.stream('users.list')", "'users.list'", UNEXPOSED],
  ["page.emit('users.made', { id: 'a' })", "'users.made'", UNEXPOSED],
  ["page.stream('users.get')", "'users.get'", `"${IS_VALUE} 'request' or 'send'"`],
  ["connectPage<typeof service, typeof app>().request('users.get')", "'users.get'", 'This is not a door'],
  ["client.request('users.list')", "'users.list'", `"${IS_STREAM} 'stream' or 'send'"`],
  ["client.request('users.made', { id: 'a' })", "'users.made'", `"${IS_EVENT} 'emit'"`],
  ["client.request('users.gte')", "'users.gte'", 'AsPattern<"users.age" | "users.get">'],
  ["client.stream('users.get', { id: 'a' })", "'users.get'", `"${IS_VALUE} 'request' or 'send'"`],
  ["client.send('users.made')", "'users.made'", `"${IS_EVENT} 'emit'"`],
  ["client.emit('users.get', { id: 'a' })", "'users.get'", `"${IS_VALUE} 'request' or 'send'"`],
  ["client.emit('users.list')", "'users.list'", `"${IS_STREAM} 'stream' or 'send'"`],
  [
    "storing.publish('users.get')",
    "'users.get'",
    'This pattern is not an event: only events can be published'
  ],
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
  ["gateway(client, { 'GET users': { pattern: 'users.get' } })", 'pattern:', KEY],
  ["gateway(client, { 'GET /a/:id': 'users.age' })", "'GET /a/:id'", UNFIT],
  ["gateway(client, { 'GET /a/:id': { pattern: 'users.age' } })", 'pattern:', UNFIT],
  ["gateway(client, { 'GET /a/:idd': 'users.get' })", "'GET /a/:idd'", UNFIT],
  ["gateway(client, { 'GET /a/:id': { stream: 'users.get' } })", 'stream:', `${IS_VALUE} { pattern }`],
  ["gateway(client, { 'POST /a/:id': { emit: 'users.get' } })", 'emit:', `${IS_VALUE} { pattern }`],
  ["gateway(client, { 'GET /a': 'users.list' })", "'GET /a'", `${IS_STREAM} { stream }`],
  ["gateway(client, { 'GET /a': { pattern: 'users.list' } })", 'pattern:', `${IS_STREAM} { stream }`],
  ["gateway(client, { 'POST /a': { emit: 'users.list' } })", 'emit:', `${IS_STREAM} { stream }`],
  ["gateway(client, { 'POST /a': { pattern: 'users.made' } })", 'pattern:', `${IS_EVENT} { emit }`],
  ["gateway(client, { 'POST /a': { stream: 'users.made' } })", 'stream:', `${IS_EVENT} { emit }`],
  ["gateway(client, { 'GET /a': 'users.gte' })", "'GET /a'", NONE],
  ["gateway(client, { 'GET /a': { stream: 'users.gte' } })", 'stream:', NONE],
  ["gateway(client, { 'GET /a': { status: 201 } })", "'GET /a'", NONE],
  [
    "gateway(client, { 'GET /a/:id': { pattern: 'users.get', stauts: 201 } })",
    'stauts',
    "There is no option 'stauts' of a route"
  ],
  ["gateway(secured, { 'GET /a': 'whose' })", "'GET /a'", HEADERS],
  ["gateway(secured, { 'GET /a': { pattern: 'whose', headers: ['tenant'] } })", 'pattern:', HEADERS],
  [
    "gateway(secured, { 'GET /a': { pattern: 'whose', headers: () => ({ tenant: 'a' }) } })",
    'pattern:',
    HEADERS
  ],
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
    'An event has no answer, so it cannot have a schema of its answer'
  ],
  [
    "empty.event('x', ({ data }: Message<number>) => data, { response: t.Number() })",
    'response:',
    'An event has no answer, so it cannot have a schema of its answer'
  ],
  [
    "empty.event('x', () => 1, { durable: { retries: 3 } })",
    'retries',
    "does not exist in type 'DurableOptions'"
  ],
  [
    "empty.event('x', () => 1, { durable: { retry: { atempts: 3 } } })",
    'atempts',
    "Did you mean to write 'attempts'?"
  ],
  ["empty.message('x', () => 1, { durable: true })", 'durable:', 'Only events can be durable'],
  [
    "empty.message('x', () => 1, { timeout: '5' })",
    'timeout:',
    "'string' is not assignable to type 'number | false | undefined'"
  ],
  ["empty.event('x', () => 1, { idempotent: true })", 'idempotent:', 'Nobody waits for an event'],
  ["empty.message('x', () => 1, { streams: { answr: true } })", 'answr', "Did you mean to write 'answer'?"],
  [
    'connect<typeof service>({ retries: 3 })',
    'retries',
    `'retries' does not exist in type 'ConnectOptions<CodecName> & RepeatingOptions<"…">'`
  ],
  ['empty.guard({ timeout: 5 })', 'timeout:', 'This is an option of each handler, not of a guard'],
  ['empty.guard({ params: t.Object({}) })', 'params:', 'A message has no params'],
  [
    "empty.message('x', () => 1, { detail: {} })",
    'detail:',
    'A message has no detail: it is not an HTTP request'
  ],
  ['connect<service>()', 'service>', "Did you mean 'typeof service'?"],
  ["client.request('users.age', { id: 1 }).toFixed()", 'toFixed', "does not exist on type 'Promise<number>'"],
  [
    "client.request('users.get', { id: 'a' }).then(({ idd }) => idd)",
    'idd',
    "Property 'idd' does not exist on type '{ id: string; }'"
  ],
  ["[...client.stream('users.list')]", 'client.stream', "must have a '[Symbol.iterator]()' method"],
  [
    "((n: number) => n)(client.stream('users.list'))",
    'client.stream',
    "'AsyncIterableIterator<number>' is not assignable to parameter of type 'number'"
  ],
  ["client.request('users.get')", 'request', 'Expected 2-3 arguments, but got 1'],
  ["client.request('users.get', { idd: 'a' })", 'idd', "'idd' does not exist in type '{ id: string; }'"],
  ["client.request('users.get', { id: 'a' }, { timout: 1 })", 'timout', "Did you mean to write 'timeout'?"],
  ["client.cal('users.get')", 'cal', "Property 'cal' does not exist on type 'Client<"],
  [
    "client.publish('users.made', { id: 'a' })",
    'publish',
    "Property 'publish' does not exist on type 'Client<"
  ],
  [
    "(async () => await client.send('users.get', { id: 'a' }))()",
    "await client.send('users.get', { id: 'a' })",
    "must not contain a callable 'then' member"
  ],
  ["microservice({ transport: 'nats' })", 'transport', '\'"nats"\' is not assignable to type \'"tcp"'],
  [
    "microservice({ transport: 'tcp', port: '4000' })",
    "port: '4",
    "'string' is not assignable to type 'number'"
  ],
  ["microservice({ transport: 'tcp', prot: 4000 })", 'prot', "'prot' does not exist in type"],
  ['empty.message(() => 1)', 'message', 'Expected 2-3 arguments, but got 1'],
  [
    "empty.message('x', { data: t.Number() }, () => 1)",
    'data:',
    "'data' does not exist in type '(context: Message<"
  ],
  ["empty.message('x', ({ body }) => body)", 'body', "Property 'body' does not exist on type 'Message<"],
  ["empty.message('x', ({ data }) => data.id)", 'data.id', "'data' is of type 'unknown'"],
  [
    "empty.message('x', ({ data }: Message<string>) => data, { data: t.Number() })",
    '({ data }',
    "'({ data }: Message<string>) => string' is not assignable to parameter of type '(context: Message<number,"
  ],
  [
    "empty.message('x', () => 'a', { response: t.Number() })",
    "'a'",
    "Type 'string' is not assignable to type 'number |"
  ],
  [
    "empty.message('x', ({ data }) => data, { data: { id: t.Number() } })",
    'data: {',
    'This is not a schema: the schema of an object is t.Object({ … })'
  ],
  [
    "empty.decorate('db', 1).message('x', ({ bd }) => bd)",
    'bd })',
    "Property 'bd' does not exist on type 'Message<"
  ],
  [
    "empty.message('x', () => 1, { beforeHandel() {} })",
    'beforeHandel',
    "There is no option 'beforeHandel', and no macro of that name"
  ]
] as const

/** The longest line of a message, in characters. */
const MAX_LINE = 600

describe('the message of the compiler for', () => {
  /**
   * The first error of each line of the file, with its column: its first line, or all its lines if the first one is
   * not helpful.
   */
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
    for (const [, line, column, first = '', more] of stdout.matchAll(
      /^.*mistakes\.ts\((\d+),(\d+)\): (.*)$((?:\n .*$)*)/gm
    )) {
      const text = BEFORE_THE_SENTENCE.test(first) ? `${first}${more}` : first
      if (!said.has(Number(line))) said.set(Number(line), { column: Number(column), text })
    }
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [index, [code, place, sentence]] of MISTAKES.entries())
    it(code, () => {
      const line = HEAD.split('\n').length + index
      const { column, text } = said.get(line) ?? assert.fail('nothing')
      assert.ok(text.includes(sentence), text)
      assert.equal(`void ${code}`.indexOf(place) + 1, column, text)
    })

  it('all mistakes has lines of a readable length', () => {
    for (const { text } of said.values())
      for (const line of text.split('\n')) assert.ok(line.length < MAX_LINE, line)
  })
})

describe('the error at the start of the program for', () => {
  // Checked at the start, because the compiler would have to compare each pattern with all others.
  it('two services with one pattern', () => {
    const service = () => microservice({ transport: memory() }).message('users.get', () => 1)
    assert.throws(() => service().use(service()), {
      code: 'OPTION',
      message:
        "The message pattern 'users.get' has a handler already; a request has one answer (events may have several handlers)"
    })
  })

  it('an unknown codec', () => {
    assert.throws(() => connect({ port: 4000, codec: 'protobuf' as 'json' }), {
      code: 'OPTION',
      message: "options.codec must be one of 'json', 'bytes', 'msgpack', 'shapes', but is 'protobuf'"
    })
  })
})
