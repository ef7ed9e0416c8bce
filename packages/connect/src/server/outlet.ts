/** Where an answer goes: a response with one message, or with envelopes. */
import type { AnswerHeaderLists, CallFailure } from '@elysia-microservices/protobuf/rpc'

/** Takes one answer. After `end` or `failure` nothing else is called. */
export interface Outlet {
  /** Whether the client takes another message now. If not, `resume` of the call is called later. */
  readonly hasRoom: boolean
  /** Headers and trailers of the handler: before the first message, and again before the end. */
  set(lists: AnswerHeaderLists): void
  /** Sends an encoded message. */
  message(data: Uint8Array): void
  /** The call has succeeded. */
  end(): void
  failure(failure: CallFailure): void
}
