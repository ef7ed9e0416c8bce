import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import { type CallHandler, Controller, type NestInterceptor, UseInterceptors } from '@nestjs/common'
import { Ctx, EventPattern, MessagePattern, Payload, Transport } from '@nestjs/microservices'
import type { Observable } from 'rxjs'
import type { MicroserviceContext } from './index.ts'
import { ask, clientOf, errorOf, later, PROTOCOLS, startService } from './testing/service.ts'

const seen: unknown[] = []
let begun = later()

const tracing = new AsyncLocalStorage<string>()

class PassInterceptor implements NestInterceptor {
  intercept(_context: unknown, next: CallHandler): Observable<unknown> {
    return next.handle()
  }
}

@Controller()
class TracedController {
  @MessagePattern('value')
  value(): unknown {
    return tracing.getStore()
  }

  @UseInterceptors(PassInterceptor)
  @MessagePattern('intercepted')
  intercepted(): unknown {
    return tracing.getStore()
  }

  @MessagePattern('waits')
  waits(@Payload() _data: unknown, @Ctx() { signal }: MicroserviceContext): Promise<void> {
    begun.resolve()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  }

  @EventPattern('event')
  event(_data: unknown): void {
    seen.push(`in ${tracing.getStore()}`)
  }
}

for (const protocol of PROTOCOLS) {
  describe(`processing hooks on ${protocol}`, () => {
    it('surround each message once, handlers run in the async context of the start hook', async () => {
      const service = await startService({ controllers: [TracedController] })
      const { server } = service
      const ends: unknown[] = []
      let eventEnded = later()
      server.setOnProcessingStartHook((_transport, context, done) => {
        void tracing.run(`span of ${(context as MicroserviceContext).getPattern()}`, done)
      })
      server.setOnProcessingEndHook((transport, context) => {
        assert.equal(transport, Transport.TCP)
        const pattern = (context as MicroserviceContext).getPattern()
        ends.push(pattern)
        if (pattern === 'event') eventEnded.resolve()
      })
      const client = clientOf(service, protocol)
      seen.length = 0
      eventEnded = later()
      assert.equal(await ask(client, 'value', {}), 'span of value')
      assert.equal(await ask(client, 'intercepted', {}), 'span of intercepted')
      client.emit('event', {})
      await eventEnded.promise
      assert.deepEqual(seen, ['in span of event'])
      assert.deepEqual(ends, ['value', 'intercepted', 'event'])
      await client.close()
      await service.app.close()
    })

    it('end a message whose caller has left', async () => {
      const service = await startService({ controllers: [TracedController] })
      const ended = later<unknown>()
      service.server.setOnProcessingEndHook((_transport, context) =>
        ended.resolve((context as MicroserviceContext).getPattern())
      )
      const client = clientOf(service, protocol)
      begun = later()
      const subscription = client.send('waits', {}).subscribe({ error() {} })
      await begun.promise
      subscription.unsubscribe()
      await client.close()
      assert.equal(await ended.promise, 'waits')
      await service.app.close()
    })

    it('that fail are internal errors, and no call hangs', async () => {
      const service = await startService({ controllers: [TracedController] })
      const client = clientOf(service, protocol)
      const expected = { status: 'error', message: 'Internal server error' }
      service.server.setOnProcessingStartHook(() => {
        throw new Error('the hook throws')
      })
      assert.deepEqual(await errorOf(client, 'value', {}), expected)
      await service.log.failed('the hook throws')
      service.server.setOnProcessingStartHook((async () => {
        throw new Error('the hook rejects')
      }) as never)
      assert.deepEqual(await errorOf(client, 'value', {}), expected)
      client.emit('event', {})
      await service.log.failed('the hook rejects')
      await client.close()
      await service.app.close()
    })
  })
}
