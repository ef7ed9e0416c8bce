/** `@Ctx()` passes an object with the same members in a NestJS application and in a service with controllers. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Ctx, MessagePattern } from '@nestjs/microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import type { RpcContext } from 'elysia-microservices/nest'
import { type RunningServer, startOurs, startOursInNest } from '../conformance/harness/servers.ts'

class Contexts {
  @MessagePattern('context')
  context(@Ctx() context: RpcContext) {
    const { message, headers, signal, timeout, remaining, kind } = context
    return {
      headers: [headers['user'], message.headers['user'], (context.getMetadata() as typeof headers)['user']],
      data: message.data,
      aborted: [signal.aborted, message.signal.aborted],
      timeout: [timeout, message.timeout],
      isLeft: [(remaining as number) <= 5_000, (message.remaining as number) <= 5_000],
      kind: [kind, message.kind],
      pattern: [context.getPattern(), message.pattern, context.getArgByIndex(1)],
      port: [typeof context.getSocketRef()?.port, typeof message.peer?.port],
      args: context.getArgs().length
    }
  }
}

for (const [where, start] of [
  ['a service with controllers', startOurs],
  ['a Nest application on our transport', startOursInNest]
] as const) {
  describe(`the context in ${where}`, () => {
    let server: RunningServer
    let client: UntypedClient
    before(async () => {
      server = await start([Contexts])
      client = connect({ host: '127.0.0.1', port: server.port })
      // A call that waits for its connection has less time left.
      await client.connect()
    })
    after(async () => {
      await client.close()
      await server.stop()
    })

    it('has the same members', async () => {
      const options = { headers: { user: 'Ada' }, timeout: 5_000 }
      assert.deepEqual(await client.request('context', { id: 7 }, options), {
        headers: ['Ada', 'Ada', 'Ada'],
        data: { id: 7 },
        aborted: [false, false],
        timeout: [5_000, 5_000],
        isLeft: [true, true],
        kind: ['request', 'request'],
        pattern: ['context', 'context', 'context'],
        port: ['number', 'number'],
        args: 3
      })
    })
  })
}
