/** Nest applications for tests: on our transport and on Nest's own, with clients of both kinds. */
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

/** The lines that an application has logged, and the wait for one of them. */
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

  /** Waits until a line of errors holds the text. */
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

/** A service on our transport. */
export interface OurService extends Service {
  readonly server: MicroserviceServer
}

/** A module class of its own for each application: Nest keeps what it knows by class. */
export function moduleOf(metadata: ModuleMetadata): Type {
  class Root {}
  Module(metadata)(Root)
  return Root
}

/** Options of TCP beside those of the strategy. */
export type TcpOptions = Exclude<MicroserviceServerOptions, { readonly transport: object }>
/** Options of TCP beside those of the client. */
export type TcpClientOptions = Exclude<MicroserviceClientOptions, { readonly transport: object }>

/** Starts a Nest microservice on our transport. */
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

/** Both protocols of our client. */
export const PROTOCOLS = ['rsocket', 'nest'] as const
export type Protocol = (typeof PROTOCOLS)[number]

/** Our client for Nest. */
export function clientOf(
  { port }: { readonly port: number },
  protocol: Protocol,
  options: TcpClientOptions = {}
): MicroserviceClient {
  return new MicroserviceClient({ host: '127.0.0.1', port, protocol, ...options })
}

/** Nest's own client. */
export function stockClientOf({ port }: { readonly port: number }): ClientProxy {
  return ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } })
}

type Sender = Pick<ClientProxy, 'send'>

/** The first value of an answer. */
export function ask(client: Sender, pattern: unknown, data: unknown): Promise<unknown> {
  return firstValueFrom(client.send<unknown>(pattern, data))
}

/** All values of an answer. */
export function askAll(client: Sender, pattern: unknown, data: unknown): Promise<unknown[]> {
  return lastValueFrom(client.send<unknown>(pattern, data).pipe(toArray()))
}

/** The error that the subscriber of a call gets. */
export async function errorOf(client: Sender, pattern: unknown, data: unknown): Promise<unknown> {
  try {
    await askAll(client, pattern, data)
  } catch (error) {
    return error
  }
  throw new Error('The call did not fail')
}

/** A promise and its `resolve`. */
export function later<Value = void>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve!: (value: Value) => void
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
