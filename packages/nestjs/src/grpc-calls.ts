/** Calls of gRPC's methods with the arguments of grpc-js's clients: data, metadata, options. */
import {
  type AnswerHeaders,
  type CallOptions,
  type ClientTransport,
  OptionError
} from '@elysia-microservices/transport/kit'
import {
  GrpcMetadata,
  type NestMethod,
  readGrpcMetadata,
  valuesOfMetadata
} from '@elysia-microservices/transport/nest'
import { type GrpcServiceError, serviceErrorOf } from './grpc-error.ts'

/** Takes the answer to one call: any number of values, then an end or an error. */
export interface GrpcAnswer {
  /** Metadata has come before the first value. Default: nobody reads it. */
  metadata?(metadata: GrpcMetadata): void
  /** @returns false: the reader has enough for now, and calls `resume` later */
  next(value: unknown): unknown
  complete(trailers: GrpcMetadata): void
  error(error: GrpcServiceError): void
}

/** A call that runs. */
export interface GrpcRunning {
  cancel(): void
  resume(): void
}

/** Arguments of a call behind the data. */
interface Extras {
  readonly headers: Readonly<Record<string, string>> | undefined
  /** Milliseconds left until the deadline; `undefined`: there is none. */
  readonly left: number | undefined
}

/**
 * Reads metadata and options among the arguments of a call. `undefined` and null are nothing.
 * @throws {OptionError} an argument is neither, or has an option that cannot be honoured
 */
export function extrasOf(args: readonly unknown[], where: string): Extras {
  let headers: Record<string, string> | undefined
  let left: number | undefined
  for (const given of args) {
    if (given === undefined || given === null) continue
    const metadata = valuesOfMetadata(given)
    if (metadata !== undefined) headers = Object.fromEntries(metadata.map(textOf))
    else if (typeof given === 'object') left = leftUntil(given, where)
    else throw OptionError.expected(where, 'data, then Metadata, then options', given)
  }
  return { headers, left }
}

function textOf([name, values]: readonly [string, readonly (string | Uint8Array)[]]): [string, string] {
  return [
    name,
    values
      .map((value) => (typeof value === 'string' ? value : Buffer.from(value).toString('base64')))
      .join(name.endsWith('-bin') ? ',' : ', ')
  ]
}

function leftUntil(options: object, where: string): number | undefined {
  for (const [name, value] of Object.entries(options))
    if (name !== 'deadline' && value !== undefined)
      throw new OptionError(
        `${where}: options.${name}`,
        `${where}: options.${name} has no effect here; a call has the option deadline, and a client those of grpc()`
      )
  const { deadline } = options as { readonly deadline?: unknown }
  if (deadline === undefined || deadline === Number.POSITIVE_INFINITY) return undefined
  const until = deadline instanceof Date ? deadline.getTime() : deadline
  if (typeof until !== 'number' || Number.isNaN(until))
    throw OptionError.expected(`${where}: options.deadline`, 'a Date, or milliseconds since 1970', deadline)
  return Math.max(1, until - Date.now())
}

/**
 * Makes a call. Its answer gets exactly one end or error, in a later turn.
 * @param data the message of the caller, or a stream of its messages
 */
export function callGrpc(
  transport: ClientTransport,
  method: NestMethod,
  data: unknown,
  { headers, left }: Extras,
  answer: GrpcAnswer
): GrpcRunning {
  let trailers: GrpcMetadata | undefined
  const aborter = new AbortController()
  const failed = (error: unknown) => answer.error(serviceErrorOf(error, trailers))
  const options: CallOptions = {
    ...(headers && { headers }),
    // Without a deadline a call waits for ever, as in grpc-js.
    timeout: left ?? false,
    ...(left !== undefined && method.serverStreams && { lifetime: left }),
    onHeaders: (given: AnswerHeaders) => answer.metadata?.(readGrpcMetadata(given)),
    onTrailers: (given: AnswerHeaders) => {
      trailers = readGrpcMetadata(given)
    }
  }
  const complete = () => answer.complete(trailers ?? new GrpcMetadata())
  try {
    if (method.serverStreams)
      return transport.stream(
        method.path,
        data,
        { next: (value) => answer.next(value), complete, error: failed },
        options
      )
    transport.request(method.path, data, { ...options, signal: aborter.signal }).then((value) => {
      answer.next(value)
      complete()
    }, failed)
  } catch (error) {
    queueMicrotask(() => failed(error))
  }
  return { cancel: () => aborter.abort(), resume() {} }
}
