/** The services and clients of these tests: Nest's application with our strategy or its own, and our plugin. */
import 'reflect-metadata'
import { join } from 'node:path'
import { fromNest } from '@elysia-microservices/grpc'
import { ClientProxyFactory, NestFactory } from '@elysia-microservices/nestjs'
import { Module } from '@nestjs/common'
import { NestFactory as Nest } from '@nestjs/core'
import {
  type GrpcOptions,
  ClientProxyFactory as NestFactoryOfClients,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'
import { testsFolder } from '../../workspace.ts'
import type { Client } from './callers.ts'
import { OrdersController, RatesController } from './controller.ts'

const protos = join(testsFolder, 'nestjs/grpc/protos')
const controllers = [OrdersController, RatesController]

/** A service that runs. */
export interface Running {
  readonly port: number
  close(): Promise<unknown>
}

/** The options of an application, for both ends. */
export const optionsOf = (port: number, more: object = {}): GrpcOptions & { transport: Transport.GRPC } => ({
  transport: Transport.GRPC,
  options: {
    url: `127.0.0.1:${port}`,
    package: ['shop.v1', 'shop.common'],
    protoPath: 'shop.proto',
    loader: { includeDirs: [protos], longs: String },
    ...more
  }
})

@Module({ controllers })
class App {}

/** Starts the application, by Nest itself or by our factory. */
export async function serveNest(by: 'Nest' | 'ours', port: number, more?: object): Promise<Running> {
  const factory = by === 'Nest' ? Nest : NestFactory
  const app = await factory.createMicroservice(App, { ...optionsOf(port, more), logger: false })
  await app.listen()
  return { port, close: () => app.close() }
}

/** Starts the same controllers by our plugin. */
export async function servePlugin(port: number, more?: object): Promise<Running> {
  const { transport } = fromNest(optionsOf(port, more).options)
  const service = microservice({
    transport,
    controllers,
    nest: { RpcException },
    logger: { error() {}, warn() {} }
  })
  await service.listen()
  return { port, close: () => service.stop() }
}

/** Nest's client, or ours. */
export function clientOf(by: 'Nest' | 'ours', port: number, more?: object): Client & { close(): unknown } {
  const options = optionsOf(port, more)
  return (by === 'Nest' ? NestFactoryOfClients.create(options) : ClientProxyFactory.create(options)) as never
}
