import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Controller } from '@nestjs/common'
import { EventPattern, MessagePattern } from '@nestjs/microservices'
import { EMPTY, type Observable, of, tap, throwError, timer } from 'rxjs'
import { ask, clientOf, later, PROTOCOLS, startService } from './testing/service.ts'

const seen: unknown[] = []
let release = later<string>()

@Controller()
class EventController {
  @EventPattern('mixed')
  fails(_data: unknown): Observable<never> {
    seen.push('fails')
    return throwError(() => new Error('one fails'))
  }

  @EventPattern('mixed')
  isEmpty(_data: unknown): Observable<never> {
    return EMPTY
  }

  @EventPattern('mixed')
  goesOn(_data: unknown): Observable<unknown> {
    return timer(5).pipe(tap(() => release.resolve('went on')))
  }

  @EventPattern('both')
  event(data: unknown): void {
    seen.push(['event', data])
  }

  @MessagePattern('both')
  message(data: unknown): unknown {
    return ['message', data]
  }

  @MessagePattern('message-only')
  messageOnly(data: unknown): unknown {
    seen.push(['message-only', data])
    return data
  }

  @EventPattern('one')
  one(data: unknown): unknown {
    return data
  }

  @EventPattern('three')
  three1(_data: unknown): number {
    return 1
  }

  @EventPattern('three')
  three2(_data: unknown): Promise<Observable<number>> {
    return Promise.resolve(of(2))
  }

  @EventPattern('three')
  *three3(_data: unknown): Generator<number> {
    yield 3
  }
}

for (const protocol of PROTOCOLS) {
  describe(`event handlers of a Nest application on ${protocol}`, () => {
    it('all run, whatever becomes of the others', async () => {
      const service = await startService({ controllers: [EventController] }, { drain: 10 })
      const client = clientOf(service, protocol)
      seen.length = 0
      release = later<string>()
      client.emit('mixed', {})
      assert.equal(await release.promise, 'went on')
      assert.deepEqual(seen, ['fails'])
      await service.log.failed('one fails')
      await client.close()
      await service.app.close()
      assert.equal(service.log.errors.length, 1)
    })

    it('stand beside a message handler of their pattern, and a message handler takes events alone', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      seen.length = 0
      client.emit('both', 1)
      client.emit('message-only', 2)
      assert.deepEqual(await ask(client, 'both', 3), ['message', 3])
      assert.deepEqual(seen, [
        ['event', 1],
        ['message-only', 2]
      ])
      await client.close()
      await service.app.close()
    })

    it('answer requests as in Nest, each result nested in the one before', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      assert.equal(await ask(client, 'one', 'r'), 'r')
      assert.deepEqual(await ask(client, 'three', {}), { current: 1, next: { current: 2, next: 3 } })
      await client.close()
      await service.app.close()
    })

    it('are missed in the log', async () => {
      const service = await startService({ controllers: [EventController] })
      const client = clientOf(service, protocol)
      client.emit('unknown', {})
      await service.log.failed('There is no matching event handler defined in the remote service')
      await client.close()
      await service.app.close()
    })
  })
}
