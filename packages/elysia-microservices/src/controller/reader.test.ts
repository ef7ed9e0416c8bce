import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Controller as NestController, ParseIntPipe, UseGuards, UsePipes } from '@nestjs/common'
import {
  Client,
  GrpcMethod,
  Ctx as NestCtx,
  EventPattern as NestEventPattern,
  MessagePattern as NestMessagePattern,
  Payload as NestPayload,
  Transport
} from '@nestjs/microservices'
import { Ctx, EventPattern, MessagePattern, Payload } from './decorators.ts'
import { readController } from './reader.ts'

class Ours {
  @MessagePattern(['m1', { cmd: 'm2' }])
  both(@Payload() data: unknown, @Ctx() context: unknown) {
    return [data, context]
  }

  @EventPattern('e')
  property(_undecorated: unknown, @Payload('b', ParseIntPipe) b: unknown) {
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
  property(_undecorated: unknown, @NestPayload('b', ParseIntPipe) b: unknown) {
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
    [
      "Nest's decorators",
      Nests,
      [['redis only'], ['tcp only'], [{ service: 'Service', rpc: 'Grpc', streaming: 'no_stream' }]]
    ]
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
      const parameters = handlers
        .slice(0, 3)
        .map((handler) =>
          handler.parameters
            .map(({ index, source, property, pipes, metadata }) => [
              ...[index, source, property, pipes.length],
              metadata.metatype
            ])
            .sort()
        )
      assert.deepEqual(parameters, [
        [
          [0, 'data', '', 0, Object],
          [1, 'context', '', 0, Object]
        ],
        [[1, 'property', 'b', 1, Object]],
        [[0, 'data', '', 0, Object]]
      ])
    })
  }

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

  it("reads Nest's pipeline: what the class has, then what the method has", () => {
    const [a, b, c] = [1, 2, 3].map(() => ({ canActivate: () => true }))
    const pipe = { transform: (value: unknown) => value }
    @UseGuards(a!)
    class Guarded {
      @UseGuards(b!, c!)
      @UsePipes(pipe)
      @MessagePattern('x')
      x() {}
    }
    assert.deepEqual(readController(Guarded)[0]!.enhancers, {
      guards: [a, b, c],
      pipes: [pipe],
      interceptors: [],
      filters: []
    })
  })

  it('refuses a class without handlers', () => {
    assert.throws(() => readController(class Empty {}), {
      name: 'OptionError',
      path: 'options.controllers'
    })
  })

  it('refuses a property that only Nest would fill', () => {
    class WithClient {
      @Client({ transport: Transport.TCP })
      other: unknown
      @MessagePattern('x')
      x() {}
    }
    assert.throws(
      () => readController(WithClient),
      /WithClient\.other is a @Client\(\) property, which is not supported/
    )
  })
})
