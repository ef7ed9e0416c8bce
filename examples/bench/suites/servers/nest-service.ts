/** A NestJS service over TCP, called by its gateway and by callers of `users.list`. */
import 'reflect-metadata'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { MessagePattern, type MicroserviceOptions, Payload, Transport } from '@nestjs/microservices'
import { serve } from '../serve.ts'
import { answerOf, createdOf, DOCUMENT, HELLO, health, type NewUser, userOf } from '../work.ts'
import { controllerOf } from './controller-of.ts'

await serve(async ({ host, port, routes, users }) => {
  @Controller()
  class ServiceController {
    @MessagePattern('hello')
    hello() {
      return HELLO
    }

    @MessagePattern('health')
    health() {
      return health()
    }

    @MessagePattern('users.get')
    user(@Payload() { id }: { id: string }) {
      return userOf(id)
    }

    @MessagePattern('users.create')
    create(@Payload() body: NewUser) {
      return createdOf(body)
    }

    @MessagePattern('document')
    document() {
      return DOCUMENT
    }

    @MessagePattern('users.list')
    users(@Payload() { limit }: { limit: number }) {
      return users(limit)
    }
  }
  const looked = controllerOf(
    routes,
    { Controller, Get: MessagePattern as never, Param: Payload as never },
    ({ name }) => name,
    answerOf
  )

  @Module({ controllers: [ServiceController, looked] })
  class ServiceModule {}

  const app = await NestFactory.createMicroservice<MicroserviceOptions>(ServiceModule, {
    transport: Transport.TCP,
    options: { host, port },
    logger: false
  })
  await app.listen()
  return port
})
