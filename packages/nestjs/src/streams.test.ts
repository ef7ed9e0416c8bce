/** Tests handlers that return many values, and callers that take some of them. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { tcp } from '@elysia-microservices/tcp'
import { consoleLogger } from '@elysia-microservices/transport'
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors
} from '@nestjs/common'
import { Ctx, EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices'
import { firstValueFrom, from, map, Observable, take, timer } from 'rxjs'
import type { MicroserviceClient, MicroserviceContext } from './index.ts'
import {
  ask,
  askAll,
  clientOf,
  errorOf,
  later,
  type OurService,
  PROTOCOLS,
  startService
} from './testing/service.ts'

let ended = later<string>()
let started = later()
let made = 0

class DoubleInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => (typeof value === 'number' ? value * 2 : value)))
  }
}

async function* counting(): AsyncGenerator<number> {
  try {
    while (true) {
      made++
      yield made
    }
  } finally {
    ended.resolve('returned')
  }
}

@Controller()
class StreamController {
  @MessagePattern('values')
  values(): Observable<number> {
    return from([1, 2, 3])
  }

  @MessagePattern('ticks')
  async ticks(data: number): Promise<Observable<number>> {
    return timer(0, 1).pipe(take(data))
  }

  @MessagePattern('generator')
  *generator(): Generator<number> {
    yield 1
    yield 2
  }

  @MessagePattern('async-generator')
  async *asyncGenerator(): AsyncGenerator<number> {
    yield 1
    yield 2
  }

  @UseInterceptors(DoubleInterceptor)
  @MessagePattern('intercepted-generator')
  async *intercepted(): AsyncGenerator<number> {
    yield 1
    yield 2
  }

  @MessagePattern('failing-generator')
  async *failing(): AsyncGenerator<number> {
    yield 1
    throw new RpcException('enough')
  }

  @MessagePattern('broken-generator')
  async *broken(): AsyncGenerator<number> {
    yield 1
    throw new Error('the generator is broken')
  }

  @MessagePattern('endless')
  endless(): AsyncGenerator<number> {
    return counting()
  }

  @UseInterceptors(DoubleInterceptor)
  @MessagePattern('endless-intercepted')
  endlessIntercepted(): AsyncGenerator<number> {
    return counting()
  }

  @MessagePattern('subscription')
  subscription(): Observable<number> {
    return new Observable((subscriber) => {
      subscriber.next(1)
      return () => ended.resolve('unsubscribed')
    })
  }

  @MessagePattern('waits')
  waits(@Ctx() { signal }: MicroserviceContext): Promise<never> {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        ended.resolve('aborted')
        reject(new Error('nobody waits'))
      })
      started.resolve()
    })
  }

  @MessagePattern('timeout')
  timeout(@Ctx() { timeout }: MicroserviceContext): number | undefined {
    return timeout
  }

  @MessagePattern('add-up')
  async addUp(@Payload() values: AsyncIterable<number>): Promise<number> {
    let total = 0
    for await (const value of values) total += value
    return total
  }

  @EventPattern('generated-event')
  async *generatedEvent(_data: unknown): AsyncGenerator<number> {
    yield 1
    ended.resolve('ran')
  }
}

for (const protocol of PROTOCOLS) {
  describe(`streams of a Nest application on ${protocol}`, () => {
    let service: OurService
    let client: MicroserviceClient
    before(async () => {
      service = await startService({ controllers: [StreamController] })
    })
    after(() => service.app.close())
    beforeEach(() => {
      client = clientOf(service, protocol)
      ended = later<string>()
      started = later()
      made = 0
    })
    afterEach(() => client.close())

    it('send the values of an Observable', async () => {
      assert.deepEqual(await askAll(client, 'values', {}), [1, 2, 3])
      assert.deepEqual(await askAll(client, 'ticks', 3), [0, 1, 2])
    })

    it('send the values of generators, also through interceptors', async () => {
      assert.deepEqual(await askAll(client, 'generator', {}), [1, 2])
      assert.deepEqual(await askAll(client, 'async-generator', {}), [1, 2])
      // The interceptor gets the generator itself, as one value.
      assert.deepEqual(await askAll(client, 'intercepted-generator', {}), [1, 2])
    })

    it('end with the error of a generator, by the rules of the default filter', async () => {
      assert.deepEqual(await errorOf(client, 'failing-generator', {}), {
        status: 'error',
        message: 'enough'
      })
      assert.deepEqual(await errorOf(client, 'broken-generator', {}), {
        status: 'error',
        message: 'Internal server error'
      })
      await service.log.failed('the generator is broken')
    })

    it('run the generator of an event handler', async () => {
      client.emit('generated-event', {})
      assert.equal(await ended.promise, 'ran')
    })

    it('stop when the connection of their caller is gone', async () => {
      const subscription = client.send('subscription', {}).subscribe({ error() {} })
      await ask(client, 'values', {})
      await client.close()
      assert.equal(await ended.promise, 'unsubscribed')
      subscription.unsubscribe()
    })
  })
}

describe('streams of a Nest application on rsocket alone', () => {
  let service: OurService
  let client: MicroserviceClient
  before(async () => {
    service = await startService({ controllers: [StreamController] })
  })
  after(() => service.app.close())
  beforeEach(() => {
    client = clientOf(service, 'rsocket')
    ended = later<string>()
    started = later()
    made = 0
  })
  afterEach(() => client.close())

  it('are unsubscribed from when the caller unsubscribes', async () => {
    assert.equal(await firstValueFrom(client.send('subscription', {})), 1)
    assert.equal(await ended.promise, 'unsubscribed')
  })

  it('abort the signal of a handler whose caller has left', async () => {
    const subscription = client.send('waits', {}).subscribe()
    await started.promise
    subscription.unsubscribe()
    assert.equal(await ended.promise, 'aborted')
  })

  it('abort the signal of a handler whose caller waits no longer', async () => {
    const hasty = clientOf(service, 'rsocket', { timeout: 50 })
    await hasty.connect()
    const error = await errorOf(hasty, 'waits', {})
    assert.ok(error instanceof Error)
    assert.equal(await ended.promise, 'aborted')
    await hasty.close()
  })

  it('know how long their caller waits', async () => {
    const patient = clientOf(service, 'rsocket', { timeout: 5_000 })
    assert.equal(await ask(patient, 'timeout', {}), 5_000)
    await patient.close()
  })

  for (const pattern of ['endless', 'endless-intercepted']) {
    it(`make no more values than their reader asks for (${pattern})`, async () => {
      const reader = tcp({ host: '127.0.0.1', port: service.port }).client({
        logger: consoleLogger,
        timeout: 30_000,
        dispatcher: undefined
      })
      const values: unknown[] = []
      const three = later()
      const receiver = {
        next(value: unknown) {
          if (values.push(value) === 3) three.resolve()
        },
        complete() {},
        error() {}
      }
      const call = reader.stream(pattern, undefined, receiver, { demand: 3 })
      await three.promise
      // Waits for turns of the event loop in which a generator that did not pause would make further values.
      for (let turn = 0; turn < 10; turn++) await reader.request('timeout', undefined)
      assert.deepEqual(values, [1, 2, 3])
      assert.ok(made <= 4, `${made} values were made`)
      call.cancel()
      assert.equal(await ended.promise, 'returned')
      await reader.close()
    })
  }

  it('reach a handler as its payload', async () => {
    assert.equal(await ask(client, 'add-up', from([1, 2, 3])), 6)
  })
})

describe('a stream as data on nest', () => {
  it('is refused before it is sent', async () => {
    const service = await startService({ controllers: [StreamController] })
    const client = clientOf(service, 'nest')
    const error = (await errorOf(client, 'add-up', from([1]))) as Error
    assert.equal(error.name, 'OptionError')
    assert.match(error.message, /cannot carry a stream/)
    await client.close()
    await service.app.close()
  })
})
