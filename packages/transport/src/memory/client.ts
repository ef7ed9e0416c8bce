/** The calling side of the memory transport. */
import { ChannelFeed } from '../calls/channel-feed.ts'
import { DeadlineTimer } from '../calls/deadline-timer.ts'
import type { CallHolder, PendingCall } from '../calls/pending-call.ts'
import { PendingCaller } from '../calls/pending-caller.ts'
import type { ClientListener, ClientStatus } from '../client-event.ts'
import type { DurableCaller } from '../durable/published.ts'
import {
  ConnectionError,
  errorOf,
  PatternNotFoundError,
  ProtocolError,
  RejectedError,
  unsendable
} from '../errors/index.ts'
import { Notices } from '../notices.ts'
import { routeOf } from '../pattern.ts'
import { isStreamOfValues } from '../stream.ts'
import type { ClientContext, ClientTransport } from '../transport.ts'
import { errorToText, readErrorText } from '../wire-error.ts'
import { memoryDurable } from './durable-client.ts'
import { decode, encode, type MemoryCaller, type MemoryHub, type MemoryRequest } from './hub.ts'
import type { MemoryMessage } from './memory-message.ts'
import { later, outside } from './outside.ts'
import { TurnRoom } from './turn-room.ts'

const MAX_HELD_SIZE = 128 * 1024 * 1024

/** Calls the servers of this process. */
export class MemoryClient extends PendingCaller implements ClientTransport, CallHolder {
  readonly name = 'memory'
  readonly durable: DurableCaller
  readonly #hub: MemoryHub
  readonly #context: ClientContext
  readonly #timer = new DeadlineTimer({ wake: (now) => this.#expire(now) })
  /** Calls in flight, each with its request once that runs. */
  readonly #calls = new Map<PendingCall, MemoryRequest | undefined>()
  readonly #notices: Notices
  #isClosed = false

  constructor(hub: MemoryHub, context: ClientContext) {
    super((call) => this.#start(call), context.timeout)
    this.#hub = hub
    this.#context = context
    this.durable = memoryDurable(hub, () => this.#isClosed)
    this.#notices = new Notices(context.logger, 'connected')
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  onEvent(listener: ClientListener): () => void {
    return this.#notices.listen(listener)
  }

  async connect(): Promise<void> {
    if (this.#isClosed) throw ConnectionError.closed()
    if (this.#hub.isEmpty) throw nobody()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer.stop()
    for (const call of [...this.#calls.keys()]) {
      this.#calls.get(call)?.cancel()
      this.#fail(call, ConnectionError.closed(call.mayHaveRun))
    }
    this.#notices.status = 'closed'
  }

  cancel(call: PendingCall): void {
    const request = this.#calls.get(call)
    if (this.#end(call)) request?.cancel()
  }

  demand(call: PendingCall, n: number): void {
    this.#calls.get(call)?.requestN(n)
  }

  #start(call: PendingCall): void {
    call.holder = this
    try {
      if (this.#isClosed) throw ConnectionError.closed()
      call.prepare(this.#timer, this.#context.timeout, (given, error) => this.#giveUp(given, error))
      this.#calls.set(call, undefined)
      if (isStreamOfValues(call.data)) this.#startChannel(call, call.data)
      else this.#send(call, this.#messageOf(call, encode(this.#hub.openCodec(), call.data)))
    } catch (error) {
      this.#calls.set(call, undefined)
      this.#fail(call, unsendable(error))
    }
  }

  /** Sends a message in a turn of its own, as over a wire. */
  #send(call: PendingCall, message: MemoryMessage): void {
    outside(() => {
      if (!this.#calls.has(call)) return
      try {
        if (this.#hub.isEmpty) throw nobody()
        if (call.kind === 'event') this.#sendEvent(call, message)
        else this.#sendRequest(call, message)
      } catch (error) {
        this.#fail(call, unsendable(error))
      }
    })
  }

  #sendEvent(call: PendingCall, message: MemoryMessage): void {
    const isStored = this.#hub.store.takes(message.route)
    if (isStored) this.#hub.store.store(message, call.options?.key)
    this.#hub.sendEvent(message, isStored)
    if (this.#end(call)) call.complete()
  }

  #sendRequest(call: PendingCall, message: MemoryMessage): void {
    const demand = call.initialDemand + call.extraDemand
    for (const server of this.#hub.inTurn()) {
      try {
        return server.request(message, call.kind === 'request', demand, this.#callerOf(call), (request) => {
          call.mayHaveRun = true
          this.#calls.set(call, fromAfar(request))
        })
      } catch (error) {
        // Another service may handle it.
        if (!(error instanceof PatternNotFoundError)) throw error
      }
    }
    throw new PatternNotFoundError(PatternNotFoundError.of(message.pattern).message, message.pattern)
  }

  #callerOf(call: PendingCall): MemoryCaller {
    const codec = this.#hub.openCodec()
    return {
      value: later((bytes) => {
        if (!this.#calls.has(call)) return
        let isSatisfied: boolean
        try {
          isSatisfied = call.next(decode(codec, bytes), bytes.length)
        } catch (error) {
          return this.#giveUp(call, error as Error)
        }
        if (isSatisfied) return this.cancel(call)
        const more = call.replenish()
        if (more > 0) this.demand(call, more)
      }),
      end: later(() => {
        if (this.#end(call)) call.complete()
      }),
      error: later((text, isRejected) => this.#fail(call, errorOfText(text, isRejected))),
      lost: later(() =>
        this.#fail(call, new ConnectionError('The service stopped before it had answered', true))
      ),
      inputWanted: later((n) => {
        if (n === 0) call.input?.stop()
        else call.input?.requestN(n)
      })
    }
  }

  #startChannel(call: PendingCall, source: object): void {
    const codec = this.#hub.openCodec()
    const request = () => this.#calls.get(call)
    // Whatever is said before the request runs waits here.
    const early: ((request: MemoryRequest) => void)[] = []
    const tell = (say: (request: MemoryRequest) => void) => {
      const running = request()
      if (running === undefined) early.push(say)
      else say(running)
    }
    const room = new TurnRoom(() => call.input?.resume())
    const sendBytes = (bytes: Uint8Array) => {
      room.use()
      tell((running) => running.input(bytes))
    }
    call.input = new ChannelFeed({
      maxHeldSize: MAX_HELD_SIZE,
      hasRoomFor: () => room.isLeft,
      open: (value, isOnly) => {
        const first = isOnly && value === undefined ? undefined : encode(codec, value)
        this.#send(call, this.#messageOf(call, undefined))
        outside(() => {
          const running = request()
          if (running === undefined) return
          if (first !== undefined) running.input(first)
          for (const say of early.splice(0)) say(running)
          if (isOnly) running.inputEnded()
          else call.input?.requestN(INPUT_AT_FIRST)
        })
      },
      next: (value) => sendBytes(encode(codec, value)),
      encode: (value) => codec.encode(value),
      writeHeld: (encoded, out) => out.data(encoded),
      sendHeld: sendBytes,
      complete: () => tell((running) => running.inputEnded()),
      fail: (error) => {
        const said = errorToText(
          error,
          this.#context.logger,
          `The input of the channel '${call.name}' failed`
        )
        tell((running) => running.inputEnded(new ProtocolError(`The caller's input failed: ${said}`)))
        this.#giveUp(call, error)
      },
      teardownFailed: (error) => this.#context.logger.error('The clean-up of a stream failed', error)
    })
    call.input.start(source)
  }

  #messageOf(call: PendingCall, data: Uint8Array | undefined): MemoryMessage {
    const { pattern, options } = call
    const tells = options?.timeout !== undefined || this.#context.tellTimeout
    return {
      pattern: call.name,
      route: routeOf(pattern),
      data,
      headers: options?.headers === undefined ? undefined : { ...options.headers },
      timeout: call.kind === 'event' || !tells || call.timeout === 0 ? undefined : call.timeout
    }
  }

  #expire(now: number): void {
    let next = Number.POSITIVE_INFINITY
    for (const call of [...this.#calls.keys()]) {
      if (call.deadline > now) next = Math.min(next, call.deadline)
      else this.#giveUp(call, call.timedOut(this.#calls.get(call) !== undefined))
    }
    if (next < Number.POSITIVE_INFINITY) this.#timer.wakeAt(next)
  }

  /** Gives up a call: cancels it at the other side and fails it. */
  #giveUp(call: PendingCall, error: Error): void {
    const request = this.#calls.get(call)
    if (!this.#end(call)) return
    request?.cancel()
    call.fail(error)
  }

  #fail(call: PendingCall, error: Error): void {
    if (this.#end(call)) call.fail(error)
  }

  /** The one place where a call ends. Returns false if it had already ended. */
  #end(call: PendingCall): boolean {
    if (!this.#calls.delete(call)) return false
    call.release()
    return true
  }
}

/** Values of a channel that may be sent before the handler has read any. */
const INPUT_AT_FIRST = 64

/** A request as its caller has it: what it says arrives later, as over a wire. */
function fromAfar(request: MemoryRequest): MemoryRequest {
  return {
    requestN: later((n) => request.requestN(n)),
    cancel: later(() => request.cancel()),
    input: later((bytes) => request.input(bytes)),
    inputEnded: later((failure) => request.inputEnded(failure))
  }
}

/** The error of an answer, made from its text as if it had come over a wire. */
function errorOfText(text: string, isRejected: boolean): Error {
  const { code = 'UNKNOWN', message, details, received } = readErrorText(text)
  return isRejected ? new RejectedError(message, received) : errorOf(code, message, details, received)
}

function nobody(): ConnectionError {
  return new ConnectionError(
    'No service listens on this memory() transport; call listen() of a service that was given the same value',
    false
  )
}
