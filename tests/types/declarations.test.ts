/** A service that a package exports: its declarations can be written, and tell a caller what the source does. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { testsFolder, tsc } from '../workspace.ts'

const run = promisify(execFile)
const folder = join(testsFolder, 'dist', `declarations-${process.pid}`)

const service = `
import { Elysia, t } from 'elysia'
import { type Message, microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
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
  .guard({ data: t.Number() })
  .message('checked', ({ data }) => data, { data: t.Object({ n: t.Number() }), response: t.Object({ n: t.Number() }) })
  .group('group', (g) => g.event('placed', ({ data }) => data))
  .guard({ response: t.String() }, (g) => g.message('guarded', () => 'text'))
export const plugin = new Elysia().use(service)
export const client = connect<typeof service>({})
`

const caller = `
import type { service } from './types/service.js'
import { connect } from 'elysia-microservices/client'
const client = connect<typeof service>({})
export const used: Promise<number> = client.request('used')
export const annotated: Promise<number> = client.request('annotated', 1)
export const stream: AsyncIterableIterator<number> = client.stream({ cmd: 'object' })
export const wildcard: Promise<string> = client.request('orders.1', 1)
export const checked: Promise<{ n: number }> = client.request('checked', { n: 1 })
export const member: Promise<number> = client.request('member', [1])
export const event: Promise<void> = client.emit('group.placed', 1)
export const guarded: Promise<string> = client.request('guarded', 1)
// @ts-expect-error the data is a number
client.request('annotated', 'a')
`

describe('a service that is exported', () => {
  const options = { target: 'es2023', strict: true, skipLibCheck: true, types: ['node'] }
  for (const [resolution, module] of [
    ['nodenext', { module: 'nodenext' }],
    ['bundler', { module: 'esnext', moduleResolution: 'bundler' }]
  ] as const) {
    const here = join(folder, resolution)
    before(() => {
      const write = (name: string, text: string) => writeFileSync(join(here, name), text)
      mkdirSync(here, { recursive: true })
      write('service.ts', service)
      write('caller.ts', caller)
      const declaring = {
        ...options,
        ...module,
        declaration: true,
        emitDeclarationOnly: true,
        outDir: 'types'
      }
      write('service.json', JSON.stringify({ compilerOptions: declaring, files: ['service.ts'] }))
      write(
        'caller.json',
        JSON.stringify({ compilerOptions: { ...options, ...module, noEmit: true }, files: ['caller.ts'] })
      )
    })
    after(() => rmSync(folder, { recursive: true, force: true }))

    it(`has declarations that carry its types, resolved as by ${resolution}`, async () => {
      for (const project of ['service.json', 'caller.json']) {
        await run(tsc, ['-p', join(here, project)]).catch((error: { stdout: string }) =>
          assert.fail(error.stdout)
        )
      }
    })
  }
})
