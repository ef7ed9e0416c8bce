/** The exports for users of gRPC. */
export { fromNest } from './from-nest.ts'
export { type GrpcTransport, grpc } from './grpc.ts'
export type { GrpcMethods } from './methods.ts'
export type { GrpcCompressionOptions } from './options/compression-options.ts'
export type { GrpcHealthOptions } from './options/health-options.ts'
export type { GrpcKeepaliveOptions } from './options/keepalive-options.ts'
export type { GrpcPatternMethod } from './options/methods-option.ts'
export type {
  GrpcClientLimits,
  GrpcClientOptions,
  GrpcServerLimits,
  GrpcServerOptions
} from './options/options.ts'
export type { GrpcServerStats } from './server/server-stats.ts'
