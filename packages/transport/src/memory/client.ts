/** The calling side of the memory transport. */

import { callerName, type Source } from '../caller-name.ts'
import { ChannelFeed } from '../calls/channel-feed.ts'
import { refuseCall } from '../calls/drained.ts'
import { OpenCalls } from '../calls/open-calls.ts'
import type { CallSender } from '../calls/open-calls-init.ts'
import type { PendingCall } from '../calls/pending-call.ts'
import { PendingCaller } from '../calls/pending-caller.ts'
import { DEFAULT_RETRY, RetryPolicy } from '../calls/retry-policy.ts'
import type { ClientStatus, ConnectionListener } from '../connection-event.ts'
import type { DurableCaller } from '../durable/published.ts'
import { serviceStopped } from '../errors/ended.ts'
import {
  ConnectionError,
  errorOf,
  PatternNotFoundError,
  ProtocolError,
  RejectedError,
  unsendable
} from '../errors/index.ts'
import { isRejected } from '../failure.ts'
import { Notices } from '../notices.ts'
import { routeOf } from '../pattern.ts'
import type { EventSender } from '../report-event.ts'
import { isStreamOfValues } from '../stream.ts'
import type { ClientContext, ClientTransport } from '../transport.ts'
import { errorToText, readErrorText } from '../wire-error.ts'
import { memoryDurable } from './durable-client.ts'
import { decode, encode, type MemoryCaller, type MemoryHub, type MemoryRequest } from './hub.ts'
import type { MemoryMessage } from './memory-message.ts'
import { later, outside } from './outside.ts'

const MAX_HELD_SIZE = 134_217_728

/** Calls the servers of this process. */
export class MemoryClient extends PendingCaller implements ClientTransport, CallSender {
  readonly name = 'memory'
  readonly durable: DurableCaller
  readonly #hub: MemoryHub
  readonly #context: ClientContext
  readonly #calls: OpenCalls
  /** The requests that run at a server, by their calls. */
  readonly #requests = new Map<PendingCall, MemoryRequest>()
  readonly #notices: Notices
  readonly #source: Source
  readonly #sender: EventSender

  constructor(hub: MemoryHub, context: ClientContext) {
    super((call) => this.#calls.start(call), context.timeout)
    this.#hub = hub
    this.#context = context
    this.#source = {
      get name() {
        return callerName(context.name)
      }
    }
    const notices = new Notices(context.logger, 'connected')
    this.#notices = notices
    this.#calls = new OpenCalls({
      sender: this,
      timeout: context.timeout,
      retries: new RetryPolicy(DEFAULT_RETRY, performance.now()),
      notices
    })
    this.#sender = {
      eventRefused: later((_id, { pattern }, error) => {
        const said = errorOfText(errorToText(error, context.logger, undefined), isRejected(error))
        notices.tell({ type: 'event-refused', pattern, endpoint: undefined, error: said })
      })
    }
    this.durable = memoryDurable(hub, () => this.#calls.isClosed, true)
  }

  get status(): ClientStatus {
    return this.#notices.status
  }

  get inFlight(): number {
    return this.#calls.inFlight
  }

  refuse(): void {
    this.start = refuseCall
  }

  onStatus(listener: ConnectionListener): () => void {
    return this.#notices.listen(listener)
  }

  async connect(): Promise<void> {
    if (this.#calls.isClosed) throw ConnectionError.closed()
    if (this.#hub.isEmpty) throw nobody()
  }

  async close(): Promise<void> {
    this.#calls.close(ConnectionError.closed, true)
    this.#notices.status = 'closed'
  }

  // ── sending calls ────────────────────────────────────────────────────────────────────────────────────

  send(call: PendingCall): void {
    this.#calls.add(call)
    if (isStreamOfValues(call.data)) this.#startChannel(call, call.data)
    else this.#sendMessage(call, this.#messageOf(call, encode(this.#hub.openCodec(), call.data)))
  }

  cancel(call: PendingCall): void {
    this.#requests.get(call)?.cancel()
  }

  demand(call: PendingCall, n: number): void {
    if (n > 0) this.#requests.get(call)?.requestN(n)
  }

  over(call: PendingCall): void {
    this.#requests.delete(call)
  }

  /** Sends a message in a later turn of the event loop, as over a wire. */
  #sendMessage(call: PendingCall, message: MemoryMessage): void {
    const attempt = call.sequence
    outside(() => {
      if (this.#calls.get(attempt) !== call) return
      try {
        if (this.#hub.isEmpty) throw nobody()
        if (call.kind === 'event') this.#sendEvent(call, message)
        else this.#sendRequest(call, message)
      } catch (error) {
        this.#calls.fail(call, unsendable(error))
      }
    })
  }

  #sendEvent(call: PendingCall, message: MemoryMessage): void {
    const isStored = this.#hub.store.takes(message.route)
    if (isStored) this.#hub.store.store(message, call.options?.key)
    this.#hub.sendEvent(message, isStored, this.#sender)
    this.#calls.complete(call)
  }

  #sendRequest(call: PendingCall, message: MemoryMessage): void {
    const demand = call.initialDemand + call.extraDemand
    for (const server of this.#hub.inTurn()) {
      try {
        const wanted = { isSingle: call.kind === 'request', demand, window: call.window }
        return server.request(message, wanted, this.#callerOf(call), (request) => {
          call.mayHaveRun = true
          this.#requests.set(call, fromAfar(request))
        })
      } catch (error) {
        // Another service of this transport may handle the pattern.
        if (!(error instanceof PatternNotFoundError)) throw error
      }
    }
    throw new PatternNotFoundError(PatternNotFoundError.of(message.pattern).message, message.pattern)
  }

  /** Makes the object through which a server answers one attempt of a call. */
  #callerOf(call: PendingCall): MemoryCaller {
    const calls = this.#calls
    const codec = this.#hub.openCodec()
    const { sequence } = call
    const heard = <Args extends unknown[]>(hear: (...args: Args) => void) =>
      later((...args: Args) => {
        if (calls.get(sequence) === call) hear(...args)
      })
    return {
      value: heard((bytes) => {
        let value: unknown
        try {
          value = decode(codec, bytes)
        } catch (error) {
          return calls.giveUp(call, unsendable(error))
        }
        calls.value(call, value, bytes.length)
      }),
      set: heard((json) => {
        try {
          call.hear(json)
        } catch (error) {
          calls.giveUp(call, error as Error)
        }
      }),
      end: heard(() => calls.complete(call)),
      error: heard((text, isRejected) => calls.fail(call, errorOfText(text, isRejected))),
      lost: heard(() => calls.fail(call, serviceStopped())),
      inputWanted: heard((n) => {
        if (n === 0) call.input?.stop()
        else call.input?.requestN(n)
      })
    }
  }

  #startChannel(call: PendingCall, source: object): void {
    const codec = this.#hub.openCodec()
    const request = () => this.#requests.get(call)
    // Messages for the request wait here until the request runs and has its first value.
    const early: ((request: MemoryRequest) => void)[] = []
    let hasFirst = false
    const tell = (say: (request: MemoryRequest) => void) => {
      const running = hasFirst ? request() : undefined
      if (running === undefined) early.push(say)
      else say(running)
    }
    const sendBytes = (bytes: Uint8Array) => {
      tell((running) => running.input(bytes))
    }
    call.input = new ChannelFeed({
      maxHeldSize: MAX_HELD_SIZE,
      hasRoomFor: () => true,
      open: (value, isOnly) => {
        const first = isOnly && value === undefined ? undefined : encode(codec, value)
        this.#sendMessage(call, this.#messageOf(call, undefined))
        outside(() => {
          const running = request()
          hasFirst = true
          if (running === undefined) return
          if (first !== undefined) running.input(first)
          for (const say of early.splice(0)) say(running)
          if (isOnly) running.inputEnded()
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
        this.#calls.giveUp(call, error)
      },
      teardownFailed: (error) =>
        this.#context.logger.error(
          `The clean-up of a stream failed: the input of the channel '${call.name}'`,
          error
        )
    })
    call.input.start(source)
  }

  #messageOf(call: PendingCall, data: Uint8Array | undefined): MemoryMessage {
    const { pattern, headers } = call
    return {
      pattern: call.name,
      route: routeOf(pattern),
      data,
      headers: headers === undefined ? undefined : { ...headers },
      timeout: call.kind === 'event' || call.timeout === 0 ? undefined : call.timeout,
      lifetime: call.lifetimeLeft(performance),
      source: this.#source
    }
  }
}

/** Wraps a request for its caller, so that each message of the caller arrives later, as over a wire. */
function fromAfar(request: MemoryRequest): MemoryRequest {
  return {
    requestN: later((n) => request.requestN(n)),
    cancel: later(() => request.cancel()),
    input: later((bytes) => request.input(bytes)),
    inputEnded: later((failure) => request.inputEnded(failure))
  }
}

/** Makes the error of an answer from its text, as if it had arrived over a wire. */
function errorOfText(text: string, isRejected: boolean): Error {
  const { code = 'UNKNOWN', message, details, received } = readErrorText(text)
  return isRejected ? new RejectedError(message, received) : errorOf(code, message, details, received)
}

function nobody(): ConnectionError {
  return new ConnectionError(
    'No service listens on this memory() transport; call listen() of a service that uses the same memory() value',
    false
  )
}
