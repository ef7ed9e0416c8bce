/** The failure of a call as its caller gets it. */
import type { JsonValue } from '@elysia-microservices/protobuf'
import type { ConnectCode } from './codes.ts'

/** A message of protobuf that tells more about a failure. */
export interface FailureDetail {
  /** The full name of the message, such as `google.rpc.ErrorInfo`. */
  readonly type: string
  /** The message as bytes. */
  readonly value: Uint8Array
  /** The message as JSON, for people who read Connect's JSON. */
  readonly debug: JsonValue
}

/** A failure with its code. Thrown for a request that breaks its protocol; made from the errors of handlers. */
export class CallFailure extends Error {
  override name = 'CallFailure'
  readonly code: ConnectCode
  readonly details: readonly FailureDetail[]

  constructor(code: ConnectCode, message: string, details: readonly FailureDetail[] = []) {
    super(message)
    this.code = code
    this.details = details
  }
}
