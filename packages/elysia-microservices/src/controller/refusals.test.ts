import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type CanActivate,
  Catch,
  Inject,
  Injectable,
  type PipeTransform,
  Scope,
  UseFilters,
  UseGuards,
  UsePipes,
  ValidationPipe
} from '@nestjs/common'
import { BaseRpcExceptionFilter, Payload as NestPayload, RpcException } from '@nestjs/microservices'
import { microservice } from '../service/microservice.ts'
import { MessagePattern, Payload } from './decorators.ts'

class Database {}

@Injectable()
class NeedsDatabase implements CanActivate, PipeTransform {
  readonly database: Database
  constructor(database: Database) {
    this.database = database
  }
  canActivate() {
    return true
  }
  transform(value: unknown) {
    return value
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestScopedGuard implements CanActivate {
  canActivate() {
    return true
  }
}

class ControllerWithArguments {
  readonly database: Database
  constructor(database: Database) {
    this.database = database
  }
  @MessagePattern('x')
  x() {}
}
class Inherits extends ControllerWithArguments {}
class WithProperty {
  @Inject('TOKEN')
  injected!: string
  @MessagePattern('x')
  x() {}
}
@Injectable({ scope: Scope.REQUEST })
class RequestScoped {
  @MessagePattern('x')
  x() {}
}
class GuardedByRequest {
  @UseGuards(RequestScopedGuard)
  @MessagePattern('x')
  x() {}
}
class GuardedByArguments {
  @UseGuards(NeedsDatabase)
  @MessagePattern('x')
  x() {}
}
class PipedByArguments {
  @MessagePattern('x')
  x(@Payload('id', NeedsDatabase) _id: string) {}
}
class WithSchema {
  @MessagePattern('x')
  x(
    @NestPayload({
      schema: { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } }
    } as never)
    _data: unknown
  ) {}
}

const refuse: CanActivate = { canActivate: () => false }

class GuardAndCatchAll {
  @UseGuards(refuse)
  @UseFilters(new BaseRpcExceptionFilter())
  @MessagePattern('x')
  x() {}
}

describe('what of Nest is refused', () => {
  for (const [controller, expected] of [
    [
      ControllerWithArguments,
      /^ControllerWithArguments: .* without arguments \(1 constructor argument\); .* nest\.resolve/
    ],
    [Inherits, /^Inherits: .* nest\.resolve/],
    [WithProperty, /^WithProperty: .* without arguments \(1 injected property\); .* nest\.resolve/],
    [RequestScoped, /^RequestScoped: RequestScoped must be of singleton scope, but is request scope/],
    [GuardedByRequest, /^GuardedByRequest\.x: RequestScopedGuard must be of singleton scope/],
    [GuardedByArguments, /^GuardedByArguments\.x: NeedsDatabase cannot be made without arguments/],
    [PipedByArguments, /^PipedByArguments\.x: NeedsDatabase cannot be made without arguments/],
    [WithSchema, /^Parameter 0 of WithSchema\.x has a schema, but the method has no pipe to check it/]
  ] as const) {
    it(`${controller.name}: when the service is made, saying what to do`, () => {
      assert.throws(() => microservice({ transport: 'tcp', controllers: [controller] }), {
        name: 'OptionError',
        message: expected
      })
    })
  }

  it('a guard for all controllers that needs arguments', () => {
    class Plain {
      @MessagePattern('x')
      x() {}
    }
    const nest = { guards: [NeedsDatabase] }
    assert.throws(
      () => microservice({ transport: 'tcp', controllers: [Plain], nest }),
      /options\.nest\.guards: NeedsDatabase cannot be made without arguments/
    )
  })

  const start = (options: Omit<Parameters<typeof microservice>[0], 'transport'>) =>
    microservice({ ...options, transport: 'tcp', host: '127.0.0.1', port: 0 }).listen()

  it("a filter that sees a guard's refusal, while Nest's RpcException is not known", async () => {
    await assert.rejects(
      start({ controllers: [GuardAndCatchAll] }),
      /GuardAndCatchAll\.x has a filter BaseRpcExceptionFilter.*set options\.nest\.RpcException/
    )
    const service = await start({ controllers: [GuardAndCatchAll], nest: { RpcException } })
    await service.stop()
  })

  it('nothing where a filter says that it catches RpcException, or catches other errors only', async () => {
    @Catch(RpcException)
    class RpcFilter extends BaseRpcExceptionFilter {}
    @Catch(RangeError)
    class RangeFilter extends BaseRpcExceptionFilter {}
    @UseGuards(refuse)
    class Named {
      @UseFilters(RpcFilter)
      @MessagePattern('x')
      x() {}
      @UseFilters(RangeFilter)
      @MessagePattern('y')
      y() {}
    }
    for (const controller of [Named]) await (await start({ controllers: [controller] })).stop()
  })

  it('nothing where constructor arguments are optional', async () => {
    class Validated {
      @UsePipes(ValidationPipe)
      @MessagePattern('x')
      x() {}
    }
    // The pipe can be made. If class-validator is not installed, the pipe itself reports that.
    await start({ controllers: [Validated] }).then((service) => service.stop())
  })

  it('what a container gives that is no guard', async () => {
    const resolve = (type: new () => object) => (type.name === 'NeedsDatabase' ? new Database() : undefined)
    await assert.rejects(
      start({ controllers: [GuardedByArguments], nest: { resolve } }),
      /GuardedByArguments\.x: the argument of @UseGuards must have a method canActivate/
    )
    await assert.rejects(
      start({ controllers: [GuardedByArguments], nest: { resolve: () => undefined } }),
      /NeedsDatabase cannot be made without arguments/
    )
    await assert.rejects(
      start({ controllers: [GuardedByArguments], nest: { resolve: () => 'text' as never } }),
      /options\.nest\.resolve must be an instance of GuardedByArguments or undefined, but is 'text'/
    )
  })
})
