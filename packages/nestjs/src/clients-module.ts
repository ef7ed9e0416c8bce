/** Nest's `ClientsModule`, `ClientProxyFactory` and `@Client()`, whose clients are ours: applications change an import alone. */
import type { DynamicModule } from '@nestjs/common'
import {
  type ClientOptions,
  type ClientProvider,
  type ClientsModuleAsyncOptions,
  type ClientsModuleOptions,
  type ClientsModuleOptionsFactory,
  type ClientsProviderAsyncOptions,
  type CustomClientOptions,
  type GrpcOptions,
  Client as NestClient,
  ClientsModule as NestModule,
  Transport
} from '@nestjs/microservices'
import { MicroserviceGrpcClient } from './grpc-client.ts'
import { MicroserviceClient } from './microservice-client.ts'
import { inNestsForm } from './nest-transport.ts'

/** The same provider with our client, unless it names a class of its own. */
function ours<Provider extends ClientProvider>(provider: Provider): Provider {
  if ('customClass' in provider) return provider
  const { named, others } = inNestsForm(provider)
  const customClass = named.transport === Transport.GRPC ? MicroserviceGrpcClient : MicroserviceClient
  return { ...others, customClass, options: named } as never
}

function oursAsync(given: ClientsProviderAsyncOptions): ClientsProviderAsyncOptions {
  const { useFactory, useClass, useExisting, ...others } = given
  if (useFactory !== undefined)
    return { ...others, useFactory: async (...args: unknown[]) => ours(await useFactory(...args)) }
  return {
    ...others,
    useFactory: async (factory: ClientsModuleOptionsFactory) => ours(await factory.createClientOptions()),
    inject: [useExisting ?? useClass],
    extraProviders: [...(given.extraProviders ?? []), ...(useClass === undefined ? [] : [useClass])]
  }
}

/** Nest's module of clients, with the same options; its clients are `MicroserviceClient`s. */
export class ClientsModule extends NestModule {
  /** Makes clients from options. @throws {OptionError} an option has no counterpart here */
  static override register(options: ClientsModuleOptions): DynamicModule {
    return NestModule.register(
      Array.isArray(options) ? options.map(ours) : { ...options, clients: options.clients.map(ours) }
    )
  }

  /** Makes clients from options that providers give, such as Nest's `ConfigService`. */
  static override registerAsync(options: ClientsModuleAsyncOptions): DynamicModule {
    return NestModule.registerAsync(
      Array.isArray(options)
        ? options.map(oursAsync)
        : { ...options, clients: options.clients.map(oursAsync) }
    )
  }
}

/** Makes clients as Nest's factory does. */
export interface ClientFactory {
  /** Makes a client of gRPC. @throws {OptionError} an option has no counterpart here */
  create(options: GrpcOptions & { readonly transport: Transport.GRPC }): MicroserviceGrpcClient
  /** Makes a client. @throws {OptionError} an option has no counterpart here */
  create(options: ClientProvider): MicroserviceClient
}

/** Nest's factory of clients, with the same options; its clients are `MicroserviceClient`s. */
export const ClientProxyFactory: ClientFactory = {
  create(options: ClientProvider): never {
    const { customClass: Client, options: own } = ours(options) as CustomClientOptions
    return new Client(own) as never
  }
}

/** Nest's decorator of properties that get a client, with the same options; the client is a `MicroserviceClient`. */
export function Client(options: ClientOptions = {}): PropertyDecorator {
  // The type lacks `customClass`, which Nest takes nevertheless.
  return NestClient(ours(options) as never)
}
