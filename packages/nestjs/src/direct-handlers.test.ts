import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  Catch,
  Controller,
  type ExceptionFilter,
  Injectable,
  Scope,
  UseFilters,
  UseGuards,
  UsePipes
} from '@nestjs/common'
import { APP_GUARD } from '@nestjs/core'
import { Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { of, throwError } from 'rxjs'
import { directCallOf } from './direct-handlers.ts'
import { MicroserviceContext } from './index.ts'
import { ask, clientOf, type OurService, PROTOCOLS, startService } from './testing/service.ts'

const guard = { canActivate: () => true }
const pipe = { transform: (value: unknown) => value }

@Catch()
class Reasons implements ExceptionFilter {
  catch(error: Error, host: { switchToRpc(): { getContext(): unknown } }) {
    return of([error.message, host.switchToRpc().getContext() instanceof MicroserviceContext])
  }
}

@Controller()
class BareController {
  readonly order: unknown[] = []

  @MessagePattern('bare')
  bare(data: unknown): unknown {
    return data
  }

  @MessagePattern('field')
  field(@Ctx() context: unknown, @Payload('a') a: unknown): unknown {
    return [context instanceof MicroserviceContext, a]
  }

  @UseFilters(Reasons)
  @MessagePattern('filtered')
  filtered(@Payload() how: string): unknown {
    if (how === 'thrown') throw new Error(how)
    const error = new Error(how)
    return how === 'rejected' ? Promise.reject(error) : throwError(() => error)
  }

  @EventPattern('note')
  note(@Payload() data: unknown): void {
    this.order.push(data)
  }

  @MessagePattern('noted')
  noted(): unknown {
    return this.order
  }

  @UseGuards(guard)
  @MessagePattern('guarded')
  guarded(): void {}

  @UsePipes(pipe)
  @MessagePattern('piped')
  piped(): void {}

  @MessagePattern('piped parameter')
  pipedParameter(@Payload(pipe) _data: unknown): void {}
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest {}

@Controller({ scope: Scope.REQUEST })
class ScopedController {
  constructor(readonly part: PerRequest) {}

  @MessagePattern('scoped')
  scoped(): void {}
}
Reflect.defineMetadata('design:paramtypes', [PerRequest], ScopedController)

const called = ({ server }: OurService) =>
  [...server.getHandlers()].flatMap(([pattern, handler]) => (directCallOf(handler) ? [pattern] : []))

describe('handlers of a Nest application to which nothing is bound', () => {
  it('are called without a pipeline; all others keep theirs', async () => {
    const controllers = [BareController, ScopedController]
    const service = await startService({ controllers, providers: [PerRequest] })
    assert.deepEqual(called(service), ['bare', 'field', 'filtered', 'noted'])
    await service.app.close()
  })

  it('are none behind a global guard', async () => {
    const providers = [{ provide: APP_GUARD, useValue: guard }]
    const service = await startService({ controllers: [BareController], providers })
    assert.deepEqual(called(service), [])
    await service.app.close()
  })

  for (const protocol of PROTOCOLS)
    it(`get their parameters, filters and turn as in a pipeline (${protocol})`, async () => {
      const service = await startService({ controllers: [BareController] })
      const client = clientOf(service, protocol)
      assert.deepEqual(await ask(client, 'bare', [1]), [1])
      assert.deepEqual(await ask(client, 'field', { a: 2 }), [true, 2])
      for (const how of ['thrown', 'rejected', 'in an Observable'])
        assert.deepEqual(await ask(client, 'filtered', how), [how, true])
      client.emit('note', 'first')
      assert.deepEqual(await ask(client, 'noted', {}), ['first'])
      await client.close()
      await service.app.close()
    })
})
