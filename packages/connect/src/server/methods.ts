/** The methods that can be called, and the patterns that may belong to them. */
import type { ProtoMethod } from '@elysia-microservices/protobuf'
import { nameOf, type Pattern, routeOf } from '@elysia-microservices/transport/kit'
import { grpcPatternsOf } from '@elysia-microservices/transport/nest'
import type { CheckedOptions } from '../options.ts'

/** A pattern that may belong to a method. */
export interface Candidate {
  /** The pattern as it was given; typed for clients that know no patterns. */
  readonly given: never
  /** The pattern as text. */
  readonly pattern: string
  readonly route: string
}

/** A method that can be called. */
export interface CallableMethod {
  readonly method: ProtoMethod
  /** The patterns, the most likely one first; there is at least one. */
  readonly candidates: readonly [Candidate, ...Candidate[]]
  /** Whether the caller or the handler, or both, send a stream. */
  readonly streams: boolean
}

/** All methods of the services. @throws {OptionError} `options.pattern` has returned something else than a pattern */
export function callableMethods({ services, pattern }: Pick<CheckedOptions, 'services' | 'pattern'>) {
  return services.flatMap(({ methods }) =>
    methods.map((method): CallableMethod => {
      const { service, name, clientStreams, serverStreams } = method
      const patterns: [Pattern, ...Pattern[]] =
        pattern === undefined
          ? defaultPatterns(method)
          : [pattern({ service, name, pattern: method.pattern })]
      return {
        method,
        candidates: patterns.map(candidate) as [Candidate, ...Candidate[]],
        streams: clientStreams || serverStreams
      }
    })
  )
}

function candidate(pattern: Pattern): Candidate {
  return { given: pattern as never, pattern: nameOf(pattern), route: routeOf(pattern) }
}

/** The pattern of the `.proto`, then what Nest's users and others write. */
function defaultPatterns(method: ProtoMethod): [Pattern, ...Pattern[]] {
  const { service, name, pattern, path } = method
  const short = service.slice(service.lastIndexOf('.') + 1)
  return [...new Set<Pattern>([pattern, path, `${short}/${name}`, ...grpcPatternsOf(method)])] as [
    Pattern,
    ...Pattern[]
  ]
}
