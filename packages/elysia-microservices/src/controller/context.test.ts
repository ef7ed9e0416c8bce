/** `@Ctx()`: one message, with the methods of Nest's contexts. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NatsContext, TcpContext } from '@nestjs/microservices'
import { connect } from '../client/index.ts'
import { memory, microservice } from '../index.ts'
import { RpcContext } from '../nest.ts'
import { Ctx, MessagePattern } from './decorators.ts'

class Orders {
  @MessagePattern({ cmd: 'about' })
  about(@Ctx() context: RpcContext) {
    return {
      subject: context.getSubject(),
      channel: context.getChannel(),
      topic: context.getTopic(),
      header: context.getHeaders().get('user'),
      names: [...context.getHeaders().keys()],
      pattern: context.getPattern(),
      isPeer: context.getSocketRef() === context.message.peer,
      args: context.getArgs().length,
      kind: context.kind,
      argument: context.getArgByIndex(1)
    }
  }
}

describe('the context of a controller', () => {
  it("answers by the methods of Nest's contexts of all transports", async () => {
    const transport = memory()
    const service = microservice({ transport, controllers: [Orders] })
    await service.listen()
    const client = connect({ transport })
    assert.deepEqual(await client.request({ cmd: 'about' }, 1, { headers: { user: 'Ada' } }), {
      subject: '{"cmd":"about"}',
      channel: '{"cmd":"about"}',
      topic: '{"cmd":"about"}',
      header: 'Ada',
      names: ['user'],
      pattern: '{"cmd":"about"}',
      isPeer: true,
      args: 3,
      kind: 'request',
      argument: '{"cmd":"about"}'
    })
    await client.close()
    await service.stop()
  })

  it("lacks no method of Nest's contexts of TCP and NATS", () => {
    for (const { prototype } of [TcpContext, NatsContext])
      for (const name of Object.getOwnPropertyNames(prototype))
        assert.ok(name in RpcContext.prototype, `${name} is missing`)
  })
})
