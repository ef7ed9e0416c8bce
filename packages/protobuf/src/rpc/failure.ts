/** The failure of a call as its caller gets it. */
import type { JsonValue } from '../proto.ts'
import type { RpcCode } from './codes.ts'

/** A message of protobuf that tells more about a failure. */
export interface FailureDetail {
  /** The full name of the message, such as `google.rpc.ErrorInfo`. */
  readonly type: string
  /** The message as bytes. */
  readonly value: Uint8Array
  /** The message as JSON, for people who read Connect's JSON. */
  readonly debug: JsonValue
}

/** A failure of a call. */
export interface Failure {
  readonly code: RpcCode
  /** A sentence for people. */
  readonly message: string
  readonly details: readonly FailureDetail[]
}

/** A failure as an error. Thrown for a request that breaks its protocol; made from the errors of handlers. */
export class CallFailure extends Error implements Failure {
  override name = 'CallFailure'
  readonly code: RpcCode
  readonly details: readonly FailureDetail[]

  constructor(code: RpcCode, message: string, details: readonly FailureDetail[] = []) {
    super(message)
    this.code = code
    this.details = details
  }
}
