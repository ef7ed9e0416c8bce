/** The transport that options of Nest's gRPC stand for. */
import type {
  ClientContext,
  ClientTransport,
  ServerContext,
  ServerTransport,
  Transport
} from '@elysia-microservices/transport/kit'
import { type NestEnd, fromNest as translated } from '@elysia-microservices/transport/nest'
import { type GrpcTransport, grpc } from './grpc.ts'
import { placeOf } from './nest/address.ts'
import { tlsOfCredentials } from './nest/credentials.ts'
import { type NestProtoOptions, nestMethods } from './nest/methods.ts'
import { GRPC_NEST_OPTIONS } from './nest/nest-options.ts'
import { GRPC_OPTION_NAMES, type GrpcClientOptions, type GrpcServerOptions } from './options/options.ts'

/** Nest's default. */
const URL = 'localhost:5000'

/** Options that both ends may have, and those of one end. */
interface Translated {
  readonly methods?: NestProtoOptions & { readonly url?: unknown; readonly credentials?: unknown }
  readonly tls?: unknown
  readonly limits?: object
  readonly forServer?: { readonly limits?: object }
  readonly forClient?: { readonly tls?: object }
}

/**
 * Makes the transport from the options of Nest's gRPC. `options.tls` and other options of `grpc()` may stand beside them.
 * @throws {OptionError} an option has no counterpart here, a file cannot be read, or a package is missing
 */
export function fromNest(given: object | undefined): NestEnd {
  const { transport, unknown } = translated(GRPC_NEST_OPTIONS, given, GRPC_OPTION_NAMES.own)
  const { methods = {}, forServer, forClient, tls, limits, ...options } = transport as Translated
  const { url = URL, credentials, ...proto } = methods
  const found = nestMethods(proto)
  const secured =
    tls ?? (credentials === undefined ? undefined : tlsOfCredentials(credentials, 'options.credentials'))
  const shared = {
    ...placeOf(url, 'options.url'),
    ...options,
    ...(secured !== undefined && { tls: secured }),
    proto: found
  }
  const server = { ...shared, limits: { ...limits, ...forServer?.limits } }
  const client = { ...shared, ...withServername(secured, forClient?.tls), ...(limits && { limits }) }
  return {
    transport: new NestGrpc(
      () => grpc(server as GrpcServerOptions),
      () => grpc(client as GrpcClientOptions)
    ),
    methods: found.all,
    ...{ group: undefined, drain: undefined, headers: undefined, unknown }
  }
}

function withServername(tls: unknown, own: object | undefined): object {
  return tls === undefined || own === undefined ? {} : { tls: { ...(tls as object), ...own } }
}

/** A transport whose ends have different options, as some options of Nest are for one end only. */
class NestGrpc implements Transport {
  readonly name = 'grpc'
  readonly traits: Transport['traits']
  readonly #ofServer: GrpcTransport
  readonly #ofClient: () => GrpcTransport

  constructor(ofServer: () => GrpcTransport, ofClient: () => GrpcTransport) {
    this.#ofServer = ofServer()
    this.traits = this.#ofServer.traits
    this.#ofClient = ofClient
  }

  server(context: ServerContext): ServerTransport {
    return this.#ofServer.server(context)
  }

  client(context: ClientContext): ClientTransport {
    return this.#ofClient().client(context)
  }
}
