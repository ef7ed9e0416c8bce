/** Tests Nest's guards, pipes, interceptors, filters, scopes and contexts on the transport of this library. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import {
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  Controller,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  ParseIntPipe,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  ValidationPipe
} from '@nestjs/common'
import { APP_INTERCEPTOR } from '@nestjs/core'
import {
  BaseRpcContext,
  CONTEXT,
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  type RequestContext,
  RpcException,
  TcpContext
} from '@nestjs/microservices'
import { Type } from 'class-transformer'
import { IsInt, IsString, Min, ValidateNested } from 'class-validator'
import { map, type Observable, of, tap, throwError } from 'rxjs'
import { type MicroserviceClient, MicroserviceContext } from './index.ts'
import { ask, clientOf, errorOf, type OurService, PROTOCOLS, startService } from './testing/service.ts'

const seen: unknown[] = []

class Address {
  @IsString()
  city!: string
}

class CreateUserDto {
  @IsString()
  name!: string

  @IsInt()
  @Min(0)
  age!: number

  @ValidateNested()
  @Type(() => Address)
  address!: Address

  greet(): string {
    return `${this.name} of ${this.address.city}`
  }
}

@Injectable()
class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    assert.equal(context.getType(), 'rpc')
    const { role } = context.switchToRpc().getContext<MicroserviceContext>().headers
    return role === 'admin'
  }
}

@Injectable()
class WrapInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push(`before ${context.getHandler().name}`)
    return next.handle().pipe(
      map((value) => ({ wrapped: value })),
      tap({ complete: () => seen.push('after') })
    )
  }
}

@Injectable()
class CountInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    seen.push('global')
    return next.handle()
  }
}

class OutOfStock extends Error {}

@Catch(OutOfStock)
class OutOfStockFilter implements ExceptionFilter {
  catch(_exception: OutOfStock, host: ArgumentsHost): Observable<unknown> {
    const { article } = host.switchToRpc().getData<{ article: string }>()
    return throwError(() => ({ code: 'OUT_OF_STOCK', article }))
  }
}

@Catch()
class TextFilter implements ExceptionFilter {
  catch(): Observable<unknown> {
    return throwError(() => 'only a text')
  }
}

@Catch()
class RescueFilter implements ExceptionFilter {
  catch(exception: RpcException): Observable<unknown> {
    return of(`rescued from ${exception.message}`)
  }
}

@Catch()
class BrokenFilter implements ExceptionFilter {
  catch(): Observable<unknown> {
    throw new Error('the filter is broken')
  }
}

const Pattern = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  context.switchToRpc().getContext<MicroserviceContext>().getPattern()
)

@Controller()
class PipelineController {
  @UseGuards(RolesGuard)
  @MessagePattern('guarded')
  guarded(): string {
    return 'welcome'
  }

  @UsePipes(new ValidationPipe({ transform: true }))
  @MessagePattern('create')
  create(@Payload() user: CreateUserDto): string {
    return user.greet()
  }

  @UsePipes(
    new ValidationPipe({
      exceptionFactory: (errors) => new RpcException(errors.map((each) => each.property))
    })
  )
  @MessagePattern('create-with-reasons')
  createWithReasons(@Payload() user: CreateUserDto): string {
    return user.name
  }

  @MessagePattern('id')
  id(@Payload('id', ParseIntPipe) id: number, @Pattern() pattern: string): unknown {
    return [id, pattern]
  }

  @UseInterceptors(WrapInterceptor)
  @MessagePattern('wrapped')
  wrapped(data: unknown): unknown {
    return data
  }

  @UseFilters(OutOfStockFilter)
  @MessagePattern('buy')
  buy(): never {
    throw new OutOfStock()
  }

  @UseFilters(TextFilter)
  @MessagePattern('text')
  text(): never {
    throw new Error('hidden')
  }

  @UseFilters(RescueFilter)
  @MessagePattern('rescued')
  rescued(): never {
    throw new RpcException('danger')
  }

  @UseFilters(BrokenFilter)
  @MessagePattern('broken-filter')
  brokenFilter(): never {
    throw new Error('hidden')
  }

  @MessagePattern('context')
  context(@Ctx() context: MicroserviceContext): unknown {
    assert.ok(context instanceof MicroserviceContext)
    assert.ok((context as unknown) instanceof TcpContext)
    assert.ok(context instanceof BaseRpcContext)
    assert.equal(context.getArgByIndex(0), context.getSocketRef())
    assert.equal(context.signal.aborted, false)
    return {
      pattern: context.getPattern(),
      metadata: context.getMetadata(),
      headers: context.headers,
      kind: context.kind,
      hasTimeout: context.timeout !== undefined,
      address: context.getSocketRef()?.address,
      args: context.getArgs().slice(1)
    }
  }

  @UseGuards(RolesGuard)
  @EventPattern('guarded-event')
  guardedEvent(data: unknown): void {
    seen.push(data)
  }
}

let instances = 0

@Controller({ scope: Scope.REQUEST })
class ScopedController {
  readonly #instance = ++instances

  constructor(@Inject(CONTEXT) readonly request: RequestContext<unknown, MicroserviceContext>) {}

  @MessagePattern('scoped')
  scoped(@Payload() data: unknown): unknown {
    return [this.#instance, data, this.request.data, this.request.context?.getPattern()]
  }

  @EventPattern('scoped-event')
  event(data: unknown): void {
    seen.push([this.#instance, data])
  }

  @EventPattern('scoped-event')
  eventToo(data: unknown): void {
    seen.push([this.#instance, data])
  }
}

for (const protocol of PROTOCOLS) {
  describe(`a Nest application on ${protocol}`, () => {
    let service: OurService
    let client: MicroserviceClient
    before(async () => {
      service = await startService({
        controllers: [PipelineController, ScopedController],
        providers: [{ provide: APP_INTERCEPTOR, useClass: CountInterceptor }]
      })
    })
    after(() => service.app.close())
    beforeEach(() => {
      seen.length = 0
      client = clientOf(service, protocol)
    })
    afterEach(() => client.close())

    const asRole = (role: string) =>
      client.setOnDispatchHook((packet) => {
        packet.metadata = { role }
      })

    it('asks guards, who see headers', async () => {
      assert.deepEqual(await errorOf(client, 'guarded', {}), {
        status: 'error',
        message: 'Forbidden resource'
      })
      asRole('admin')
      assert.equal(await ask(client, 'guarded', {}), 'welcome')
    })

    it('asks guards about events too', async () => {
      asRole('guest')
      client.emit('guarded-event', 1)
      await service.log.failed('Forbidden resource')
      asRole('admin')
      client.emit('guarded-event', 2)
      await ask(client, 'guarded', {})
      await ask(client, 'guarded', {})
      assert.deepEqual(
        seen.filter((entry) => typeof entry === 'number'),
        [2]
      )
    })

    it('validates with class-validator and makes instances with class-transformer', async () => {
      const ada = { name: 'Ada', age: 36, address: { city: 'London' } }
      assert.equal(await ask(client, 'create', ada), 'Ada of London')
      assert.equal(await ask(client, 'create-with-reasons', ada), 'Ada')
    })

    it('refuses what is not valid: without reasons, unless the pipe makes an RpcException', async () => {
      const nobody = { name: 7, age: -1, address: {} }
      assert.deepEqual(await errorOf(client, 'create', nobody), {
        status: 'error',
        message: 'Internal server error'
      })
      assert.deepEqual(await errorOf(client, 'create-with-reasons', nobody), ['name', 'age', 'address'])
    })

    it('transforms a property, and knows custom parameter decorators', async () => {
      assert.deepEqual(await ask(client, 'id', { id: '42' }), [42, 'id'])
      assert.deepEqual(await errorOf(client, 'id', { id: 'x' }), {
        status: 'error',
        message: 'Internal server error'
      })
    })

    it('runs interceptors around handlers, global ones first', async () => {
      assert.deepEqual(await ask(client, 'wrapped', 1), { wrapped: 1 })
      assert.deepEqual(seen, ['global', 'before wrapped', 'after'])
    })

    it('answers with what a filter makes of an error', async () => {
      assert.deepEqual(await errorOf(client, 'buy', { article: 'tea' }), {
        code: 'OUT_OF_STOCK',
        article: 'tea'
      })
      assert.equal(await errorOf(client, 'text', {}), 'only a text')
      assert.equal(await ask(client, 'rescued', {}), 'rescued from danger')
    })

    it('answers even if a filter is broken, and says so in the log', async () => {
      assert.deepEqual(await errorOf(client, 'broken-filter', {}), {})
      await service.log.failed('the filter is broken')
    })

    it("gives handlers a context with the methods of Nest's", async () => {
      asRole('admin')
      const metadata = { role: 'admin' }
      assert.deepEqual(await ask(client, 'context', {}), {
        pattern: 'context',
        metadata,
        headers: metadata,
        kind: 'request',
        hasTimeout: protocol === 'rsocket',
        address: '127.0.0.1',
        args: ['context', metadata]
      })
    })

    it('makes request-scoped controllers for each request, and injects the context', async () => {
      const [first, ...rest] = (await ask(client, 'scoped', 'a')) as unknown[]
      assert.deepEqual(rest, ['a', 'a', 'scoped'])
      const [second] = (await ask(client, 'scoped', 'b')) as unknown[]
      assert.equal(second, (first as number) + 1)
    })

    it('hands an event to all request-scoped handlers', async () => {
      client.emit('scoped-event', 1)
      await ask(client, 'scoped', 'end')
      const calls = seen.filter(Array.isArray)
      assert.equal(calls.length, 2)
      for (const call of calls) assert.equal(call[1], 1)
    })
  })
}
