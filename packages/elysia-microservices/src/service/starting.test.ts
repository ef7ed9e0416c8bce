/** A stored event begins when everything has started that starts together with its handler. */
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Values } from '@elysia-microservices/test-support'
import { memory, type Transport } from '@elysia-microservices/transport'
import { node } from '@elysiajs/node'
import { Elysia } from 'elysia'
import { connect } from '../client/connect.ts'
import type { Message } from '../index.ts'
import { microservice } from './microservice.ts'

const logger = { warn() {}, error() {} }
const durable = { start: 'all' } as const
const cleanUps: (() => Promise<unknown>)[] = []

/** A transport whose server waits, each time that it starts, until the test lets it. */
class Door {
  /** How each start that is under way is ended. */
  readonly knocks = new Values<(error?: Error) => void>()
  readonly transport: Transport

  constructor() {
    const base = memory()
    const { stores: _, ...traits } = base.traits
    const start = () =>
      new Promise<void>((resolve, reject) =>
        this.knocks.put((error) => (error === undefined ? resolve() : reject(error)))
      )
    this.transport = {
      name: 'door',
      traits,
      client: base.client,
      server(context) {
        const inner = base.server(context)
        return { name: 'door', start, stop: async () => {}, stats: () => inner.stats() }
      }
    }
  }
}

/** Lets everything happen that can happen. */
async function settle(): Promise<void> {
  for (let n = 0; n < 10; n++) await turn()
}

describe('a stored event', () => {
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
  })

  for (const [what, placeOf] of [
    [
      'in a transport of the service',
      (kept: ReturnType<typeof memory>, door: Transport) => ({ transport: [kept, door] })
    ],
    [
      'in a store beside its transport',
      (kept: ReturnType<typeof memory>, door: Transport) => ({ transport: door, store: kept })
    ]
  ] as const)
    it(`${what} waits until all has started, and a start that fails is no attempt`, async () => {
      const kept = memory()
      const door = new Door()
      const attempts = new Values<unknown>()
      const service = microservice({ name: 'mail', ...placeOf(kept, door.transport), logger }).event(
        'paid',
        ({ data, delivery }) => attempts.put([data, delivery?.attempt]),
        { durable }
      )
      const client = connect({ transport: kept, logger })
      cleanUps.push(
        () => client.close(),
        () => service.stop()
      )
      for (let n = 1; n <= 3; n++) {
        const listening = service.listen()
        const end = await door.knocks.take()
        await client.publish('paid', n)
        await settle()
        end(new Error('locked'))
        await assert.rejects(listening, /locked/)
      }
      assert.equal(await client.group('mail').lag(), 3, 'what was published meanwhile is kept')
      const listening = service.listen()
      const end = await door.knocks.take()
      end()
      await listening
      for (const n of [1, 2, 3]) assert.deepEqual(await attempts.take(), [n, 1])
    })

  it('waits until all services of its app have started, without which the process would end', async () => {
    const { mail, handled, client } = newMail()
    const door = new Door()
    const other = microservice({ name: 'other', transport: door.transport, logger })
    const app = typeof Bun === 'undefined' ? new Elysia({ adapter: node() }) : new Elysia()
    app
      .use(mail)
      .use(other)
      .listen(0, (server) => void cleanUps.push(async () => void server.stop()))
    cleanUps.push(() => other.stop())
    const end = await door.knocks.take()
    await mail.listen()
    await client.publish('paid', 1)
    await settle()
    assert.deepEqual(handled, [])
    end()
    await other.listen()
    await settle()
    assert.deepEqual(handled, [1])
  })

  it('does not wait for a service that starts by itself', async () => {
    const { mail, handled, client } = newMail()
    const door = new Door()
    const other = microservice({ name: 'other', transport: door.transport, logger })
    const listening = other.listen()
    const end = await door.knocks.take()
    await mail.listen()
    await client.publish('paid', 1)
    await settle()
    assert.deepEqual(handled, [1])
    end()
    await listening
    await other.stop()
  })
})

/** A service with a durable handler, and its client. */
function newMail() {
  const transport = memory()
  const handled: unknown[] = []
  const handle = ({ data }: Message) => void handled.push(data)
  const mail = microservice({ name: 'mail', transport, logger }).event('paid', handle, { durable })
  const client = connect({ transport, logger })
  cleanUps.push(
    () => client.close(),
    () => mail.stop()
  )
  return { mail, handled, client }
}
