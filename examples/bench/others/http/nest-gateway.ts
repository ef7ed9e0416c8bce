/**
 * NestJS's HTTP in front of a NestJS service over TCP in another process, which NestJS's documentation calls a
 * gateway.
 */
import 'reflect-metadata'
import { Body, Controller, Get, HttpCode, Inject, Module, Param, Post, Query } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type ClientProxy, ClientsModule, Transport } from '@nestjs/microservices'
import compression from 'compression'
import { serve } from '../../suites/serve.ts'
import { startBackend } from '../../suites/servers/backend.ts'
import { controllerOf } from '../../suites/servers/controller-of.ts'
import { type NewUser, pathOf } from '../../suites/work.ts'

await serve(async ({ host, port, routes, compresses }) => {
  const backend = await startBackend('suites/servers/nest-service')
  let client: ClientProxy | undefined

  @Controller()
  class GatewayController {
    readonly #service: ClientProxy

    constructor(@Inject('SERVICE') service: ClientProxy) {
      this.#service = service
      client = service
    }

    @Get()
    hello() {
      return this.#service.send('hello', {})
    }

    @Get('health')
    health() {
      return this.#service.send('health', {})
    }

    @Get('api/user/:id')
    user(@Param('id') id: string) {
      return this.#service.send('users.get', { id })
    }

    @Post('api/user')
    @HttpCode(200)
    create(@Body() body: NewUser) {
      return this.#service.send('users.create', body)
    }

    @Get('compressed')
    compressed() {
      return this.#service.send('document', {})
    }

    @Get('users')
    users(@Query('limit') limit: string) {
      return this.#service.send('users.list', { limit: Number(limit) })
    }
  }
  const looked = controllerOf(
    routes,
    { Controller, Get, Param },
    (route) => pathOf(route, '*rest'),
    ({ name }, id) => client!.send(name, { id })
  )

  @Module({
    imports: [
      ClientsModule.register([
        { name: 'SERVICE', transport: Transport.TCP, options: { host, port: backend } }
      ])
    ],
    controllers: [GatewayController, looked]
  })
  class GatewayModule {}

  const app = await NestFactory.create(GatewayModule, { logger: false })
  if (compresses) app.use(compression())
  await app.listen(port, host)
  return port
})
