/**
 * Errors in the contract of a pattern, over every transport: clients of this library get them with types, NestJS
 * clients as any other error.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { isMissing } from '@elysia-microservices/test-support'
import { type ClientOptions, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { t } from 'elysia'
import { microservice, RpcError } from 'elysia-microservices'
import { type ClientOf, connect, isError } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import { STAND_INS } from '../engines/stand-ins.ts'
import { type Carried, TRANSPORTS } from './transports.ts'

const logger = { error() {}, warn() {} }
const OUT_OF_STOCK = { details: t.Object({ left: t.Number() }), status: 409 }

/** A service that answers how much is in stock. */
const stockOver = (transport: ReturnType<Carried['server']>) =>
  microservice({ transport, logger, name: 'stock' })
    .message(
      'stock.take',
      ({ data, fail }) => {
        if (data === 'broken') throw new RpcError({ code: 'OUT_OF_STOCK', details: { left: 'secret' } })
        throw fail('OUT_OF_STOCK', { left: 3 }, 'Not so much is left')
      },
      { data: t.String(), response: t.Number(), errors: { OUT_OF_STOCK } }
    )
    .message(
      'stock.watch',
      async function* ({ fail }) {
        yield 4
        throw fail('OUT_OF_STOCK', { left: 3 })
      },
      { errors: { OUT_OF_STOCK } }
    )

/** A service that calls the stock service, and passes its declared errors on. */
const ordersOver = (
  transport: ReturnType<Carried['server']>,
  stock: ClientOf<ReturnType<typeof stockOver>>
) =>
  microservice({ transport, logger, name: 'orders' }).message(
    'orders.place',
    ({ data }) => stock.request('stock.take', data),
    {
      data: t.String(),
      errors: { OUT_OF_STOCK: OUT_OF_STOCK.details },
      passes: ['OUT_OF_STOCK']
    }
  )

for (const transport of TRANSPORTS) {
  if (isMissing(transport.name, transport.missing)) continue
  describe(`errors of a contract over ${transport.name}`, () => {
    let carried: Carried
    before(async () => {
      carried = await transport.open()
    })
    after(() => carried.close())

    it('reach callers with their details, and pass through a service in between', async () => {
      const stock = stockOver(carried.server())
      await stock.listen()
      const client = connect<typeof stock>({ transport: carried.client() })
      // Over TCP this service needs a port of its own.
      const own = await transport.open()
      const orders = ordersOver(own.server(), client)
      await orders.listen()
      const customer = connect<typeof orders>({ transport: own.client() })
      try {
        const { error } = await client.safe.request('stock.take', 'tea')
        assert.ok(isError(error, 'OUT_OF_STOCK'))
        assert.deepEqual([error.details.left, error.status, error.message], [3, 409, 'Not so much is left'])
        const placed = await customer.safe.request('orders.place', 'tea')
        assert.ok(isError(placed.error, 'OUT_OF_STOCK'))
        assert.deepEqual(
          [placed.error.details, placed.error.status, placed.error.message],
          [{ left: 3 }, 409, 'Not so much is left']
        )
        const values: number[] = []
        await assert.rejects(
          async () => {
            for await (const value of client.stream('stock.watch')) values.push(value)
          },
          (failure) => isError(failure, 'OUT_OF_STOCK') && (failure.details as { left: number }).left === 3
        )
        assert.deepEqual(values, [4])
        const broken = await customer.safe.request('orders.place', 'broken')
        assert.equal(broken.error?.code, 'INTERNAL')
        assert.doesNotMatch(JSON.stringify(broken.error), /secret/)
      } finally {
        await Promise.all([client.close(), customer.close()])
        await Promise.all([stock.stop(), orders.stop()])
        await own.close()
      }
    })
  })
}

describe("Nest's own client", () => {
  const expected = {
    status: 'error',
    code: 'OUT_OF_STOCK',
    message: 'Not so much is left',
    statusCode: 409,
    details: { left: 3 }
  }
  const take = async (options: ClientOptions) => {
    const client = ClientProxyFactory.create(options)
    try {
      return await firstValueFrom(client.send('stock.take', 'tea')).catch((error: unknown) => error)
    } finally {
      await client.close()
    }
  }

  it('gets a declared error like any other error, over TCP', async () => {
    const { open } = TRANSPORTS.find(({ name }) => name === "Nest's wire")!
    const carried = await open()
    const stock = stockOver(carried.server())
    await stock.listen()
    try {
      const options = { port: stock.address!.port, host: '127.0.0.1' }
      assert.deepEqual(await take({ transport: Transport.TCP, options }), expected)
    } finally {
      await stock.stop()
    }
  })

  for (const engine of STAND_INS) {
    const { nest } = engine
    if (nest === undefined || isMissing(engine.title, engine.missing)) continue
    it(`gets a declared error like any other error, over ${engine.title}`, async () => {
      const running = await engine.start()
      const stock = stockOver(running.transport({ queue: nest.queue }))
      await stock.listen()
      try {
        assert.deepEqual(await take(nest.client(running.port) as ClientOptions), expected)
      } finally {
        await stock.stop()
        await running.close()
      }
    })
  }
})
