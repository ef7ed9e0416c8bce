/**
 * A service that a package exports: the compiler can write its declarations, and they give a caller the same types as
 * the source.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { isOnPush } from '@elysia-microservices/test-support'
import { rootFolder, testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `declarations-${process.pid}`)

const service = `
import { Elysia, t } from 'elysia'
import { type Message, type MessageBehind, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { clients, gateway } from 'elysia-microservices/gateway'
class NotFound extends Error {}
const app = new Elysia().decorate('clock', { now: () => 1 }).state('visits', 0)
export const used = microservice<typeof app>({ transport: 'tcp' })
  .use(app)
  .resolve({ as: 'scoped' }, () => ({ near: 1 }))
  .as('global')
  .message('used', ({ near, clock }) => near + clock.now())
export const service = microservice({ transport: 'tcp' })
  .decorate('db', { find: () => ({ id: 1 }) })
  .state('count', 0)
  .derive(() => ({ user: 'x' }))
  .error('NOT_FOUND', NotFound)
  .error({ RANGE: RangeError })
  .macro({
    role: (role: 'admin') => ({ resolve: () => ({ member: { role } }), beforeHandle: () => role }),
    numbers: { data: t.Array(t.Number()) }
  })
  .use(used)
  .message('annotated', ({ data }: Message<number>) => data, { role: 'admin' })
  .message({ cmd: 'object' }, async function* () { yield 1 })
  .message('orders.*', ({ params }) => params[0])
  .message('member', ({ member, data }) => member.role.length + data.length, { role: 'admin', numbers: true })
  .guard({ as: 'scoped', errors: { DENIED: { status: 403 } }, headers: t.Object({ a: t.Optional(t.String()) }) })
  .message('failing', ({ fail, data }) => (data > 1 ? fail('OUT_OF_STOCK', { left: data }) : data), {
    data: t.Number(),
    errors: { OUT_OF_STOCK: { details: t.Object({ left: t.Number() }), status: 409 } }
  })
  .message('maybe', ({ data }) => data ?? 'none', { data: t.Optional(t.String()) })
  .guard({ data: t.Number() })
  .message('checked', ({ data }) => data, { data: t.Object({ n: t.Number() }), response: t.Object({ n: t.Number() }) })
  .group('group', (g) => g.event('placed', ({ data }) => data))
  .guard({ response: t.String() }, (g) => g.message('guarded', () => 'text'))
export const behind = microservice<typeof used>({ transport: 'tcp' })
  .message('behind', ({ near }: MessageBehind<typeof used>) => near)
export const above = microservice({ transport: 'tcp' }).use(used).use(behind)
const guarded = microservice({ transport: 'tcp' })
  .guard({ as: 'scoped', headers: t.Object({ authorization: t.String() }) })
export const behindGuard = microservice({ transport: 'tcp' })
  .use(guarded)
  .message('mine', ({ headers }) => headers.authorization)
export const plugin = new Elysia().use(service)
export const client = connect<typeof service>({})
export const routes = gateway(client, {
  'GET /used': 'used',
  'POST /failing': { pattern: 'failing', body: t.Number() },
  'GET /orders/:id': { pattern: 'orders.*', data: ({ params }) => params.id },
  'GET /checked/:n': { pattern: 'checked', params: t.Object({ n: t.Number() }) },
  'POST /annotated': { pattern: 'annotated', body: t.Number() },
  'GET /numbers': { stream: { cmd: 'object' }, query: t.Object({ from: t.Optional(t.Number()) }) },
  'POST /placed': { emit: 'group.placed' }
})
export const http = new Elysia().use(routes).listen(3000)
export const untyped = new Elysia().use(gateway(() => connect({ port: 4000 }), { 'GET /users/:id': 'users.get' }))
export const byHand = new Elysia().use(clients({ own: client })).get('/:id', ({ own }) => own.request('used'))
`

const caller = `
import type { service } from './types/service.js'
import { treaty } from '@elysiajs/eden'
import type { byHand, http } from './types/service.js'
import { connect } from 'elysia-microservices/client'
import { isError } from 'elysia-microservices/client'
const client = connect<typeof service>({})
export const failing = await client.safe.request('failing', 1)
export const left: number | false = isError(failing.error, 'OUT_OF_STOCK') && failing.error.details.left
export const used: Promise<number> = client.request('used')
export const annotated: Promise<number> = client.request('annotated', 1)
export const stream: AsyncIterableIterator<number> = client.stream({ cmd: 'object' })
export const wildcard: Promise<string> = client.request('orders.1', 1)
export const checked: Promise<{ n: number }> = client.request('checked', { n: 1 })
export const maybe: Promise<string> = client.request('maybe')
export const member: Promise<number> = client.request('member', [1])
export const event: Promise<void> = client.emit('group.placed', 1)
export const guarded: Promise<string> = client.request('guarded', 1)
const api = treaty<typeof http>('localhost:3000')
export const overHttp: number | null = (await api.checked({ n: 1 }).get()).data && (await api.checked({ n: 1 }).get()).data!.n
const overHttpFailing = (await api.failing.post(1)).error?.value
export const leftOverHttp: number | false = isError(overHttpFailing, 'OUT_OF_STOCK') && overHttpFailing.details.left
export const order: string | null = (await api.orders({ id: '1' }).get()).data
export const byHandOverHttp: number | null = (await treaty<typeof byHand>('')({ id: '1' }).get()).data
// @ts-expect-error the body is a number
api.annotated.post('a')
// @ts-expect-error the data is a number
client.request('annotated', 'a')
`

const OPTIONS = { target: 'es2023', strict: true, skipLibCheck: true, types: ['node'] }
const DECLARING = { composite: true, emitDeclarationOnly: true, rootDir: '.', outDir: 'types' }
const RESOLUTIONS = [
  ['nodenext', { module: 'nodenext', rewriteRelativeImportExtensions: true }],
  ['bundler', { module: 'esnext', moduleResolution: 'bundler', allowImportingTsExtensions: true }]
] as const

/** Compiles a project. Fails with the errors of the compiler. */
async function compile(project: string): Promise<void> {
  await run(tsc, ['-p', project]).catch((error: { stdout: string }) => assert.fail(error.stdout))
}

// On a push one resolution is enough: both find the same declarations.
for (const [resolution, module] of isOnPush ? RESOLUTIONS.slice(0, 1) : RESOLUTIONS) {
  const here = join(folder, resolution)
  const write = (name: string, content: string | object) =>
    writeFileSync(join(here, name), typeof content === 'string' ? content : JSON.stringify(content))

  describe(`declarations, resolved as by ${resolution}`, () => {
    before(() => {
      // A package that the tests themselves do not need.
      mkdirSync(join(here, 'node_modules/@elysiajs'), { recursive: true })
      const openapi = 'node_modules/@elysiajs/openapi'
      symlinkSync(join(rootFolder, 'packages/elysia-microservices', openapi), join(here, openapi))
    })
    after(() => rmSync(folder, { recursive: true, force: true }))

    it('of a service, its client and its gateway carry their types into another package', async () => {
      write('service.ts', service)
      write('caller.ts', caller)
      write('service.json', {
        compilerOptions: { ...OPTIONS, ...module, ...DECLARING },
        files: ['service.ts']
      })
      write('caller.json', { compilerOptions: { ...OPTIONS, ...module, noEmit: true }, files: ['caller.ts'] })
      await compile(join(here, 'service.json'))
      await compile(join(here, 'caller.json'))
    })

    // Made projects are tested at night. One compiler run for all of them; an error names its file.
    if (!isOnPush)
      it('of projects made for each transport and runtime can be written', async () => {
        const template = join(rootFolder, 'tools/create-elysia-microservices/template')
        for (const transport of ['tcp', 'grpc', 'nats', 'redis', 'rabbitmq'])
          for (const runtime of ['bun', 'node'])
            for (const part of ['common', transport, runtime])
              cpSync(join(template, part, 'src'), join(here, 'made', `${transport}-${runtime}`), {
                recursive: true
              })
        const compilerOptions = { ...OPTIONS, ...module, ...DECLARING, verbatimModuleSyntax: true }
        write('made/tsconfig.json', { compilerOptions, include: ['*/*.ts', '*/*.json'] })
        await compile(join(here, 'made'))
      })
  })
}
