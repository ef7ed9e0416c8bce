/** Tests Nest's factory with our servers: applications in Nest's own form answer RSocket, which Nest's servers do not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { freePort } from '@elysia-microservices/test-support'
import { Controller, type INestMicroservice, type Type } from '@nestjs/common'
import { NestFactory as NestsFactory } from '@nestjs/core'
import {
  type AsyncMicroserviceOptions,
  MessagePattern,
  type MicroserviceOptions
} from '@nestjs/microservices'
import {
  Client,
  type ClientProxy,
  ClientsModule,
  MicroserviceClient,
  MicroserviceServer,
  NestFactory,
  OptionError,
  Transport
} from './index.ts'
import { stubHttpAdapter } from './testing/http-adapter.ts'
import { ask, clientOf, Log, moduleOf } from './testing/service.ts'

@Controller()
class EchoController {
  @MessagePattern('echo', Transport.TCP)
  echo(data: unknown): unknown {
    return data
  }
}

const PORT = Symbol('port')
const moduleWith = (port: number) =>
  moduleOf({ controllers: [EchoController], providers: [{ provide: PORT, useValue: port }] })
const optionsOf = (port: number): MicroserviceOptions => ({
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port }
})
const fromFactory: AsyncMicroserviceOptions = { inject: [PORT], useFactory: optionsOf }
const settings = () => ({ logger: new Log(), abortOnError: false })

interface Started {
  close(): Promise<void>
}

async function hybrid(
  port: number,
  connect: (app: Awaited<ReturnType<typeof NestFactory.create>>) => INestMicroservice
): Promise<Started> {
  const app = await NestFactory.create(moduleWith(port), stubHttpAdapter(), settings())
  connect(app)
  await app.startAllMicroservices()
  return app
}

async function listening(created: Promise<INestMicroservice>): Promise<Started> {
  const app = await created
  await app.listen()
  return app
}

const FORMS: Readonly<Record<string, (port: number) => Promise<Started>>> = {
  'a server': (port) =>
    listening(
      NestFactory.createMicroservice<MicroserviceOptions>(moduleWith(port), {
        ...optionsOf(port),
        ...settings()
      })
    ),
  'a server without a transport': (port) =>
    listening(
      NestFactory.createMicroservice(moduleWith(port), {
        options: { host: '127.0.0.1', port },
        ...settings()
      })
    ),
  'a server with options of a factory': (port) =>
    listening(
      NestFactory.createMicroservice<AsyncMicroserviceOptions>(moduleWith(port), {
        ...fromFactory,
        ...settings()
      })
    ),
  'a hybrid application': (port) => hybrid(port, (app) => app.connectMicroservice(optionsOf(port))),
  'a hybrid application whose options come from a factory': (port) =>
    hybrid(port, (app) =>
      app.connectMicroservice<AsyncMicroserviceOptions>(fromFactory, { inheritAppConfig: true })
    ),
  'a hybrid application behind another of its methods': (port) =>
    hybrid(port, (app) => app.useGlobalFilters().connectMicroservice(optionsOf(port)))
}

describe('NestFactory', () => {
  for (const [form, start] of Object.entries(FORMS))
    it(`makes our server for ${form}`, async () => {
      const port = await freePort()
      const app = await start(port)
      const client = clientOf({ port }, 'rsocket')
      assert.equal(await ask(client, 'echo', form), form)
      await client.close()
      await app.close()
    })

  it('leaves a strategy as it is', async () => {
    const server = new MicroserviceServer({ host: '127.0.0.1', port: 0 })
    const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleWith(0), {
      strategy: server,
      ...settings()
    })
    await app.listen()
    const client = clientOf(server.address!, 'rsocket')
    assert.equal(await ask(client, 'echo', 1), 1)
    await client.close()
    await app.close()
  })

  it('refuses options without a counterpart', async () => {
    const created = NestFactory.createMicroservice<MicroserviceOptions>(moduleWith(0), {
      transport: Transport.TCP,
      options: { serializer: { serialize: (data: unknown) => data } },
      ...settings()
    })
    await assert.rejects(created, OptionError)
  })

  it("leaves Nest's own factory and its applications unchanged", async () => {
    const own = Object.keys(NestsFactory)
    const app = await NestFactory.create(moduleWith(0), stubHttpAdapter(), settings())
    const theirs = await NestsFactory.create(moduleWith(0), stubHttpAdapter(), settings())
    assert.deepEqual(Object.keys(NestsFactory), own)
    assert.ok(!Object.hasOwn(theirs, 'connectMicroservice'))
    await app.close()
    await theirs.close()
  })
})

describe('clients in the form of Nest', () => {
  @Controller()
  class Holder {
    client!: ClientProxy
  }
  Client({ transport: Transport.TCP })(Holder.prototype, 'client')

  it('are ours in a property and in a module', async () => {
    const imports = [ClientsModule.register([{ name: 'ECHO', transport: Transport.TCP }])]
    const module: Type = moduleOf({ imports, controllers: [Holder] })
    const app = await NestFactory.create(module, stubHttpAdapter(), settings())
    await app.init()
    assert.ok(app.get(Holder).client instanceof MicroserviceClient)
    assert.ok(app.get('ECHO') instanceof MicroserviceClient)
    await app.close()
  })
})
