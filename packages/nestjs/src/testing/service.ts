/** Nest applications for tests: on the transport of this library and on Nest's own, with clients of both kinds. */
import 'reflect-metadata'
import { freePort } from '@elysia-microservices/test-support'
import { type LoggerService, Module, type ModuleMetadata, type Type } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientProxy,
  ClientProxyFactory,
  type MicroserviceOptions,
  Transport
} from '@nestjs/microservices'
import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import {
  MicroserviceClient,
  type MicroserviceClientOptions,
  MicroserviceServer,
  type MicroserviceServerOptions
} from '../index.ts'

/** Records the lines that an application logs, and waits for a line. */
export class Log implements LoggerService {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  #waiting: (() => void)[] = []

  log(): void {}

  warn(...parts: unknown[]): void {
    this.#add(this.warnings, parts)
  }

  error(...parts: unknown[]): void {
    this.#add(this.errors, parts)
  }

  /** Waits until a logged error contains the text. */
  async failed(text: string): Promise<void> {
    while (!this.errors.some((line) => line.includes(text))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #add(lines: string[], parts: unknown[]): void {
    lines.push(parts.map((part) => (part instanceof Error ? part.message : String(part))).join(' '))
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

/** An application that listens. */
export interface Service {
  readonly port: number
  readonly log: Log
  readonly app: { close(): Promise<void> }
}

/** A service on the transport of this library. */
export interface OurService extends Service {
  readonly server: MicroserviceServer
}

/** Makes a separate module class for each application, because Nest stores what it knows by class. */
export function moduleOf(metadata: ModuleMetadata): Type {
  class Root {}
  Module(metadata)(Root)
  return Root
}

/** Options of TCP together with those of the strategy. */
export type TcpOptions = Exclude<MicroserviceServerOptions, { readonly transport: object | number }>
/** Options of TCP together with those of the client. */
export type TcpClientOptions = Exclude<MicroserviceClientOptions, { readonly transport: object | number }>

/** Starts a Nest microservice on the transport of this library. */
export async function startService(metadata: ModuleMetadata, options: TcpOptions = {}): Promise<OurService> {
  const server = new MicroserviceServer({ host: '127.0.0.1', port: 0, ...options })
  const log = new Log()
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleOf(metadata), {
    strategy: server,
    logger: log,
    abortOnError: false
  })
  await app.listen()
  return { server, port: server.address!.port, log, app }
}

/** Starts a Nest microservice on Nest's own TCP transport. */
export async function startStockService(metadata: ModuleMetadata): Promise<Service> {
  const log = new Log()
  const port = await freePort()
  const app = await NestFactory.createMicroservice<MicroserviceOptions>(moduleOf(metadata), {
    transport: Transport.TCP,
    options: { host: '127.0.0.1', port },
    logger: log,
    abortOnError: false
  })
  await app.listen()
  return { port, log, app }
}

/** Both protocols of the client of this library. */
export const PROTOCOLS = ['rsocket', 'nest'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** Makes this library's client for Nest. */
export function clientOf(
  { port }: { readonly port: number },
  protocol: Protocol,
  options: TcpClientOptions = {}
): MicroserviceClient {
  return new MicroserviceClient({ host: '127.0.0.1', port, protocol, ...options })
}

/** Makes Nest's own client. */
export function stockClientOf({ port }: { readonly port: number }): ClientProxy {
  return ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
}

type Sender = Pick<ClientProxy, 'send'>

/** Makes a call and returns the first value of its answer. */
export function ask(client: Sender, pattern: unknown, data: unknown): Promise<unknown> {
  return firstValueFrom(client.send<unknown>(pattern, data))
}

/** Makes a call and returns all values of its answer. */
export function askAll(client: Sender, pattern: unknown, data: unknown): Promise<unknown[]> {
  return lastValueFrom(client.send<unknown>(pattern, data).pipe(toArray()))
}

/** Makes a call and returns the error that its subscriber gets. */
export async function errorOf(client: Sender, pattern: unknown, data: unknown): Promise<unknown> {
  try {
    await askAll(client, pattern, data)
  } catch (error) {
    return error
  }
  throw new Error('The call did not fail')
}

/** Makes a promise and its `resolve`. */
export function later<Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve!: (value: Value) => void
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
