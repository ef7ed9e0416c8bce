/**
 * The answering side of an engine: subscribes to the routes of its dispatcher, connects again after a loss, drains and
 * stops.
 */
import {
  backoffDelay,
  type Dispatcher,
  OptionError,
  paused,
  quietLog,
  type Route,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  shown,
  type TransportStats,
  type Usage
} from '@elysia-microservices/transport/kit'
import { addressOfHandler } from '../address.ts'
import { AnswersOfTurn } from '../batches.ts'
import type { Carrier, CarrierListener, Engine } from '../carrier.ts'
import { DurableServer, type ServerStore } from '../durable/durable-server.ts'
import { opened, Wanted } from '../opened.ts'
import { inParts, type PartedCarrier } from '../parts/parts.ts'
import { haltedBy } from '../unreachable.ts'
import { Callers } from './callers.ts'
import { Control } from './control.ts'
import type { OpenConnection } from './open-connection.ts'
import { Responder } from './responder.ts'
import { addressOfMessage, Subjects } from './subjects.ts'

/** Most log lines in 10 seconds about permissions that the engine refuses: a new service may lack several. */
const MOST_REFUSALS = 10
const AGAIN = { minDelay: 500, maxDelay: 10_000 }

/** Current figures of a server over an engine. */
export interface EngineStats extends TransportStats {
  /** Requests dropped since the start because their reply address was no inbox. */
  readonly refused: number
  /** Bytes of incomplete messages that arrive in parts. */
  readonly parts: Usage
  /** Characters of large answers that wait for room at their callers or at the server. */
  readonly answers: Usage
  /** Characters of streams and large answers that callers have not confirmed; each caller may have 8 MiB of them. */
  readonly unconfirmed: number
}

/** The parameters of a server. */
export interface DialogueServerInit<Connection extends Carrier> {
  readonly engine: Engine<Connection>
  readonly context: ServerContext
  /**
   * The queue for each kind of handlers: of the processes in one queue, one gets each message. `undefined`: every
   * process gets it.
   */
  readonly queues: Readonly<Record<Route['kind'], string | undefined>>
  /** The group of a service for its durable handlers; see `groupOf`. */
  readonly service?: string | undefined
  /** The user wants each process to get each event; otherwise events need a queue. Default: false. */
  readonly toEvery?: boolean | undefined
  /** Receives stored events. Default: the engine stores none. */
  readonly store?: ((context: ServerContext) => ServerStore<Connection>) | undefined
}

interface Listening extends OpenConnection {
  readonly carrier: PartedCarrier
}

/** Answers over an engine. */
export class DialogueServer<Connection extends Carrier> implements ServerTransport {
  readonly name: string
  readonly isDurable: boolean
  readonly #init: DialogueServerInit<Connection>
  #responder: Responder | undefined
  #durable: DurableServer<Connection> | undefined
  #listening: Listening | undefined
  /** Why there is no connection to a server, as text; `undefined` while there is one. */
  #lost: string | undefined
  #wanted = new Wanted()

  constructor(init: DialogueServerInit<Connection>) {
    this.#init = init
    this.name = init.engine.name
    this.isDurable = init.store !== undefined
  }

  async start(dispatcher: Dispatcher, signal?: AbortSignal): Promise<void> {
    const { engine, context } = this.#init
    this.#checkShared(dispatcher)
    const responder = new Responder(engine, dispatcher, context.logger)
    const store = this.#init.store?.(context)
    if (store !== undefined)
      this.#durable = new DurableServer(store, dispatcher, engine, context, this.#init.service)
    this.#wanted = new Wanted(signal)
    try {
      this.#listening = await this.#listen(dispatcher, responder, this.#wanted.signal)
    } catch (error) {
      // No handler has begun. An engine that does not answer must not hold up the error.
      await this.#durable?.stopWithin()
      this.#durable?.cut()
      this.#durable = undefined
      // The connection may have been lost meanwhile, and the next start makes another one.
      this.#lost = undefined
      throw error
    }
    this.#responder = responder
  }

  begin(): void {
    this.#durable?.begin()
  }

  async stop({ drain }: StopOptions = {}): Promise<void> {
    const { responder, listening, durable } = {
      responder: this.#responder,
      listening: this.#listening,
      durable: this.#durable
    }
    this.#responder = undefined
    this.#durable = undefined
    this.#listening = undefined
    this.#lost = undefined
    if (responder === undefined || listening === undefined) return this.#wanted.end()
    const { carrier } = listening
    const durableEnded = durable?.stopWithin(drain)
    // The server sends no new messages. Those that it has already sent are handled.
    const left = carrier.isConnected ? carrier.leave() : undefined
    await Promise.all([responder.running.drained(drain, Promise.resolve(left)), durableEnded])
    await durable?.cut()
    responder.isOver = true
    this.#wanted.end()
    await leave(listening)
  }

  stats(): EngineStats {
    const figures = this.#durable?.figures ?? []
    const running = this.#responder?.running
    const unavailable = this.#lost ?? figures.find((one) => one.unavailable !== undefined)?.unavailable
    const refused = (this.#responder?.refused ?? 0) + (this.#listening?.control.strayed ?? 0)
    return {
      transport: this.name,
      address: undefined,
      inFlight: { current: (running?.inFlight ?? 0) + (this.#durable?.running ?? 0), limit: false },
      streams: running?.streams ?? 0,
      ...(unavailable !== undefined && { unavailable }),
      refused,
      parts: this.#listening?.carrier.parts ?? { current: 0, limit: false },
      answers: this.#listening?.callers.answers ?? { current: 0, limit: false },
      unconfirmed: this.#listening?.callers.onItsWay ?? 0,
      ...(figures.length > 0 && { durable: figures })
    }
  }

  /** @throws {OptionError} an event would run in each process, because the service has no name */
  #checkShared(dispatcher: Dispatcher): void {
    const { engine, queues, toEvery = false } = this.#init
    if (queues.event !== undefined || toEvery) return
    const event = plainRoutes(dispatcher).find(({ kind }) => kind === 'event')
    if (event === undefined) return
    throw new OptionError(
      'options.name',
      `Over ${engine.title} the event '${shown(event.route ?? String(event.regexp))}' would run in each process of the service, because the service has no name: set its option name, or events: 'every-process' of the transport if each process is to run it`
    )
  }

  async #listen(dispatcher: Dispatcher, responder: Responder, signal: AbortSignal): Promise<Listening> {
    const { engine, context, queues } = this.#init
    const { logger } = context
    const subjects = new Subjects(
      plainRoutes(dispatcher),
      (route) => addressOfHandler(engine, route),
      queues,
      engine.wildcards
    )
    // The server may be lost again before the connection is ready.
    let open: Connection | undefined
    const connection: Connection = await opened(
      engine,
      this.#listener(
        signal,
        () => open?.server ?? engine.where,
        (error) => void this.#listenAgain(dispatcher, responder, signal, error)
      )
    )
    open = connection
    const carrier = inParts(connection)
    const control = new Control(carrier, logger)
    const callers = new Callers(carrier, control, logger)
    const answers = new AnswersOfTurn(carrier)
    const listening: Listening = { engine, carrier, control, answers, callers, logger, subjects }
    // If the user has no right to listen at this address, callers cannot ask about their calls, but the service works.
    carrier.listen(
      carrier.everyone,
      (message) => responder.asked(listening, message),
      () => {}
    )
    try {
      await carrier.take(
        subjects.all,
        (subject, message) => responder.receive(listening, subject, message),
        (subject, message) =>
          subjects.of(subject, addressOfMessage(subject, message), 'message') !== undefined
      )
      engine.listening?.(connection, subjects.all)
      await this.#durable?.start(connection)
      return listening
    } catch (error) {
      await leave(listening)
      throw error
    }
  }

  #listener(signal: AbortSignal, server: () => string, ended: CarrierListener['ended']): CarrierListener {
    const { engine, context } = this.#init
    const { logger } = context
    const { title } = engine
    return {
      signal,
      lost: (why) => {
        this.#lost = `The ${title} server ${server()} is lost`
        if (why !== undefined) this.#lost += `: ${why}`
        logger.warn(`${this.#lost}; until it is back, the service gets no messages over it`)
        this.#durable?.lost()
      },
      halted: (reason) =>
        logger.warn(
          reason === undefined ? `${title} takes messages again` : `${haltedBy(title, reason)}; answers wait`
        ),
      restored: () => {
        this.#found(server())
        this.#listening?.control.restored()
        this.#listening?.callers.restored()
        this.#durable?.restored()
      },
      refused: (address, operation) =>
        // The address may be a caller's reply address, so the number of log lines is limited.
        quietLog(logger).error(
          operation,
          `${title} does not let this service ${operation === 'publish' ? 'publish' : 'subscribe'} to '${shown(address)}'; give its user the permission`,
          undefined,
          MOST_REFUSALS
        ),
      unpublished: (address, error) =>
        quietLog(logger).error(
          'unpublished',
          `A message to '${shown(address)}' could not be published`,
          error
        ),
      failed: (error) =>
        quietLog(logger).error('failed', `A message of ${title} could not be handled`, error),
      ended
    }
  }

  #found(server: string): void {
    if (this.#lost === undefined) return
    this.#lost = undefined
    const { context, engine } = this.#init
    context.logger.warn(`Connected to the ${engine.title} server ${server} again`)
  }

  /**
   * Connects again, because the driver has given up. A driver does so for a reason other than a lost server, such as
   * credentials that it cannot read.
   */
  async #listenAgain(
    dispatcher: Dispatcher,
    responder: Responder,
    signal: AbortSignal,
    error: Error | undefined
  ): Promise<void> {
    const { context, engine } = this.#init
    const { logger } = context
    this.#lost = `The connection to ${engine.title} has ended`
    logger.error(`${this.#lost}; connecting again`, error)
    // Otherwise its calls, incomplete messages and timers would stay for ever.
    if (this.#listening !== undefined) void leave(this.#listening).catch(() => {})
    await this.#durable?.leave()
    for (let attempt = 0; this.#responder === responder; attempt++) {
      await paused(backoffDelay(AGAIN, attempt, Math.random()), signal)
      if (this.#responder !== responder) return
      try {
        const listening = await this.#listen(dispatcher, responder, signal)
        if (this.#responder !== responder) return await leave(listening)
        this.#listening = listening
        return this.#found(listening.carrier.server)
      } catch (cause) {
        if (signal.aborted) return
        logger.error(`${engine.title} cannot be reached; trying again`, cause)
        // Some consumers may have started.
        if (this.#responder === responder) await this.#durable?.leave()
      }
    }
  }
}

/** Closes a connection on which a service listens. */
async function leave({ callers, control, carrier }: Listening): Promise<void> {
  callers.stop()
  control.stop()
  await carrier.close()
}

/** Returns the routes without durable handlers, which get their events from the store. */
function plainRoutes(dispatcher: Dispatcher): readonly Route[] {
  return dispatcher.routes().filter(({ durable }) => durable === undefined)
}
