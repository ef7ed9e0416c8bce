/** The patterns by which a method is known, to handlers and to callers. */
import type { Pattern } from '@elysia-microservices/transport/kit'
import { grpcPatternsOf } from '@elysia-microservices/transport/nest'
import type { GrpcMethod } from './methods.ts'

/**
 * All patterns of a method, the most exact first: of the `.proto`, the path, `Orders/GetTotal` without the package, and those of
 * Nest's decorators.
 */
export function patternsOf(method: GrpcMethod): readonly Pattern[] {
  const { path, pattern, clientStreams } = method
  const slash = path.lastIndexOf('/')
  const service = path.slice(0, slash)
  const name = path.slice(slash + 1)
  const short = `${service.slice(service.lastIndexOf('.') + 1)}/${name}`
  return [pattern, path, short, ...grpcPatternsOf({ service, name, clientStreams })]
}
