import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Catch, UseFilters, UseGuards } from '@nestjs/common'
import { microservice } from '../service/microservice.ts'
import type { MicroserviceOptions } from '../service/options.ts'
import { asking } from '../testing/service.ts'
import type { RpcContext } from './context.ts'
import { Ctx, MessagePattern, Payload } from './decorators.ts'
import type { RpcExecutionContext } from './execution-context.ts'

const silent = { error() {}, warn() {} }

/** Runs a service while `use` calls it. */
async function running(
  options: Omit<MicroserviceOptions, 'transport'>,
  use: (ask: (pattern: string, data?: unknown) => Promise<unknown>) => Promise<void>
): Promise<void> {
  const service = microservice({ logger: silent, ...options, transport: 'tcp', host: '127.0.0.1', port: 0 })
  await asking(service, (client) => use((pattern, data = null) => client.request(pattern, data)), 'nest')
}

class Counter {
  count = 0
  @MessagePattern('count')
  next() {
    return ++this.count
  }
}

describe('controllers', () => {
  it('takes an instance as it is', async () => {
    const counter = new Counter()
    counter.count = 5
    await running({ controllers: [counter] }, async (ask) => assert.equal(await ask('count'), 6))
  })

  it('makes a class once', () =>
    running({ controllers: [Counter] }, async (ask) => {
      assert.equal(await ask('count'), 1)
      assert.equal(await ask('count'), 2)
    }))

  it('passes properties of the data, and the context', async () => {
    let call: unknown
    class Direct {
      @MessagePattern('direct')
      direct(@Payload('a') a: number, @Ctx() context: RpcContext) {
        call = [a, context.getPattern(), context.message.kind]
        return a
      }
    }
    await running({ controllers: [Direct] }, async (ask) => {
      assert.equal(await ask('direct', { a: 1 }), 1)
      assert.deepEqual(call, [1, 'direct', 'request'])
    })
  })

  it('asks a container for classes, once for each, guards too', async () => {
    const asked: string[] = []
    class Policy {
      canActivate(context: RpcExecutionContext) {
        return context.switchToRpc().getData() === 'please'
      }
    }
    @UseGuards(Policy)
    class Guarded {
      readonly word: string
      constructor(word: string) {
        this.word = word
      }
      @UseGuards(Policy)
      @MessagePattern('word')
      get() {
        return this.word
      }
    }
    const resolve = async (type: new (...args: unknown[]) => object) => {
      asked.push(type.name)
      return type === (Guarded as unknown) ? new Guarded('hello') : undefined
    }
    await running({ controllers: [Guarded], nest: { resolve } }, async (ask) => {
      assert.equal(await ask('word', 'please'), 'hello')
      await assert.rejects(ask('word', 'now'), { message: 'Forbidden resource' })
    })
    assert.deepEqual(asked, ['Guarded', 'Policy'])
  })

  it('takes a container for one controller alone', () => {
    const counter = Object.assign(new Counter(), { count: 10 })
    const controllers = [{ controller: Counter, resolve: () => counter }]
    return running({ controllers }, async (ask) => assert.equal(await ask('count'), 11))
  })

  it('keeps what hooks and groups of the service do', async () => {
    const controllers = microservice({ transport: 'tcp', controllers: [Counter] })
    const service = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 })
      .onAfterHandle(({ response }) => Number(response) * 100)
      .use(controllers)
    await asking(service, async (client) => assert.equal(await client.request('count'), 100))
  })

  it('answers what an exception filter throws as any unexpected error', async () => {
    @Catch()
    class Broken {
      catch() {
        throw new Error('secret')
      }
    }
    class Failing {
      @UseFilters(Broken)
      @MessagePattern('fail')
      fail() {
        throw new Error('secret')
      }
    }
    await running({ controllers: [Failing] }, (ask) =>
      assert.rejects(ask('fail'), { message: 'Internal server error' })
    )
  })

  it('refuses a second handler of a message pattern', () => {
    assert.throws(
      () => microservice({ transport: 'tcp', controllers: [Counter, new Counter()] }),
      /^OptionError: The message pattern 'count' has a handler already/
    )
  })
})

describe('lifecycle hooks', () => {
  const steps: string[] = []
  const later = () => new Promise((resolve) => setImmediate(resolve))

  class Living {
    readonly name: string = 'one'
    async onModuleInit() {
      await later()
      steps.push(`${this.name} onModuleInit`)
    }
    async onApplicationBootstrap() {
      await later()
      steps.push(`${this.name} onApplicationBootstrap`)
    }
    async onModuleDestroy() {
      await later()
      steps.push(`${this.name} onModuleDestroy`)
    }
    async beforeApplicationShutdown() {
      await later()
      steps.push(`${this.name} beforeApplicationShutdown`)
    }
    onApplicationShutdown() {
      steps.push(`${this.name} onApplicationShutdown`)
    }
    @MessagePattern('one')
    answer() {
      steps.push('answer')
      return later().then(() => steps.push('answered'))
    }
  }
  class Other extends Living {
    override readonly name = 'two'
    @MessagePattern('two')
    override answer() {
      return super.answer()
    }
  }
  const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown']

  it('run in the order of Nest, around listening and draining', async () => {
    steps.length = 0
    const controllers = [Living, new Other()]
    await running({ controllers }, async (ask) => {
      await ask('one')
    })
    assert.deepEqual(steps, [
      ...['onModuleInit', 'onApplicationBootstrap'].flatMap((hook) => [`one ${hook}`, `two ${hook}`]),
      ...['answer', 'answered'],
      ...HOOKS.flatMap((hook) => [`one ${hook}`, `two ${hook}`])
    ])
  })

  it('are left to the container where `lifecycle` says so', async () => {
    steps.length = 0
    await running({ controllers: [Living], nest: { lifecycle: false } }, async () => {})
    assert.deepEqual(steps, [])
  })

  it('keep the service from starting when they fail, and do not when it stops', async () => {
    const logged: unknown[] = []
    const logger = { error: (message: string) => logged.push(message), warn() {} }
    class Fails {
      onModuleInit() {
        throw new Error('no database')
      }
      @MessagePattern('x')
      x() {}
    }
    const service = microservice({ transport: 'tcp', controllers: [Fails], port: 0 })
    await assert.rejects(service.listen(), /no database/)
    assert.equal(service.address, undefined)
    class FailsLater {
      onModuleDestroy() {
        throw new Error('twice')
      }
      onApplicationShutdown() {
        logged.push('shut down')
      }
      @MessagePattern('x')
      x() {}
    }
    await running({ controllers: [FailsLater], logger: logger as never }, async () => {})
    assert.deepEqual(logged, ['FailsLater.onModuleDestroy failed', 'shut down'])
  })

  it('run at the end when the port is taken', async () => {
    steps.length = 0
    const first = await microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).listen()
    const { port } = first.address!
    const second = microservice({ transport: 'tcp', host: '127.0.0.1', port, controllers: [Living] })
    await assert.rejects(second.listen(), { code: 'EADDRINUSE' })
    assert.equal(steps.at(-1), 'one onApplicationShutdown')
    await first.stop()
  })

  it('run once for controllers that two services share', async () => {
    steps.length = 0
    const shared = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0, controllers: [Living] })
    const other = microservice({ transport: 'tcp', host: '127.0.0.1', port: 0 }).use(shared)
    await Promise.all([shared.listen(), other.listen()])
    await shared.stop()
    assert.deepEqual(steps, ['one onModuleInit', 'one onApplicationBootstrap'])
    await other.stop()
    assert.equal(steps.length, 5)
  })
})
