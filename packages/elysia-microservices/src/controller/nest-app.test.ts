import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, it } from 'node:test'
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Inject,
  Injectable,
  Module,
  type OnModuleDestroy,
  type OnModuleInit,
  Scope,
  UseGuards
} from '@nestjs/common'
import { APP_GUARD, APP_PIPE, NestFactory } from '@nestjs/core'
import { MessagePattern } from '@nestjs/microservices'
import { microservice } from '../service/microservice.ts'
import type { MicroserviceOptions } from '../service/options.ts'
import { asking } from '../testing/service.ts'

const steps: string[] = []

@Injectable()
class Words implements OnModuleInit, OnModuleDestroy {
  readonly hello = 'Hello'
  onModuleInit() {
    steps.push('init')
  }
  onModuleDestroy() {
    steps.push('destroy')
  }
}

@Injectable()
class NoMallory implements CanActivate {
  readonly #words: Words
  constructor(@Inject(Words) words: Words) {
    this.#words = words
  }
  canActivate(context: ExecutionContext) {
    return this.#words.hello === 'Hello' && context.switchToRpc().getData() !== 'Mallory'
  }
}

@Injectable()
class NoEve extends NoMallory {
  override canActivate(context: ExecutionContext) {
    return super.canActivate(context) && context.switchToRpc().getData() !== 'Eve'
  }
}

@Controller()
class Greeter {
  readonly #words: Words
  constructor(@Inject(Words) words: Words) {
    this.#words = words
  }
  onModuleInit() {
    steps.push('init of the controller')
  }
  @UseGuards(NoEve)
  @MessagePattern('greet')
  greet(name: string) {
    return `${this.#words.hello}, ${name}`
  }
}

@Module({ controllers: [Greeter], providers: [Words, { provide: APP_GUARD, useClass: NoMallory }] })
class Root {}

/** Runs the application's controller while `use` calls it. */
async function running(
  optionsOf: (
    app: Awaited<ReturnType<typeof NestFactory.createApplicationContext>>
  ) => Partial<MicroserviceOptions>,
  use: (ask: (name: string) => Promise<unknown>) => Promise<void>
) {
  const app = await NestFactory.createApplicationContext(Root, { logger: false })
  const service = microservice({
    ...{ transport: 'tcp', host: '127.0.0.1', port: 0, controllers: [Greeter] },
    ...optionsOf(app)
  })
  await asking(service, (client) => use((name) => client.request('greet', name)))
  await app.close()
}

describe('a Nest application context', () => {
  it('makes the controllers, gives its global guards, and calls the hooks itself', async () => {
    steps.length = 0
    await running(
      (app) => ({ nest: { app } }),
      async (ask) => {
        assert.equal(await ask('Ada'), 'Hello, Ada')
        for (const name of ['Eve', 'Mallory'])
          await assert.rejects(ask(name), { message: 'Forbidden resource' })
      }
    )
    assert.deepEqual(steps.sort(), ['destroy', 'init', 'init of the controller'])
  })

  it('may be asked by `resolve` alone', () =>
    running(
      (app) => ({ nest: { resolve: (type) => app.get(type), lifecycle: false } }),
      async (ask) => {
        assert.equal(await ask('Ada'), 'Hello, Ada')
        await assert.rejects(ask('Eve'), { message: 'Forbidden resource' })
      }
    ))

  it('gives what it was told until the service starts: pre-request hooks, global guards', async () => {
    const app = await NestFactory.createMicroservice(Root, { logger: false })
    const scope = new AsyncLocalStorage<string>()
    const seen: unknown[] = []
    const service = microservice({
      ...{ transport: 'tcp', host: '127.0.0.1', port: 0, controllers: [Greeter] },
      nest: {
        app,
        preRequestHooks: [
          (_context: ExecutionContext, next) => {
            seen.push(`second ${scope.getStore()}`)
            return next()
          }
        ]
      }
    })
    app.registerPreRequestHook((context, next) => {
      scope.enterWith(context.switchToRpc().getData())
      return next()
    })
    app.useGlobalGuards({ canActivate: () => seen.push(`guard ${scope.getStore()}`) > 0 })
    await asking(service, async (client) => {
      const answers = await Promise.all(['Ada', 'Bob'].map((name) => client.request('greet', name)))
      assert.deepEqual(answers, ['Hello, Ada', 'Hello, Bob'])
      await assert.rejects(client.request('greet', 'Eve'), { message: 'Forbidden resource' })
    })
    await app.close()
    assert.deepEqual(
      seen,
      ['Ada', 'Bob', 'Eve'].flatMap((name) => [`second ${name}`, `guard ${name}`])
    )
    assert.equal(scope.getStore(), undefined)
  })

  it('is refused when it is none, or when what is global is of request scope', async () => {
    const make = (app: never) => microservice({ transport: 'tcp', controllers: [Greeter], nest: { app } })
    assert.throws(
      () => make({ get() {} } as never),
      /options\.nest\.app must be an application context, as NestFactory/
    )

    @Injectable({ scope: Scope.REQUEST })
    class Pipe {
      transform(value: unknown) {
        return value
      }
    }
    @Module({ providers: [{ provide: APP_PIPE, useClass: Pipe, scope: Scope.REQUEST }] })
    class WithRequestScope {}
    const app = await NestFactory.createApplicationContext(WithRequestScope, { logger: false })
    assert.throws(() => make(app as never), /APP_PIPE in a scope of its own; it must be of singleton scope/)
    await app.close()
  })
})
