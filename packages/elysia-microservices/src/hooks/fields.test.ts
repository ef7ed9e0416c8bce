/** The fields that `derive` and `resolve` add to a message. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { memory, OptionError } from '@elysia-microservices/transport'
import { connect } from '../client/index.ts'
import { microservice } from '../index.ts'
import { Cleanups } from '../testing/ways.ts'
import { RESERVED_NAMES } from './context.ts'

const cleanups = new Cleanups()
afterEach(() => cleanups.run())

const HOOKS = ['derive', 'resolve'] as const

/** Sends a message whose hook returns `added`. */
async function sent(type: (typeof HOOKS)[number], added: unknown, inMacro: boolean) {
  const transport = memory()
  const logged: unknown[] = []
  const logger = { error: (_line: string, cause?: unknown) => void logged.push(cause), warn() {} }
  const hook = () => added as object
  const plain = microservice({ transport, logger }).decorate('db', 'db').state('n', 1)
  const service = inMacro
    ? (plain.macro('m', { [type]: hook }).guard({ m: true }) as unknown as typeof plain)
    : (plain[type](hook) as unknown as typeof plain)
  const answering = service.message('x', ({ db, store, headers, ...context }) => [
    db,
    store.n,
    headers['a'],
    Reflect.get(context, 'user') ?? null
  ])
  await cleanups.add(answering).listen()
  const client = cleanups.add(connect({ transport }))
  const answer = await client.request('x', undefined, { headers: { a: 'b' } }).catch(({ code }) => code)
  return { answer, logged }
}

for (const type of HOOKS) {
  for (const inMacro of [false, true]) {
    describe(`the fields that ${type} adds${inMacro ? ' in a macro' : ''}`, () => {
      it('may have any name that a message does not have', async () => {
        assert.deepEqual((await sent(type, { user: 'Ada' }, inMacro)).answer, ['db', 1, 'b', 'Ada'])
        for (const nothing of [undefined, null, {}])
          assert.deepEqual((await sent(type, nothing, inMacro)).answer, ['db', 1, 'b', null])
      })

      it('fail the message if it has a field of that name, with a sentence that names both', async () => {
        for (const name of RESERVED_NAMES) {
          const { answer, logged } = await sent(type, JSON.parse(`{${JSON.stringify(name)}:{}}`), inMacro)
          assert.equal(answer, 'INTERNAL')
          const [error] = logged
          assert.ok(error instanceof OptionError, name)
          assert.match(error.message, new RegExp(`${type}\\(\\) has returned a field '${name}'`))
        }
      })

      it('are an object', async () => {
        for (const added of ['text', 5, true, [1], () => ({})]) {
          const { answer, logged } = await sent(type, added, inMacro)
          assert.equal(answer, 'INTERNAL')
          assert.match(String(logged[0]), new RegExp(`The result of ${type}\\(\\)`))
        }
      })
    })
  }
}

/** Only compiled, never run. */
export function names() {
  const service = microservice({ transport: memory() })
  service
    .derive(() => ({ user: 1 }))
    .resolve(async () => (Math.random() > 1 ? new Error('no') : { tenant: 1 }))
  // @ts-expect-error a message has a signal
  service.derive(() => ({ signal: 1 }))
  // @ts-expect-error a message has headers
  service.resolve({ as: 'scoped' }, async () => ({ headers: {} }))
  // @ts-expect-error a message has a kind
  service.macro({ m: { resolve: () => ({ kind: 'x' }) } })
}
