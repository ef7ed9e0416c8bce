/** Reads the fields of a call. grpc: doc/PROTOCOL-HTTP2.md, "Requests". */
import { addMetadata, GrpcStatus, type Metadata, readTimeout } from '@elysia-microservices/protobuf/rpc'
import type { Field } from '../http2/hpack/field.ts'
import { isReadable } from '../wire/encodings.ts'
import { USER_AGENT } from '../wire/user-agent.ts'

const COLON = 0x3a
const CONTENT_TYPE = /^application\/grpc(?:$|[+;])/

/** The head of a call. */
export interface RequestHead {
  /** Service and method, without the slash in front. */
  readonly path: string
  readonly contentType: string
  /** Milliseconds that the caller gives; `undefined`: no limit. */
  readonly timeout: number | undefined
  /** Whether messages may be compressed with gzip. */
  readonly isPacked: boolean
  /** The compressions that the caller reads, as it has named them. */
  readonly accepted: string
  /** `undefined`: there is none. */
  readonly metadata: Metadata | undefined
}

/** A refusal: a status of gRPC, or one of HTTP for a request that is no call. */
export interface Refused {
  readonly http?: number
  readonly status: number
  readonly reason: string
}

/** Reads the head of a call, or says why it is none. */
export function readHead(fields: readonly Field[]): RequestHead | Refused {
  let method = ''
  let path = ''
  let contentType = ''
  let encoding = 'identity'
  let accepted = ''
  let given: string | undefined
  const metadata: Metadata = {}
  for (const { name, value } of fields) {
    if (name === ':path') path = value
    else if (name === ':method') method = value
    else if (name === 'content-type') contentType = value
    else if (name === 'grpc-timeout') given = value
    else if (name === 'grpc-encoding') encoding = value
    else if (name === 'grpc-accept-encoding') accepted = value
    else if (name === 'user-agent' && value === USER_AGENT) continue
    else if (name.charCodeAt(0) !== COLON) addMetadata(metadata, name, value)
  }
  if (method !== 'POST')
    return { http: 405, status: GrpcStatus.INTERNAL, reason: `gRPC has no method ${method}` }
  if (!CONTENT_TYPE.test(contentType))
    return { http: 415, status: GrpcStatus.INTERNAL, reason: `gRPC has no content type '${contentType}'` }
  const timeout = given === undefined ? undefined : readTimeout(given)
  if (given !== undefined && timeout === undefined)
    return { status: GrpcStatus.INTERNAL, reason: 'grpc-timeout cannot be read' }
  if (!isReadable(encoding))
    return { status: GrpcStatus.UNIMPLEMENTED, reason: `There is no compression '${encoding}'` }
  return {
    path: path.slice(1),
    contentType,
    timeout,
    isPacked: encoding === 'gzip',
    accepted,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata
  }
}
