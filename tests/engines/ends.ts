/** A NestJS service and a service of this library over an engine, with the same answers. */
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { pause, Values } from '@elysia-microservices/test-support'
import { Controller, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type BaseRpcContext,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload,
  RpcException
} from '@nestjs/microservices'
import { type Message, microservice } from 'elysia-microservices'
import { concat, from, interval, NEVER, Subject, take, takeUntil } from 'rxjs'
import type { RunningEngine } from './engines.ts'
import type { NestEnds } from './nest-ends.ts'

/** The data that handlers of events have received. */
export const seen = new Values<unknown>()

/** Ends the streams of NestJS's handlers before a service closes. */
const closing = new Subject<void>()

/** A controller as NestJS's documentation for an engine shows it. */
function ordersController(nest: NestEnds) {
  @Controller()
  class OrdersController {
    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return data
    }

    @MessagePattern({ b: 1, a: 'x' })
    object(): string {
      return 'object'
    }

    @MessagePattern(nest.levels ? 'time/us/+' : 'time.us.*')
    time(@Payload() data: unknown, @Ctx() context: BaseRpcContext): unknown {
      return [nest.address(context), data]
    }

    @MessagePattern('headers')
    headers(@Ctx() context: BaseRpcContext): unknown {
      return nest.header(context, 'x-version') ?? null
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
      // NestJS does not stop the stream when its caller leaves.
      return concat(interval(5).pipe(take(2)), NEVER).pipe(takeUntil(closing))
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
  return OrdersController
}

/** A service that runs. */
export interface RunningEnd {
  stop(): Promise<void>
}

async function startNestApp(nest: NestEnds, options: MicroserviceOptions): Promise<RunningEnd> {
  class Root {}
  Module({ controllers: [ordersController(nest)] })(Root)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, { ...options, logger: false })
  await app.listen()
  return {
    async stop() {
      closing.next()
      // NestJS's unsubscriptions are answered in the next turn of the event loop. If NestJS publishes behind its
      // QUIT, Redis may reset the connection; the answer to QUIT is lost, and NestJS leaves its other connection
      // open. Messages that RabbitMQ has not confirmed when NestJS closes become an unhandled rejection.
      await new Promise(setImmediate)
      await pause(50)
      await app.close()
    }
  }
}

/** Starts a service over an engine that Nest has a transport for. */
export type Start = (nest: NestEnds, engine: RunningEngine) => Promise<RunningEnd>

/** The NestJS service. */
const startNest: Start = (nest, { port }) => startNestApp(nest, nest.service(port))

/** The same application with our transport: only one line differs. */
const startNestOnOurs: Start = (nest, engine) =>
  startNestApp(nest, {
    strategy: new MicroserviceServer({ name: 'orders', transport: engine.transport({ queue: nest.queue }) })
  })

/** Our service, with handlers as functions. */
const startOurs: Start = async (nest, engine) => {
  const service = microservice({
    name: 'orders',
    transport: engine.transport({ queue: nest.queue }),
    logger: { error() {}, warn() {} }
  })
    .message('echo', ({ data }) => data)
    .message({ b: 1, a: 'x' }, () => 'object')
    .message(nest.levels ? 'time/us/+' : 'time.us.*', ({ data, pattern }) => [pattern, data])
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

/** All of these services. */
export const SERVICES: readonly (readonly [string, Start])[] = [
  ['Nest', startNest],
  ['Nest on our transport', startNestOnOurs],
  ['ours', startOurs]
]
