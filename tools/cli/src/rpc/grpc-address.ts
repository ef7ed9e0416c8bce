/** The client for a URL that begins with grpc:// or grpcs://: its methods are read from `.proto` files, or asked of the server. */
import { loadProto, type ProtoShapes, protoOf } from '@elysia-microservices/protobuf'
import { OptionError, type Transport } from '@elysia-microservices/transport/kit'
import type { ConnectOptions } from 'elysia-microservices/client'
import type { Certificates } from '../certificates.ts'
import { reflected } from './reflection.ts'

/** Where the `.proto` files are. */
export interface ProtoOptions {
  /** Files; none: the server is asked. */
  readonly proto: readonly string[]
  readonly include: readonly string[]
}

/** The default port of gRPC. */
const PORT = 50_051

/** Values that JSON can have, for the answer is printed as JSON. */
const AS_JSON: ProtoShapes = { int64: 'string', bytes: 'base64', timestamps: 'text' }

/** No methods. */
const NOTHING = { services: [], method: () => undefined }

/** Options of `grpc()`. */
type GrpcOptions = (options: object) => Transport

/**
 * @param method the pattern, whose service a server with reflection is asked for; empty: none is needed
 * @throws {OptionError} the files cannot be read, or the server does not tell its methods
 */
export async function grpcAddress(
  url: URL,
  make: GrpcOptions,
  { proto, include }: ProtoOptions,
  method: string,
  tls: true | Certificates | undefined
): Promise<ConnectOptions> {
  const place = {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || PORT),
    ...(tls !== undefined && { tls })
  }
  const known = async () => {
    if (proto.length > 0) return loadProto({ files: proto, includeDirs: include, ...AS_JSON })
    // Questions to the service itself, such as for its description, are not in a .proto.
    if (method === '') return NOTHING
    return protoOf(
      await reflected((methods) => make({ ...place, proto: methods }), serviceOf(method)),
      AS_JSON
    )
  }
  return { transport: make({ ...place, proto: await known() }), waitForConnection: 0 }
}

function serviceOf(method: string): string {
  const at = method.lastIndexOf('/')
  if (at > 0) return method.slice(0, at).replace(/^\//, '')
  throw new OptionError('pattern', `${method || 'The pattern'} must be package.Service/Method over gRPC`)
}
