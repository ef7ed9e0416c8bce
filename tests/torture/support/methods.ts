/** The methods of the service under torture, for gRPC: each of its patterns, with any JSON. */
import { anyJson } from '@elysia-microservices/grpc/testing'

export const METHODS = anyJson({ channels: ['sum'], events: ['seen'] })
