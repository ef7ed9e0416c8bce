/** Nest's `NestFactory`, whose servers are ours: applications change an import alone. */
import { NestFactory as Nest, NestApplication } from '@nestjs/core'
import type { AsyncMicroserviceOptions, MicroserviceOptions } from '@nestjs/microservices'
import { MicroserviceServer } from './microservice-server.ts'
import { inNestsForm } from './nest-transport.ts'

/** The same options with our strategy, unless they have a strategy of their own. */
function withServer(given: object): object {
  if ('strategy' in given) return given
  if ('useFactory' in given) {
    const { useFactory } = given as AsyncMicroserviceOptions
    return { ...given, useFactory: (...args: unknown[]) => withServer(useFactory(...args)) }
  }
  const { named, others } = inNestsForm(given)
  return { ...others, strategy: new MicroserviceServer(named) }
}

/** The form of both methods that all their overloads fit. */
type Create = (...args: unknown[]) => Promise<object>

async function create(this: object, ...args: unknown[]): Promise<object> {
  const app = await (Nest.create as Create).apply(this, args)
  // The application is a proxy, which ignores assignments.
  return Object.defineProperty(app, 'connectMicroservice', {
    value(this: NestApplication, options: MicroserviceOptions, ...hybrid: [object?]) {
      return NestApplication.prototype.connectMicroservice.call(this, withServer(options), ...hybrid)
    },
    configurable: true,
    writable: true
  })
}

async function createMicroservice(this: object, module: unknown, options: object = {}): Promise<object> {
  return (Nest.createMicroservice as Create).call(this, module, withServer(options))
}

/**
 * Nest's factory of applications, with the same options; the servers of `createMicroservice` and `connectMicroservice`
 * are `MicroserviceServer`s. Servers with a `strategy` stay as they are.
 * @example
 * ```ts
 * import { NestFactory } from '@elysia-microservices/nestjs' // instead of '@nestjs/core'
 * import { Transport } from '@nestjs/microservices'
 *
 * class AppModule {}
 * const options = { port: 4000 }
 * await (await NestFactory.createMicroservice(AppModule, { transport: Transport.TCP, options })).listen()
 * ```
 */
export const NestFactory: typeof Nest = Object.assign(Object.create(Nest), { create, createMicroservice })
