/** A NestJS microservice that only waits. */
import 'reflect-metadata'
import type { Server } from 'node:net'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { MessagePattern, Transport } from '@nestjs/microservices'
import { runIdleServer } from '../run-idle-server.ts'

await runIdleServer(async ({ host, port, patterns }) => {
  class Idle {}
  for (const pattern of patterns) {
    const answer = { value: () => pattern, configurable: true, writable: true }
    Object.defineProperty(Idle.prototype, pattern, answer)
    MessagePattern(pattern)(Idle.prototype, pattern, answer)
  }
  Controller()(Idle)
  class Root {}
  Module({ controllers: [Idle] })(Root)
  const app = await NestFactory.createMicroservice(Root, {
    transport: Transport.TCP,
    options: { host, port },
    logger: false
  })
  await app.listen()
  return (app.unwrap<Server>().address() as { port: number }).port
})
