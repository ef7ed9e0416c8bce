/** NestJS's decorators can bind a handler to a transport: over NATS, a service answers only the handlers for NATS. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { nats } from '@elysia-microservices/nats'
import { isMissing } from '@elysia-microservices/test-support'
import { MessagePattern, Transport } from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import { tcp } from 'elysia-microservices/tcp'
import { NatsServerProcess, natsMissing } from '../support/nats-server.ts'

class Orders {
  overNats() {
    return 'nats'
  }
  overTcp() {
    return 'tcp'
  }
}

/** The decorators as functions, because these sources are compiled without decorators. */
function bind(method: keyof Orders, pattern: string, transport: Transport): void {
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, method) as PropertyDescriptor
  MessagePattern(pattern, transport)(Orders.prototype, method, descriptor)
}
bind('overNats', 'b', Transport.NATS)
bind('overTcp', 't', Transport.TCP)

if (!isMissing('handlers bound to NATS', natsMissing())) {
  describe('handlers that are bound to a transport', () => {
    let server: NatsServerProcess
    before(async () => {
      server = await NatsServerProcess.start()
    })
    after(() => server.stop())

    it('answer over it, and over no other', async () => {
      const door = tcp({ host: '127.0.0.1', port: 0 })
      const servers = server.url
      const service = microservice({ transport: [door, nats({ url: servers })], controllers: [Orders] })
      await service.listen()
      const overNats = connect({ transport: nats({ url: servers }) })
      const overTcp = connect({ host: '127.0.0.1', port: door.address!.port })
      assert.equal(await overNats.request('b'), 'nats')
      assert.equal(await overTcp.request('t'), 'tcp')
      await assert.rejects(overNats.request('t'), { name: 'PatternNotFoundError' })
      await assert.rejects(overTcp.request('b'), { name: 'PatternNotFoundError' })
      for (const client of [overNats, overTcp]) await client.close()
      await service.stop()
    })

    it('are an error if the service has no other transport than NATS', async () => {
      const service = microservice({ transport: nats({ url: server.url }), controllers: [Orders] })
      await assert.rejects(service.listen(), /Orders\.overTcp is bound to Transport\.TCP/)
    })
  })
}
