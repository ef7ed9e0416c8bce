/** Services and clients over NATS, of Nest's and of ours, that answer and ask the same. */

import { nats } from '@elysia-microservices/nats'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  type NatsContext,
  Payload,
  RpcException,
  Transport
} from '@nestjs/microservices'
import { type Message, microservice } from 'elysia-microservices'
import { from, interval, take } from 'rxjs'
import { Values } from '../support/values.ts'

/** What handlers of events have seen. */
export const seen = new Values<unknown>()

/** A controller as Nest's documentation shows them for NATS. */
@Controller()
export class OrdersController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }

  @MessagePattern({ b: 1, a: 'x' })
  object(): string {
    return 'object'
  }

  @MessagePattern('time.us.*')
  time(@Payload() data: unknown, @Ctx() context: NatsContext): unknown {
    return [context.getSubject(), data]
  }

  @MessagePattern('headers')
  headers(@Ctx() context: NatsContext): unknown {
    return context.getHeaders()?.get('x-version') ?? null
  }

  @MessagePattern('values')
  values(): unknown {
    return from([1, 2, 3])
  }

  @MessagePattern('nothing')
  nothing(): void {}

  @MessagePattern('fails')
  fails(): void {
    throw new Error('secret')
  }

  @MessagePattern('refuses')
  refuses(@Payload() data: string | object): void {
    throw new RpcException(data)
  }

  @MessagePattern('endless')
  endless(): unknown {
    // Nest cannot stop it: it ends some time.
    return interval(5).pipe(take(1_000))
  }

  @MessagePattern('three')
  three(): unknown {
    return interval(5).pipe(take(3))
  }

  @EventPattern('noted')
  noted(@Payload() data: unknown): void {
    seen.put(['first', data])
  }

  @EventPattern('noted')
  notedToo(@Payload() data: unknown): void {
    seen.put(['second', data])
  }
}

/** A service that runs. */
export interface RunningEnd {
  stop(): Promise<void>
}

async function startNestApp(options: MicroserviceOptions): Promise<RunningEnd> {
  class Root {}
  Module({ controllers: [OrdersController] })(Root)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, { ...options, logger: false })
  await app.listen()
  return { stop: () => app.close() }
}

/** Nest's service. */
export function startNest(servers: string): Promise<RunningEnd> {
  return startNestApp({ transport: Transport.NATS, options: { servers: [servers], queue: 'orders' } })
}

/** The same application with our transport: one line differs. */
export function startNestOnOurs(servers: string): Promise<RunningEnd> {
  return startNestApp({ strategy: new MicroserviceServer({ name: 'orders', transport: nats({ servers }) }) })
}

/** Our service, of handlers. */
export async function startOurs(servers: string): Promise<RunningEnd> {
  const service = microservice({
    name: 'orders',
    transport: nats({ servers }),
    logger: { error() {}, warn() {} }
  })
    .message('echo', ({ data }) => data)
    .message({ b: 1, a: 'x' }, () => 'object')
    .message('time.us.*', ({ data, pattern }) => [pattern, data])
    .message('headers', ({ headers }) => headers['x-version'] ?? null)
    .message('values', () => from([1, 2, 3]))
    .message('nothing', () => undefined)
    .message('fails', () => {
      throw new Error('secret')
    })
    .message('refuses', ({ data }: Message<string | object>) => {
      throw new RpcException(data)
    })
    .message('endless', () => interval(5))
    .message('three', () => interval(5).pipe(take(3)))
    .event('noted', ({ data }) => seen.put(['first', data]))
    .event('noted', ({ data }) => seen.put(['second', data]))
  await service.listen()
  return service
}

/** Nest's client. */
export function nestClient(servers: string): ClientProxy {
  return ClientProxyFactory.create({ transport: Transport.NATS, options: { servers: [servers] } })
}
