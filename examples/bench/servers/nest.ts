/** Nest's echo server, as its documentation shows a TCP microservice. */
import 'reflect-metadata'
import type { AddressInfo, Server } from 'node:net'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { MessagePattern, type MicroserviceOptions, Payload, Transport } from '@nestjs/microservices'
import { runServer } from './run-server.ts'

@Controller()
class EchoController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

@Module({ controllers: [EchoController] })
class EchoModule {}

await runServer(7002, async ({ host, port }) => {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(EchoModule, {
    transport: Transport.TCP,
    options: { host, port },
    logger: ['error', 'warn']
  })
  await app.listen()
  const { port: listening } = app.unwrap<Server>().address() as AddressInfo
  return { port: listening, stop: () => app.close() }
})
