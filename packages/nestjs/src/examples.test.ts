/** Tests the examples in Nest's documentation of microservices, on the transport of this library. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Controller, Inject, Injectable } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientsModule,
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  type TcpContext,
  Transport
} from '@nestjs/microservices'
import { firstValueFrom, from, lastValueFrom, type Observable, TimeoutError, timeout, toArray } from 'rxjs'
import { MicroserviceClient } from './index.ts'
import {
  ask,
  clientOf,
  Log,
  later,
  moduleOf,
  type OurService,
  PROTOCOLS,
  startService
} from './testing/service.ts'

const created: unknown[] = []
let bothCalled = later()

@Controller()
class MathController {
  @MessagePattern({ cmd: 'sum' })
  accumulate(data: number[]): number {
    return (data || []).reduce((a, b) => a + b)
  }

  @MessagePattern({ cmd: 'sum-later' })
  async accumulateLater(data: number[]): Promise<number> {
    return (data || []).reduce((a, b) => a + b)
  }

  @MessagePattern({ cmd: 'numbers' })
  stream(): Observable<number> {
    return from([1, 2, 3])
  }

  @MessagePattern(7, Transport.TCP)
  byNumber(@Payload() data: number, @Ctx() context: TcpContext): string {
    return `${data} by ${context.getPattern()}`
  }

  @MessagePattern(['time.us.east', 'time.us.west'])
  getDate(@Payload() data: number[], @Ctx() context: TcpContext): string {
    return `${context.getPattern()} ${data.length}`
  }

  @MessagePattern('never')
  never(): Promise<never> {
    return new Promise(() => {})
  }

  @EventPattern('user_created')
  async handleUserCreated(data: Record<string, unknown>): Promise<void> {
    created.push(['first', data])
  }

  @EventPattern('user_created')
  handleUserCreatedToo(@Payload('name') name: string): void {
    created.push(['second', name])
    bothCalled.resolve()
  }
}

for (const protocol of PROTOCOLS) {
  describe(`Nest's documentation on ${protocol}`, () => {
    let service: OurService
    before(async () => {
      service = await startService({ controllers: [MathController] })
    })
    after(() => service.app.close())

    async function withClient(test: (client: ClientProxy) => Promise<void>): Promise<void> {
      const client = clientOf(service, protocol)
      await test(client)
      await client.close()
    }

    it('request-response: a value, and a promise of one', () =>
      withClient(async (client) => {
        assert.equal(await ask(client, { cmd: 'sum' }, [1, 2, 3]), 6)
        assert.equal(await ask(client, { cmd: 'sum-later' }, [1, 2, 3]), 6)
      }))

    it('an Observable sends all its values', () =>
      withClient(async (client) => {
        const values = client.send<number>({ cmd: 'numbers' }, {}).pipe(toArray())
        assert.deepEqual(await lastValueFrom(values), [1, 2, 3])
      }))

    it('patterns are texts, numbers, objects, or several of them', () =>
      withClient(async (client) => {
        assert.equal(await ask(client, 7, 1), '1 by 7')
        assert.equal(await ask(client, 'time.us.east', [1]), 'time.us.east 1')
        assert.equal(await ask(client, 'time.us.west', [1, 2]), 'time.us.west 2')
      }))

    it('an event reaches all its handlers', () =>
      withClient(async (client) => {
        created.length = 0
        bothCalled = later()
        client.emit('user_created', { name: 'Ada' })
        await bothCalled.promise
        assert.deepEqual(created, [
          ['first', { name: 'Ada' }],
          ['second', 'Ada']
        ])
      }))

    it('a timeout gives the call up', () =>
      withClient(async (client) => {
        await assert.rejects(firstValueFrom(client.send('never', {}).pipe(timeout(20))), TimeoutError)
      }))

    it('a client is injected, and called by a service of the application', async () => {
      @Injectable()
      class AppService {
        constructor(@Inject('MATH_SERVICE') readonly client: ClientProxy) {}

        accumulate(): Observable<number> {
          return this.client.send<number>({ cmd: 'sum' }, [1, 2, 3])
        }
      }
      const options = { host: '127.0.0.1', port: service.port, protocol }
      const imports = [
        ClientsModule.register([{ name: 'MATH_SERVICE', customClass: MicroserviceClient, options }])
      ]
      const app = await NestFactory.createApplicationContext(moduleOf({ imports, providers: [AppService] }), {
        logger: new Log(),
        abortOnError: false
      })
      const { client } = app.get(AppService)
      assert.ok(client instanceof MicroserviceClient)
      await client.connect()
      assert.equal(await firstValueFrom(app.get(AppService).accumulate()), 6)
      await app.close()
      assert.throws(() => client.unwrap(), /Not initialized/)
    })

    it('a client is made by a factory with options of its own', async () => {
      const imports = [
        ClientsModule.registerAsync([
          {
            name: 'MATH_SERVICE',
            useFactory: async () => ({
              customClass: MicroserviceClient,
              options: { host: '127.0.0.1', port: service.port, protocol }
            })
          }
        ])
      ]
      const app = await NestFactory.createApplicationContext(moduleOf({ imports }), {
        logger: new Log(),
        abortOnError: false
      })
      assert.equal(await ask(app.get<ClientProxy>('MATH_SERVICE'), { cmd: 'sum' }, [4, 5]), 9)
      await app.close()
    })
  })
}
