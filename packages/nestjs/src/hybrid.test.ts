/** Tests applications that serve both HTTP and messages. */
import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { Controller } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { MessagePattern, type MicroserviceOptions } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import { MicroserviceServer } from './index.ts'
import { stubHttpAdapter } from './testing/http-adapter.ts'
import { ask, clientOf, errorOf, Log, moduleOf } from './testing/service.ts'

@Controller()
class EchoController {
  @MessagePattern('echo')
  echo(data: unknown): unknown {
    return data
  }
}

describe('a hybrid application', () => {
  it('serves HTTP and messages, shares its providers, and closes both', async () => {
    const app = await NestFactory.create(moduleOf({ controllers: [EchoController] }), stubHttpAdapter(), {
      logger: new Log(),
      abortOnError: false
    })
    const first = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const second = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    app.connectMicroservice<MicroserviceOptions>({ strategy: first })
    app.connectMicroservice<MicroserviceOptions>({ strategy: second }, { inheritAppConfig: true })
    await app.startAllMicroservices()
    await app.listen(0)
    const { port } = app.getHttpServer().address() as AddressInfo
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), 'http')
    for (const server of [first, second]) {
      const client = clientOf(server.address!, 'rsocket')
      assert.equal(await ask(client, 'echo', 'hybrid'), 'hybrid')
      assert.equal(await firstValueFrom(client.emit('echo', 1)), undefined)
      await client.close()
    }
    await app.close()
    assert.equal(first.address, undefined)
    assert.equal(second.address, undefined)
  })

  it('applies its global enhancers to a microservice that inherits its configuration', async () => {
    const app = await NestFactory.create(moduleOf({ controllers: [EchoController] }), stubHttpAdapter(), {
      logger: new Log(),
      abortOnError: false
    })
    app.useGlobalGuards({ canActivate: () => false })
    const inherits = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const alone = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    app.connectMicroservice<MicroserviceOptions>({ strategy: inherits }, { inheritAppConfig: true })
    app.connectMicroservice<MicroserviceOptions>({ strategy: alone })
    await app.startAllMicroservices()
    const guarded = clientOf(inherits.address!, 'rsocket')
    const open = clientOf(alone.address!, 'rsocket')
    assert.deepEqual(await errorOf(guarded, 'echo', 1), { status: 'error', message: 'Forbidden resource' })
    assert.equal(await ask(open, 'echo', 1), 1)
    await guarded.close()
    await open.close()
    await app.close()
  })
})
