/** The servers under test, with the same controller classes: a real NestJS microservice, ours, and ours inside Nest. */
import 'reflect-metadata'
import net from 'node:net'
import { MicroserviceServer } from '@elysia-microservices/nestjs'
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
import { type Logger, microservice } from 'elysia-microservices'

/** Limits, by the names both have. */
export interface Limits {
  readonly maxBufferSize?: number
  readonly incompleteMessageTimeout?: number
  readonly maxSendBufferSize?: number
}

/** A server that listens. */
export interface RunningServer {
  readonly name: 'nest' | 'ours'
  readonly port: number
  /** What it has logged as errors, one text each. */
  readonly log: readonly string[]
  /** Waits until a line holds the text. */
  logged(text: string): Promise<void>
  stop(): Promise<void>
}

/** Parts of Nest's pipeline for all controllers. */
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

class Log {
  readonly lines: string[] = []
  #waiting: (() => void)[] = []

  add(...parts: unknown[]): void {
    this.lines.push(parts.map((part) => (part instanceof Error ? part.message : String(part))).join(' '))
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  async has(text: string): Promise<void> {
    while (!this.lines.some((line) => line.includes(text))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }
}

/** Starts a real Nest 12 microservice. */
export const startNest: StartServer = async (controllers, limits = {}, globals = {}) => {
  const port = await freePort()
  const transport: MicroserviceOptions = {
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port, ...limits }
  }
  return { name: 'nest', port, ...(await startInNest(transport, controllers, globals)) }
}

/** Starts a Nest 12 microservice on our transport. */
export const startOursInNest: StartServer = async (controllers, limits = {}, globals = {}) => {
  const strategy = new MicroserviceServer({ host: '127.0.0.1', port: 0, drain: 100, ...limits })
  const running = await startInNest({ strategy }, controllers, globals)
  return { name: 'ours', port: strategy.address!.port, ...running }
}

async function startInNest(
  transport: MicroserviceOptions,
  controllers: readonly Type[],
  { preRequestHooks = [], guards = [], pipes = [], interceptors = [], filters = [] }: Globals
): Promise<Omit<RunningServer, 'name' | 'port'>> {
  const log = new Log()
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
  const logger: Logger = {
    error: (message, cause) => log.add(message, cause ?? ''),
    warn: (message, cause) => log.add(message, cause ?? '')
  }
  const service = microservice({
    transport: 'tcp',
    host: '127.0.0.1',
    port: 0,
    controllers,
    logger,
    drain: 100,
    nest: { ...globals, RpcException },
    ...limits
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

/** A port nobody listens on: Nest does not say which one it got. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
}
