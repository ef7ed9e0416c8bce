/** A handler that is bound to one of Nest's transports answers only over that transport. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  EventPattern as NestEventPattern,
  MessagePattern as NestMessagePattern,
  Transport
} from '@nestjs/microservices'
import { connect } from '../client/index.ts'
import { memory, microservice } from '../index.ts'
import { tcp } from '../tcp.ts'

class Orders {
  @NestMessagePattern('any')
  any() {
    return 'any'
  }
  @NestMessagePattern('b', Transport.NATS)
  overNats() {
    return 'nats'
  }
}

class Both {
  @NestMessagePattern('b', Transport.TCP)
  overTcp() {
    return 'tcp'
  }
}

describe('a handler that is bound to a transport', () => {
  it('that the service does not have is an error at the start', async () => {
    const service = microservice({ transport: 'tcp', port: 0, controllers: [Orders] })
    await assert.rejects(service.listen(), {
      name: 'OptionError',
      path: 'options.controllers',
      message:
        'Orders.overNats is bound to Transport.NATS by its decorator, and the service has only tcp: nobody could call it. Leave the transport out of the decorator, or give the service that transport'
    })
    assert.equal(service.status, 'stopped')
  })

  it('is looked for among the transports of the service that listens', async () => {
    const part = microservice({ transport: memory(), controllers: [Orders] })
    await assert.rejects(microservice({ transport: 'tcp', port: 0 }).use(part).listen(), /Transport\.NATS/)
  })

  it('of Nest that is none of ours is an error, too', async () => {
    class Odd {
      @NestEventPattern('x', Symbol('mine') as never)
      x(_data: unknown) {}
    }
    const service = microservice({ transport: 'tcp', port: 0, controllers: [Odd] })
    await assert.rejects(service.listen(), /Odd\.x is bound to Symbol\(mine\)/)
  })

  it('answers over it only; memory() stands for any', async () => {
    const door = tcp({ port: 0 })
    const inside = memory()
    const service = microservice({ transport: [door, inside], controllers: [Orders] }).message(
      'plain',
      () => 1
    )
    await service.listen()
    const remote = connect({ transport: tcp({ port: door.address!.port }) })
    const local = connect({ transport: inside })
    assert.deepEqual([await remote.request('any'), await local.request('any')], ['any', 'any'])
    assert.deepEqual([await remote.request('plain'), await local.request('plain')], [1, 1])
    await assert.rejects(remote.request('b'), { name: 'PatternNotFoundError' })
    assert.equal(await local.request('b'), 'nats')
    service.message('late', () => 'late')
    assert.deepEqual([await remote.request('late'), await local.request('late')], ['late', 'late'])
    for (const client of [remote, local]) await client.close()
    await service.stop()
  })

  it('may answer the pattern that another answers over another transport', async () => {
    const service = microservice({ transport: 'tcp', port: 0, controllers: [Both] })
    await service.listen()
    const client = connect({ port: service.address!.port })
    assert.equal(await client.request('b'), 'tcp')
    await client.close()
    await service.stop()
    // Over memory() both handlers of the pattern 'b' would have to answer.
    const clashing = microservice({ transport: memory(), controllers: [Both, Orders] })
    await assert.rejects(clashing.listen(), /The message pattern 'b' has a handler already/)
  })

  it('that is durable needs that very transport to store events', async () => {
    class Durable {
      @NestEventPattern('paid', Transport.TCP, { durable: true })
      paid(_data: unknown) {}
    }
    const service = microservice({ transport: [tcp({ port: 0 })], controllers: [Durable] })
    await assert.rejects(service.listen(), /The event 'paid' is durable, and tcp stores no events/)
  })
})
