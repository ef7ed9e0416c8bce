/**
 * Failures of Nest's handlers as statuses of gRPC, by the rules of grpc-js: the number `code` of the error is the status,
 * and its text `details`, else its `message`, is what the caller reads.
 */
import { ErrorAnswer, readFailure } from '@elysia-microservices/transport/kit'
import { valuesOfMetadata } from '@elysia-microservices/transport/nest'

/** A failure with a status of gRPC. */
export interface GrpcFailure {
  /** 1 to 16, or another number that the application has given. */
  readonly status: number
  readonly message: string
}

const UNKNOWN = 2
const INTERNAL = 13

/**
 * The failure that an application of Nest has given: what Nest's filters have made of an error, or an `RpcException` with a
 * number and a text as `details`. `undefined`: it is an error of this library, or one that no caller may see.
 */
export function grpcFailureOf(error: unknown): GrpcFailure | undefined {
  const failure = readFailure(error)
  if (!('answer' in failure)) return undefined
  const { answer } = failure
  const isNest = error instanceof ErrorAnswer
  if (typeof answer !== 'object' || answer === null)
    return isNest ? { status: UNKNOWN, message: String(answer) } : undefined
  try {
    return read(answer, isNest)
  } catch {
    // A getter of the application has thrown.
    return isNest ? { status: UNKNOWN, message: 'Unknown Error' } : undefined
  }
}

function read(answer: object, isNest: boolean): GrpcFailure | undefined {
  const { code, message, details } = answer as Readonly<Record<string, unknown>>
  const isNumbered = typeof code === 'number' && Number.isInteger(code)
  // A code in words is one of this library, and details that are no text travel as such.
  if (isNest ? !isNumbered && typeof code === 'string' : !isNumbered || typeof details !== 'string')
    return undefined
  const said = isNumbered && typeof details === 'string' ? details : message
  return {
    status: isNumbered ? code : UNKNOWN,
    message: typeof said === 'string' ? said : 'Unknown Error'
  }
}

/** The metadata of a failure, which is sent with the end of its answer; `undefined`: it has none. */
export function metadataOfFailure(error: unknown): unknown {
  const failure = readFailure(error)
  try {
    const { metadata } = Object('answer' in failure ? failure.answer : undefined) as {
      readonly metadata?: unknown
    }
    return valuesOfMetadata(metadata) && metadata
  } catch {
    // A getter of the application has thrown.
    return undefined
  }
}

/** The failure of a handler that has to answer one message and has ended without one. */
export function noAnswer(): ErrorAnswer {
  return new ErrorAnswer({ code: INTERNAL, message: 'The handler has ended without a message' })
}
