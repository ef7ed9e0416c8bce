/** Answers the events of services, which protobuf writes as methods: the answer says only that an event has been taken. */

import type { ProtoMethod } from '@elysia-microservices/protobuf'
import { CallFailure, type FailedCall, failureOf } from '@elysia-microservices/protobuf/rpc'
import {
  type Dispatcher,
  type IncomingMessage,
  LONGEST_TIME,
  type RunningAnswer,
  type RunningMessages,
  reportEvent,
  serviceStopped,
  whenTaken
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

/** Passes an event to its handlers. A refusal is told to the sender until the event is taken; later ones are logged. */
export function answerEvent(init: EventInit): void {
  new EventCall(init).start()
}

/** An event whose sender waits until it is taken. Its handlers are not cut, because nobody waits for them. */
class EventCall implements RunningAnswer {
  readonly #init: EventInit
  #isAnswered = false
  /** How much has to end until the call has ended: its answer, and the handlers. */
  #parts = 2
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(init: EventInit) {
    this.#init = init
  }

  start(): void {
    const { message, dispatcher, running, logger } = this.#init
    const { timeout = 0, remaining } = message
    running.begin(this, false)
    if (remaining !== undefined)
      this.#timer = setTimeout(
        () =>
          this.#fail(
            new CallFailure('deadline_exceeded', `The call has taken longer than its ${timeout} ms`)
          ),
        Math.min(Math.ceil(remaining), LONGEST_TIME)
      )
    const eventRefused = (_id: number, _message: IncomingMessage, error: unknown) => this.#fail(error)
    reportEvent(dispatcher, message, logger, () => this.#part(), { eventRefused })
    whenTaken(
      message,
      () => this.#taken(),
      (error) => this.#fail(error)
    )
  }

  /** The server stops and waits no longer. */
  cut(): void {
    this.#fail(new CallFailure('unavailable', serviceStopped().message))
  }

  #taken(): void {
    const { method, isJson, outlet } = this.#init
    this.#answer(() => {
      outlet.message(encoded(undefined, method.output, isJson))
      outlet.end()
    })
  }

  #fail(error: unknown): void {
    this.#answer(() => this.#init.outlet.failure(failureOf(error, this.#init)))
  }

  #answer(say: () => void): void {
    if (this.#isAnswered) return
    this.#isAnswered = true
    clearTimeout(this.#timer)
    say()
    this.#part()
  }

  #part(): void {
    if (--this.#parts === 0) this.#init.running.end(this)
  }
}
