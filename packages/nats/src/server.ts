/** The answering side: subscribes by the routes of its dispatcher, and turns messages of NATS into messages of ours. */
import {
  backoffDelay,
  type Dispatcher,
  ListenError,
  type Route,
  type ServerContext,
  type ServerTransport,
  type StopOptions,
  type TransportStats
} from '@elysia-microservices/transport/kit'
import { createInbox, type Msg, nuid, type Subscription } from '@nats-io/transport-node'
import { Control } from './control.ts'
import { DurableHandlers } from './durable/server.ts'
import { Endpoints } from './endpoints.ts'
import { Link } from './link.ts'
import type { CheckedOptions } from './options.ts'
import { type Opened, Receiver } from './receiver.ts'
import { answerDiscovery, serviceName } from './service-info.ts'
import { CALLS } from './wire.ts'

const DEFAULT_DRAIN = 10_000
/** The queue group of services without a name. */
const NAMELESS = 'elysia-microservices'
const AGAIN = { minDelay: 500, maxDelay: 10_000 }

/** A connection, and what is subscribed to over it. */
interface Listening extends Opened {
  readonly subscriptions: Subscription[]
}

/** Answers over NATS. */
export class NatsServer implements ServerTransport {
  readonly name = 'nats'
  readonly isDurable = true
  readonly #options: CheckedOptions
  readonly #context: ServerContext
  readonly #id = nuid.next()
  #receiver: Receiver | undefined
  #durable: DurableHandlers | undefined
  #listening: Listening | undefined
  #settled: (() => void) | undefined

  constructor(options: CheckedOptions, context: ServerContext) {
    this.#options = options
    this.#context = context
  }

  async start(dispatcher: Dispatcher): Promise<void> {
    const receiver = new Receiver(dispatcher, this.#context.logger, () => this.#settled?.())
    this.#durable = new DurableHandlers(dispatcher, this.#options, this.#context)
    try {
      this.#listening = await this.#listen(dispatcher, receiver)
    } catch (error) {
      await this.#durable.stop()
      this.#durable.cut()
      this.#durable = undefined
      throw error
    }
    this.#receiver = receiver
  }

  async stop({ drain = DEFAULT_DRAIN }: StopOptions = {}): Promise<void> {
    const { receiver, listening } = { receiver: this.#receiver, listening: this.#listening }
    const durable = this.#durable
    this.#receiver = undefined
    this.#durable = undefined
    this.#listening = undefined
    if (receiver === undefined || listening === undefined) return
    const { link, subscriptions, control } = listening
    let late: ReturnType<typeof setTimeout> | undefined
    const isLate = new Promise<void>((resolve) => {
      late = setTimeout(resolve, drain)
    })
    const durableEnded = durable?.stop()
    // What the server has sent already is handled; it sends nothing new.
    if (link.isConnected)
      await Promise.race([Promise.allSettled(subscriptions.map((one) => one.drain())), isLate])
    if (receiver.inFlight > 0)
      await Promise.race([new Promise<void>((resolve) => (this.#settled = resolve)), isLate])
    await Promise.race([durableEnded, isLate])
    clearTimeout(late)
    this.#settled = undefined
    durable?.cut()
    receiver.cut()
    control.stop()
    await link.close()
  }

  stats(): TransportStats {
    const figures = this.#durable?.figures ?? []
    return {
      transport: 'nats',
      address: undefined,
      inFlight: { current: (this.#receiver?.inFlight ?? 0) + (this.#durable?.running ?? 0), limit: 0 },
      streams: this.#receiver?.streams ?? 0,
      ...(figures.length > 0 && { durable: figures })
    }
  }

  async #listen(dispatcher: Dispatcher, receiver: Receiver): Promise<Listening> {
    const options = this.#options
    const context = this.#context
    const queue = options.queue ?? context.name?.replace(/\s+/g, '-')
    const endpoints = new Endpoints(plainRoutes(dispatcher), {
      message: queue ?? NAMELESS,
      event: options.events === 'all' ? undefined : queue
    })
    const { logger } = context
    const link = await Link.open(
      { name: serviceName(context.name), ...options.connection },
      {
        lost: () => {
          logger.warn(`The NATS server ${link.server} is lost; another is looked for`)
          this.#durable?.lost()
        },
        restored: () => this.#restored(),
        refused: (subject, operation) =>
          logger.error(
            `NATS does not let this service ${operation === 'publish' ? 'publish' : 'subscribe'} to '${subject}'; give its user the permission`
          ),
        unpublished: (subject, error) =>
          logger.error(`A message to '${subject}' could not be published`, error),
        failed: (error) => logger.error('A message of NATS could not be handled', error),
        ended: (error) => void this.#listenAgain(dispatcher, receiver, error)
      }
    )
    const control = new Control(link, createInbox(options.connection.inboxPrefix))
    const listening: Listening = { link, control, logger, endpoints, subscriptions: [] }
    let refusal: Error | undefined
    for (const endpoint of endpoints.all) {
      const { subject, queue: group } = endpoint
      const receive = (error: Error | null, message: Msg) => {
        if (error !== null) refusal ??= error
        else receiver.receive(listening, endpoint, message)
      }
      listening.subscriptions.push(link.subscribe(subject, group, receive))
    }
    // Who may not subscribe there cannot be asked, and serves all the same.
    link.subscribe(CALLS, undefined, (error, message) => {
      if (error === null) receiver.asked(listening, message)
    })
    const version = /^\d+\.\d+\.\d+/.test(context.version ?? '') ? (context.version as string) : '0.0.0'
    answerDiscovery(link, {
      name: serviceName(context.name),
      version,
      id: this.#id,
      endpoints: endpoints.all
    })
    await link.flush().catch(() => {})
    let failure = refusal && new ListenError(`NATS at ${link.server}`, refusal)
    if (failure === undefined) {
      try {
        await this.#durable?.start(link)
        return listening
      } catch (error) {
        failure = error as ListenError
      }
    }
    control.stop()
    await link.close()
    throw failure
  }

  #restored(): void {
    this.#listening?.control.restored()
    this.#durable?.restored()
  }

  /** The driver has given up, which it does only for reasons of its own, such as credentials that it cannot read. */
  async #listenAgain(dispatcher: Dispatcher, receiver: Receiver, error: Error | undefined): Promise<void> {
    const { logger } = this.#context
    logger.error('The connection to NATS is over; it is made anew', error)
    this.#listening?.control.stop()
    await this.#durable?.leave()
    for (let attempt = 0; this.#receiver === receiver; attempt++) {
      await new Promise((resolve) => setTimeout(resolve, backoffDelay(AGAIN, attempt, Math.random())))
      if (this.#receiver !== receiver) return
      try {
        const listening = await this.#listen(dispatcher, receiver)
        if (this.#receiver === receiver) this.#listening = listening
        else await listening.link.close()
        return
      } catch (cause) {
        logger.error('NATS cannot be reached; it is tried again', cause)
      }
    }
  }
}

/** Durable handlers get their events otherwise. */
function plainRoutes(dispatcher: Dispatcher): readonly Route[] {
  return dispatcher.routes().filter(({ durable }) => durable === undefined)
}
