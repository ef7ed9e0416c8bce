/**
 * The patterns of Nest's decorators for gRPC: `@GrpcMethod('Orders', 'Get')` is the pattern
 * `{ service: 'Orders', rpc: 'Get', streaming: 'no_stream' }`.
 */
import type { GrpcForm } from '../called-method.ts'

/** A pattern of Nest's decorators for gRPC. */
export interface GrpcPattern {
  readonly service: string
  readonly rpc: string
  readonly streaming: GrpcForm
}

/** A method of a `.proto`, as far as its patterns depend on it. */
interface Named {
  /** The full name of the service, such as `shop.v1.Orders`. */
  readonly service: string
  readonly name: string
  readonly clientStreams: boolean
}

const FORMS: readonly unknown[] = ['no_stream', 'rx_stream', 'pt_stream'] satisfies GrpcForm[]

/** The form of a handler of Nest's gRPC; `undefined`: its pattern is another one. */
export function grpcFormOf(pattern: unknown): GrpcForm | undefined {
  const { service, rpc, streaming } = Object(pattern) as Partial<GrpcPattern>
  const isOne = typeof service === 'string' && typeof rpc === 'string' && FORMS.includes(streaming)
  return isOne ? streaming : undefined
}

/**
 * The patterns of Nest that a method may have, in the order in which Nest looks for them: with the name of the service
 * within the package of the options, and with its full name. As the package of the options may be an outer one, all names
 * are tried: of `shop.v1.Orders` also `v1.Orders`.
 */
export function grpcPatternsOf({ service, name, clientStreams }: Named): readonly GrpcPattern[] {
  const parts = service.split('.')
  const names = parts.map((_, at) => parts.slice(-1 - at).join('.'))
  const forms: readonly GrpcForm[] = clientStreams ? ['rx_stream', 'pt_stream'] : ['no_stream']
  return forms.flatMap((streaming) => names.map((one) => ({ service: one, rpc: name, streaming })))
}
