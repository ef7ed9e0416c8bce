/** Answers the events of services, which protobuf writes as methods: the answer says only that an event has arrived. */

import type { ProtoMethod } from '@elysia-microservices/protobuf'
import { type FailedCall, failureOf } from '@elysia-microservices/protobuf/rpc'
import {
  type Dispatcher,
  type IncomingMessage,
  nextTurn,
  type RunningMessages
} from '@elysia-microservices/transport/kit'
import { encoded } from './messages-out.ts'
import type { Outlet } from './outlet.ts'

/** The parameters of an event. */
interface EventInit extends FailedCall {
  readonly message: IncomingMessage
  readonly method: ProtoMethod
  readonly isJson: boolean
  readonly dispatcher: Dispatcher
  readonly running: RunningMessages
  readonly outlet: Outlet
}

/** Passes an event to its handlers. A refusal of this turn is told to the sender; later ones are logged. */
export function answerEvent(init: EventInit): void {
  const { message, method, isJson, dispatcher, running, outlet, logger } = init
  let isAnswered = false
  const eventRefused = (_id: number, _message: IncomingMessage, error: unknown) => {
    if (isAnswered) return
    isAnswered = true
    outlet.failure(failureOf(error, init))
  }
  running.event(dispatcher, message, logger, undefined, { eventRefused })
  nextTurn(() => {
    if (isAnswered) return
    isAnswered = true
    outlet.message(encoded(undefined, method.output, isJson))
    outlet.end()
  })
}
