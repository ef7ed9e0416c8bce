import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Connection, IncomingMessage } from '@elysia-microservices/transport'
import {
  createParamDecorator,
  Injectable,
  Controller as NestController,
  ParseIntPipe,
  Scope,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes
} from '@nestjs/common'
import {
  BaseRpcExceptionFilter,
  GrpcMethod,
  Ctx as NestCtx,
  EventPattern as NestEventPattern,
  MessagePattern as NestMessagePattern,
  Payload as NestPayload,
  Transport
} from '@nestjs/microservices'
import { Ctx, EventPattern, MessagePattern, Payload } from '../decorators.ts'
import { RpcContext } from './context.ts'
import { readController } from './reader.ts'

const connection: Connection = { remoteAddress: undefined, remotePort: undefined, onClose: () => () => {} }
const message = new IncomingMessage('p', 'p', { a: 'A', b: 'B' }, { trace: '1' }, connection, 'request')

class Ours {
  @MessagePattern(['m1', { cmd: 'm2' }])
  both(@Payload() data: unknown, @Ctx() context: unknown) {
    return [data, context]
  }

  @EventPattern('e')
  property(_undecorated: unknown, @Payload('b') b: unknown) {
    return [_undecorated, b]
  }

  @MessagePattern('plain')
  plain(...args: unknown[]) {
    return args
  }

  notAHandler() {}
}

@NestController()
class Nests {
  @NestMessagePattern(['m1', { cmd: 'm2' }])
  both(@NestPayload() data: unknown, @NestCtx() context: unknown) {
    return [data, context]
  }

  @NestEventPattern('e')
  property(_undecorated: unknown, @NestPayload('b') b: unknown) {
    return [_undecorated, b]
  }

  @NestMessagePattern('plain')
  plain(...args: unknown[]) {
    return args
  }

  @NestMessagePattern('redis only', Transport.REDIS)
  redis() {}

  @NestMessagePattern('tcp only', Transport.TCP)
  tcp() {}

  @GrpcMethod('Service')
  grpc() {}
}

describe('readController', () => {
  for (const [name, controller, more] of [
    ['our decorators', Ours, []],
    ["Nest's decorators", Nests, [['tcp only']]]
  ] as const) {
    it(`reads ${name}`, () => {
      const handlers = readController(controller)
      assert.deepEqual(
        handlers.map(({ patterns }) => patterns),
        [['m1', { cmd: 'm2' }], ['e'], ['plain'], ...more]
      )
      assert.deepEqual(
        handlers.slice(0, 3).map(({ kind }) => kind),
        ['message', 'event', 'message']
      )
      const [data, context] = handlers[0]!.call(message) as [unknown, RpcContext]
      assert.deepEqual(data, { a: 'A', b: 'B' })
      assert.ok(context instanceof RpcContext)
      assert.equal(context.getPattern(), 'p')
      assert.deepEqual(context.getMetadata(), { trace: '1' })
      assert.deepEqual(context.getArgs(), [connection, 'p', { trace: '1' }])
      assert.equal(context.getArgByIndex(1), 'p')
      assert.deepEqual(handlers[1]!.call(message), [undefined, 'B'])
      assert.deepEqual(handlers[2]!.call(message), [{ a: 'A', b: 'B' }])
    })
  }

  it('takes an instance as it is', () => {
    class Counter {
      count = 0
      @MessagePattern('count')
      next() {
        return ++this.count
      }
    }
    const instance = new Counter()
    instance.count = 5
    assert.equal(readController(instance)[0]!.call(message), 6)
  })

  it('takes inherited handlers, and no override that is not decorated', () => {
    class Base {
      @MessagePattern('kept')
      kept() {
        return 'kept'
      }
      @MessagePattern('overridden')
      overridden() {}
    }
    class Derived extends Base {
      override overridden() {}
      get accessor(): never {
        throw new Error('must not be read')
      }
    }
    assert.deepEqual(
      readController(Derived).map(({ patterns }) => patterns),
      [['kept']]
    )
  })

  it('refuses a class without handlers', () => {
    assert.throws(() => readController(class Empty {}), {
      name: 'ValidationError',
      path: 'options.controllers'
    })
  })

  const pass = { canActivate: () => true, intercept: () => undefined, transform: (value: unknown) => value }
  const Custom = createParamDecorator(() => 1)
  class WithGuard {
    @UseGuards(pass)
    @MessagePattern('x')
    x() {}
  }
  class WithPipe {
    @UsePipes(pass)
    @MessagePattern('x')
    x() {}
  }
  class WithFilter {
    @UseFilters(new BaseRpcExceptionFilter())
    @MessagePattern('x')
    x() {}
  }
  @UseInterceptors(pass as never)
  class WithInterceptor {
    @MessagePattern('x')
    x() {}
  }
  class WithParameterPipe {
    @NestMessagePattern('x')
    x(@NestPayload(ParseIntPipe) _data: number) {}
  }
  class WithCustomParameter {
    @NestMessagePattern('x')
    x(@Custom() _value: unknown) {}
  }
  @Injectable({ scope: Scope.REQUEST })
  class RequestScoped {
    @MessagePattern('x')
    x() {}
  }
  for (const [controller, expected] of [
    [WithGuard, /WithGuard\.x: expected no @UseGuards/],
    [WithPipe, /WithPipe\.x: expected no @UsePipes/],
    [WithFilter, /WithFilter\.x: expected no @UseFilters/],
    [WithInterceptor, /WithInterceptor: expected no @UseInterceptors/],
    [WithParameterPipe, /parameter 0 of WithParameterPipe\.x: expected a parameter without pipes/],
    [WithCustomParameter, /parameter 0 of WithCustomParameter\.x: expected @Payload\(\) or @Ctx\(\)/],
    [RequestScoped, /RequestScoped: expected a class of singleton scope/]
  ] as const) {
    it(`refuses ${controller.name}, saying what is not supported`, () => {
      assert.throws(() => readController(controller), { name: 'ValidationError', message: expected })
    })
  }
})
