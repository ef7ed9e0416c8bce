/** The exports for building on parts of gRPC: the calls of one connection, either end, and the HTTP/2 below them. */
export { GrpcClientConnection, type GrpcClientConnectionInit } from './client/grpc-client-connection.ts'
export { Http2Connection, type Http2Init } from './http2/connection.ts'
export { ErrorCode } from './http2/error-code.ts'
export type { Field } from './http2/hpack/field.ts'
export { HTTP2_LIMITS, type Http2Limits } from './http2/limits.ts'
export { Http2Stream, type StreamEnd, type StreamListener } from './http2/stream.ts'
export { GrpcConnection, type GrpcConnectionInit } from './server/grpc-connection.ts'
