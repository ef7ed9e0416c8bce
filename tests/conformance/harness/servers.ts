/**
 * The servers under test, with the same controllers: a NestJS microservice, our service, and NestJS with our
 * transport.
 */
import 'reflect-metadata'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { freePort, Log } from '@elysia-microservices/test-support'
import type {
  CanActivate,
  ExceptionFilter,
  LoggerService,
  NestInterceptor,
  PipeTransform,
  PreRequestHook,
  Type
} from '@nestjs/common'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type MicroserviceOptions, RpcException, Transport } from '@nestjs/microservices'
import { microservice } from 'elysia-microservices'

/** Limits, with NestJS's names. */
export interface Limits {
  readonly maxBufferSize?: number
  readonly incompleteMessageTimeout?: number
  readonly maxSendBufferSize?: number
}

/** A server that listens. */
export interface RunningServer {
  readonly name: 'nest' | 'ours'
  readonly port: number
  /** The errors that the server has logged. */
  readonly log: readonly string[]
  /** Waits until a line of the log contains the text. */
  logged(text: string): Promise<void>
  stop(): Promise<void>
}

/** Guards, pipes and other parts of NestJS's pipeline for all controllers. */
export interface Globals {
  readonly preRequestHooks?: readonly PreRequestHook[]
  readonly guards?: readonly CanActivate[]
  readonly pipes?: readonly PipeTransform[]
  readonly interceptors?: readonly NestInterceptor[]
  readonly filters?: readonly ExceptionFilter[]
}

/** Starts a server. */
export type StartServer = (
  controllers: readonly Type[],
  limits?: Limits,
  globals?: Globals
) => Promise<RunningServer>

/** Converts NestJS's limits to our limits. */
function ourLimits({ maxBufferSize, incompleteMessageTimeout, maxSendBufferSize }: Limits) {
  return {
    receiveBuffer: maxBufferSize,
    incompleteMessage: incompleteMessageTimeout,
    sendBuffer: maxSendBufferSize
  }
}

/** Starts a NestJS 12 microservice. */
export const startNest: StartServer = async (controllers, limits = {}, globals = {}) => {
  const port = await freePort()
  const transport: MicroserviceOptions = {
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port, ...limits }
  }
  return { name: 'nest', port, ...(await startInNest(transport, controllers, globals)) }
}

/** Starts a NestJS 12 microservice with our transport. */
export const startOursInNest: StartServer = async (controllers, limits = {}, globals = {}) => {
  const strategy = new MicroserviceServer({
    host: '127.0.0.1',
    port: 0,
    drain: 100,
    limits: ourLimits(limits)
  })
  const running = await startInNest({ strategy }, controllers, globals)
  return { name: 'ours', port: strategy.address!.port, ...running }
}

/** Starts a NestJS microservice with any transport. */
export async function startInNest(
  transport: MicroserviceOptions,
  controllers: readonly Type[],
  { preRequestHooks = [], guards = [], pipes = [], interceptors = [], filters = [] }: Globals,
  log = new Log()
): Promise<Omit<RunningServer, 'name' | 'port'>> {
  const logger: LoggerService = {
    log() {},
    warn() {},
    error: (message, ...rest) => log.add(message, ...rest)
  }
  class Root {}
  Module({ controllers: [...controllers] })(Root)
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(Root, {
    ...transport,
    logger,
    abortOnError: false
  })
  app.registerPreRequestHook(...preRequestHooks)
  app.useGlobalGuards(...guards)
  app.useGlobalPipes(...pipes)
  app.useGlobalInterceptors(...interceptors)
  app.useGlobalFilters(...filters)
  await app.listen()
  return { log: log.lines, logged: (text) => log.has(text), stop: () => app.close() }
}

/** Starts our service. */
export const startOurs: StartServer = async (controllers, limits = {}, globals = {}) => {
  const log = new Log()
  const service = microservice({
    transport: 'tcp',
    host: '127.0.0.1',
    port: 0,
    controllers,
    logger: log.logger,
    drain: 100,
    nest: { ...globals, RpcException },
    limits: ourLimits(limits)
  })
  await service.listen()
  return {
    name: 'ours',
    port: service.address!.port,
    log: log.lines,
    logged: (text) => log.has(text),
    stop: () => service.stop()
  }
}

/** All of these servers. */
export const SERVERS: readonly (readonly [name: string, start: StartServer])[] = [
  ['NestJS 12', startNest],
  ['ours', startOurs],
  ['NestJS 12 on our transport', startOursInNest]
]
