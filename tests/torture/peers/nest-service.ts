/** The same as `service.ts`, as a NestJS 12 microservice. Argument: its limits as JSON. */
import 'reflect-metadata'
import type { Server } from 'node:net'
import { createInterface } from 'node:readline'
import { freePort } from '@elysia-microservices/test-support'
import { Controller, type LoggerService, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { EventPattern, MessagePattern, type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { memory } from './memory.ts'

@Controller()
class Answers {
  @MessagePattern('echo')
  echo(data: unknown): unknown {
    return data
  }

  @MessagePattern('big')
  big(size: number): string {
    return 'x'.repeat(size)
  }

  @MessagePattern('later')
  async later(data: unknown): Promise<unknown> {
    await new Promise((resolve) => setTimeout(resolve, 1))
    return data
  }

  @EventPattern('note')
  note(_data: unknown): void {}
}

@Module({ controllers: [Answers] })
class Root {}

const silent: LoggerService = { log() {}, warn() {}, error() {} }
const port = await freePort()
const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, {
  transport: Transport.TCP,
  options: { host: '127.0.0.1', port, ...JSON.parse(process.argv[2] ?? '{}') },
  logger: silent
})
await app.listen()
console.log(JSON.stringify({ port }))

for await (const _line of createInterface({ input: process.stdin })) {
  const connections = await new Promise<number>((resolve) => {
    app.unwrap<Server>().getConnections((_error, count) => resolve(count))
  })
  console.log(JSON.stringify({ ...memory(), connections }))
}
process.exit()
