/**
 * Tests that a subscriber gets the same errors from four combinations: client and server of Nest, of this library, and
 * one of each.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { DEAF_PORT } from '@elysia-microservices/test-support'
import { BadRequestException, Controller, HttpException } from '@nestjs/common'
import { type ClientProxy, EventPattern, MessagePattern, RpcException } from '@nestjs/microservices'
import { concat, EMPTY, firstValueFrom, of, throwError } from 'rxjs'
import { ConnectionError, OptionError, RejectedError, TimeoutError } from './index.ts'
import {
  ask,
  askAll,
  clientOf,
  errorOf,
  type Service,
  startService,
  startStockService,
  stockClientOf
} from './testing/service.ts'

/** Errors that handlers throw, by pattern. */
const THROWN: Record<string, () => unknown> = {
  text: () => new RpcException('no such user'),
  'empty text': () => new RpcException(''),
  object: () => new RpcException({ code: 'USER_NOT_FOUND', message: 'There is no user 7', details: [7] }),
  'object with a status': () => new RpcException({ status: 404, message: 'not found' }),
  'object with status error': () => new RpcException({ status: 'error', message: 'm', reason: 1 }),
  list: () => new RpcException(['a', 'b']),
  'inner error': () => new RpcException(new Error('inner')),
  'plain error': () => new Error('secret'),
  'plain text': () => 'secret',
  'plain object': () => ({ secret: true }),
  nothing: () => undefined,
  'http exception': () => new BadRequestException('secret'),
  'http exception with an object': () => new HttpException({ secret: true }, 400)
}

@Controller()
class FailingController {
  @MessagePattern('throws')
  throws(name: string): never {
    throw THROWN[name]!()
  }

  @MessagePattern('rejects')
  async rejects(name: string): Promise<never> {
    throw THROWN[name]!()
  }

  @MessagePattern('fails')
  fails(name: string): unknown {
    return throwError(THROWN[name]!)
  }

  @MessagePattern('fails after a value')
  failsLater(name: string): unknown {
    return concat(of(1), throwError(THROWN[name]!))
  }

  @MessagePattern('empty')
  empty(): unknown {
    return EMPTY
  }

  @MessagePattern('silent')
  silent(): Promise<never> {
    return new Promise(() => {})
  }

  @MessagePattern('bigint')
  bigint(): unknown {
    return { value: 1n }
  }

  @EventPattern('note')
  note(_data: unknown): void {}
}

/** `stock` is a service with Nest's own transport; the errors that its caller gets are the expected ones. */
let stock: Service
let ours: Service
before(async () => {
  stock = await startStockService({ controllers: [FailingController] })
  ours = await startService({ controllers: [FailingController] })
})
after(async () => {
  await stock.app.close()
  await ours.app.close()
})

const PAIRS: [string, () => ClientProxy][] = [
  ['our client on rsocket, our server', () => clientOf(ours, 'rsocket')],
  ['our client on nest, our server', () => clientOf(ours, 'nest')],
  ["our client on nest, Nest's server", () => clientOf(stock, 'nest')],
  ["Nest's client, our server", () => stockClientOf(ours)]
]

for (const [name, makeClient] of PAIRS) {
  describe(`errors as Nest users know them: ${name}`, () => {
    let client: ClientProxy
    let reference: ClientProxy
    before(() => {
      client = makeClient()
      reference = stockClientOf(stock)
    })
    after(async () => {
      await client.close()
      reference.close()
    })

    for (const pattern of ['throws', 'rejects', 'fails', 'fails after a value']) {
      it(`a handler that ${pattern}`, async () => {
        for (const thrown of Object.keys(THROWN)) {
          const expected = await errorOf(reference, pattern, thrown)
          assert.deepEqual(await errorOf(client, pattern, thrown), expected, thrown)
        }
      })
    }

    it('an unknown pattern', async () => {
      const expected = await errorOf(reference, 'unknown', 1)
      assert.equal(typeof expected, 'string')
      assert.equal(await errorOf(client, 'unknown', 1), expected)
    })

    it('an answer without a value', async () => {
      assert.deepEqual(await askAll(client, 'empty', 1), [])
      await assert.rejects(ask(client, 'empty', 1), { name: 'EmptyError' })
    })

    it('a pattern or data that is null or undefined', async () => {
      const message = 'The invalid data or message pattern (undefined/null)'
      for (const [pattern, data] of [
        ['empty', null],
        ['empty', undefined],
        [null, 1]
      ]) {
        await assert.rejects(firstValueFrom(client.send(pattern, data)), { message })
        await assert.rejects(firstValueFrom(client.emit(pattern, data)), { message })
      }
    })

    it('data that JSON cannot carry', async () => {
      assert.ok((await errorOf(client, 'empty', 1n)) instanceof Error)
      await assert.rejects(firstValueFrom(client.emit('note', 1n)), Error)
    })

    it('a closed client', async () => {
      const pending = errorOf(client, 'silent', 1)
      await askAll(client, 'empty', 1)
      let failed = false
      void pending.then(() => {
        failed = true
      })
      void client.close()
      await Promise.resolve()
      assert.match(String(await pending), /Connection closed|ConnectionError: The client is closed/)
      assert.ok(failed)
      // The next call connects again.
      assert.deepEqual(await askAll(client, 'empty', 1), [])
    })
  })
}

for (const protocol of ['rsocket', 'nest'] as const) {
  describe(`errors Nest has no word for, on ${protocol}`, () => {
    it('a result that cannot be carried is an internal error', async () => {
      const client = clientOf(ours, protocol)
      const expected = { status: 'error', message: 'Internal server error' }
      assert.deepEqual(await errorOf(client, 'bigint', 1), expected)
      await client.close()
    })

    it('no answer in time is a TimeoutError', async () => {
      const client = clientOf(ours, protocol, { timeout: 20 })
      // Without a connection in that time it would be another error.
      await client.connect()
      assert.ok((await errorOf(client, 'silent', 1)) instanceof TimeoutError)
      await client.close()
    })

    it('nobody listening is the error of the system, for send, emit and connect', async () => {
      const client = clientOf({ port: DEAF_PORT }, protocol)
      for (const attempt of [
        () => firstValueFrom(client.send('empty', 1)),
        () => firstValueFrom(client.emit('note', 1)),
        () => client.connect()
      ]) {
        await assert.rejects(attempt(), { code: 'ECONNREFUSED' })
      }
      await client.close()
    })

    it('a lost connection is a ConnectionError, and each call settles once', async () => {
      const server = net.createServer((socket) => socket.once('data', () => socket.destroy()))
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const client = clientOf({ port: (server.address() as net.AddressInfo).port }, protocol)
      const errors = await Promise.all([1, 2, 3].map((data) => errorOf(client, 'silent', data)))
      for (const error of errors) {
        assert.ok(error instanceof ConnectionError)
        assert.equal(error.mayHaveRun, true)
      }
      await client.close()
      server.close()
    })
  })
}

describe('overload of a Nest application', () => {
  it('is a RejectedError to the caller', async () => {
    const service = await startService(
      { controllers: [FailingController] },
      { limits: { inFlightPerConnection: 1 } }
    )
    const client = clientOf(service, 'rsocket')
    const pending = errorOf(client, 'silent', 1)
    assert.ok((await errorOf(client, 'silent', 2)) instanceof RejectedError)
    await client.close()
    await pending
    await service.app.close()
  })
})

describe('data that the codec cannot carry', () => {
  it('is an OptionError that says so', async () => {
    const client = clientOf(ours, 'rsocket', { codec: 'bytes' })
    assert.ok((await errorOf(client, 'empty', 'text')) instanceof OptionError)
    await client.close()
  })
})
