/** The application: `bun main.ts`, with NATS at NATS_URL (nats-server -js -sd <folder>). */
import 'reflect-metadata'
import { nats } from '@elysia-microservices/nats'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Payments } from './payments.ts'

@Module({ controllers: [Payments] })
class App {}

const transport = nats({ url: process.env['NATS_URL'] ?? 'nats://localhost:4222' })
const strategy = new MicroserviceServer({ name: 'billing', transport })
const app = await NestFactory.createMicroservice(App, { strategy, logger: ['error', 'warn'] })
// On SIGTERM, running handlers end, and events that have not begun go back to NATS.
app.enableShutdownHooks()
await app.listen()
console.log('listening')
