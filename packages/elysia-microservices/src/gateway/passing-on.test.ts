/** A gateway passes some answers on without parsing them, and parses others. HTTP clients must see no difference. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { UnreadJson } from '@elysia-microservices/transport/kit'
import { type AnyElysia, Elysia } from 'elysia'
import fc from 'fast-check'
import { type ConnectOptions, connect, type SentMessage } from '../client/index.ts'
import { type Message, type Middleware, memory, microservice, tap } from '../index.ts'
import type { Handle } from '../types/index.ts'
import { gateway } from './index.ts'

const hub = memory()
const values = new Map<number, unknown>()
const answer = ({ data }: Message<{ of: string }>) => values.get(Number(data.of))
const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).message('value', answer)
const inMemory = microservice({ transport: hub }).message('value', answer)

/**
 * Any value that all transports can carry. The key `__proto__` is left out, because MessagePack refuses it
 * (`docs/protocol.md`).
 */
const anyValue = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"__proto__":'))

const seen: unknown[] = []
const looking: Middleware<SentMessage> = (next) => (message) =>
  tap(next(message), { value: (value) => seen.push(value), ended() {} })

const counting: Middleware<SentMessage> = Object.assign(
  (next: Handle<SentMessage>): Handle<SentMessage> =>
    (message) =>
      tap(next(message), { ended() {} }),
  { ignoresValues: true }
)

/**
 * The transports and codecs by which an answer can reach a gateway. `isUnread`: the gateway passes the answer on
 * without parsing it.
 */
const ways = {
  'RSocket, JSON': { isUnread: true, options: {} },
  'RSocket, MessagePack': { isUnread: false, options: { codec: 'msgpack' } },
  'RSocket, shapes': { isUnread: false, options: { codec: 'shapes' } },
  "Nest's wire": { isUnread: false, options: { protocol: 'nest' } },
  'a client with a middleware that may look': { isUnread: false, options: { wrap: [counting, looking] } },
  'a client with a middleware that does not look': { isUnread: true, options: { wrap: [counting] } },
  memory: { isUnread: false, options: { transport: hub } }
} as const

before(() => Promise.all([service.listen(), inMemory.listen()]))
after(() => Promise.all([service.stop(), inMemory.stop()]))

for (const [way, { isUnread, options }] of Object.entries(ways)) {
  describe(`a gateway's answers by ${way}`, () => {
    const answers: unknown[] = []
    let app: AnyElysia
    let close: () => Promise<void>

    before(() => {
      const { host, port } = service.address as { host: string; port: number }
      const given = 'transport' in options ? options : { host, port, ...options }
      const client = connect(given as ConnectOptions)
      close = () => client.close()
      const watched = {
        connect: () => client.connect(),
        close,
        status: client.status,
        request: async (...call: Parameters<typeof client.request>) => {
          const value = await client.request(...call)
          answers.push(value)
          return value
        }
      }
      app = new Elysia().use(gateway(watched as never as typeof client, { 'GET /value': 'value' }))
    })
    after(() => close())

    it('are what JSON.stringify makes of the value', async () => {
      let last = 0
      await fc.assert(
        fc.asyncProperty(anyValue, async (value) => {
          values.set(++last, value)
          const response = await app.handle(new Request(`http://localhost/value?of=${last}`))
          assert.equal(response.status, 200)
          assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
          assert.equal(await response.text(), JSON.stringify(value))
          assert.equal(answers.pop() instanceof UnreadJson, isUnread)
        }),
        { numRuns: 50 }
      )
    })

    it('are 204 for undefined', async () => {
      values.set(-1, undefined)
      const response = await app.handle(new Request('http://localhost/value?of=-1'))
      assert.deepEqual([response.status, await response.text()], [204, ''])
    })
  })
}

it('a middleware of the client sees the values', () => {
  assert.ok(seen.length > 50)
  assert.ok(!seen.some((value) => value instanceof UnreadJson))
})
