/** Nest's echo server, as its documentation shows a TCP microservice. */
import type { AddressInfo, Server } from 'node:net'
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, Transport } from '@nestjs/microservices'
import { runServer } from '../run-server.ts'
import { echoModule } from './echo-module.ts'

await runServer(7002, async ({ host, port, work }) => {
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(echoModule(work), {
    transport: Transport.TCP,
    options: { host, port },
    logger: ['error', 'warn']
  })
  await app.listen()
  const { port: listening } = app.unwrap<Server>().address() as AddressInfo
  return { port: listening, stop: () => app.close() }
})
