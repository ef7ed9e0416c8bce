/** Durable handlers of a service on `memory()`. */
import type { Dispatcher } from '../dispatcher.ts'
import { deliveryOf } from '../durable/delivery.ts'
import { groupOf, skippedAtStart } from '../durable/options.ts'
import { type DurableFigures, type DurableRoute, durableRoutes, viaOf } from '../durable/published.ts'
import { DurableWorker } from '../durable/worker.ts'
import { OptionError } from '../errors/index.ts'
import { IncomingMessage } from '../message.ts'
import type { ServerContext } from '../transport.ts'
import { decode, type MemoryHub } from './hub.ts'
import { outside } from './outside.ts'
import type { GroupEvent, GroupMember, MemoryGroup } from './store.ts'

/** The durable handlers of one route of a server. */
export class MemoryConsumer implements GroupMember {
  readonly #hub: MemoryHub
  readonly #dispatcher: Dispatcher
  readonly #group: MemoryGroup
  readonly #route: DurableRoute
  readonly #worker: DurableWorker<GroupEvent>
  /** Number of events that were accepted but have not arrived yet; they take up room already. */
  #coming = 0
  #redeliveries = 0
  #hasBegun = false

  /** @throws {OptionError} the group exists with other settings, or the handler has no group */
  constructor(hub: MemoryHub, dispatcher: Dispatcher, route: DurableRoute, context: ServerContext) {
    const { durable: settings } = route
    if (route.route === undefined)
      throw new OptionError('pattern', 'A durable event cannot have a RegExp as its pattern; use * or >')
    this.#hub = hub
    this.#dispatcher = dispatcher
    this.#route = route
    const name = groupOf(settings, context.group ?? context.name, route.route)
    const { route: pattern } = route
    const group = hub.store.group(name, pattern, settings, (count) =>
      context.logger.warn(skippedAtStart(name, pattern, count))
    )
    this.#group = group
    this.#worker = new DurableWorker<GroupEvent>(
      settings,
      {
        run: (event) => this.#run(event),
        isOurs: (event) => group.isAway(event),
        letGo: (event) => group.back(event),
        acknowledge: (event) => group.done(event),
        // The worker retries ordered events itself, unless it stops: then the event keeps its place.
        retry: (event, delay) => group.back(event, group.ordered ? 0 : delay),
        async bury(event, reason) {
          if (group.isAway(event)) hub.store.bury(event, reason)
          group.done(event)
        },
        left: () => group.pump()
      },
      hub.store.clock,
      context.logger
    )
  }

  /** Receives events from now on. */
  begin(): void {
    if (this.#hasBegun || this.#isStopped) return
    this.#hasBegun = true
    this.#group.join(this)
  }

  get running(): number {
    return this.#worker.running
  }

  get room(): number {
    return this.#worker.room - this.#coming
  }

  get figures(): DurableFigures {
    const { retries, deadLetters } = this.#worker.figures
    return {
      pattern: this.#group.route,
      group: this.#group.name,
      lag: this.#group.waiting,
      // An ordered event is retried by the worker, so the store does not deliver it again.
      redeliveries: this.#group.ordered ? retries : this.#redeliveries,
      deadLetters,
      isPaused: this.#group.isPaused
    }
  }

  deliver(event: GroupEvent): void {
    this.#coming++
    outside(() => {
      this.#coming--
      if (event.attempt > 1) this.#redeliveries++
      if (this.#isStopped) this.#group.back(this.#released(event))
      else this.#worker.add(event)
    })
  }

  #isStopped = false
  /** The last attempt of each event that was begun. */
  readonly #begun = new WeakMap<GroupEvent, number>()

  /** Takes no new events and gives back those that have not begun. Resolves when running handlers have ended. */
  stop(): Promise<void> {
    this.#isStopped = true
    const { released, ended } = this.#worker.stop()
    for (const event of released) this.#group.back(this.#released(event))
    return ended
  }

  /** Stops waiting for running handlers: their events go to other processes. */
  cut(): void {
    for (const event of this.#worker.held) this.#group.back(event)
    this.#group.leave(this)
  }

  /** Uncounts the attempt of an event that is given back, unless it has begun: the event may pause after a failure. */
  #released(event: GroupEvent): GroupEvent {
    if (this.#begun.get(event) !== event.attempt) event.attempt--
    return event
  }

  #run(event: GroupEvent): void | Promise<void> {
    const { stored, attempt, key, id } = event
    this.#begun.set(event, attempt)
    const { pattern, route, headers, data } = stored.message
    return this.#dispatcher.event(
      new IncomingMessage({
        transport: 'memory',
        kind: 'event',
        pattern,
        route,
        data: decode(this.#hub.openCodec(), data as Uint8Array),
        metadata: headers,
        via: viaOf(this.#route.route, this.#route.durable.group),
        delivery: deliveryOf(
          { id, key, attempt, publishedAt: stored.publishedAt, position: String(stored.position) },
          this.#group.name,
          this.#hub.store.clock.now()
        )
      })
    )
  }
}

/** @throws {OptionError} a group exists with other settings */
export function memoryConsumers(
  hub: MemoryHub,
  dispatcher: Dispatcher,
  context: ServerContext
): readonly MemoryConsumer[] {
  return durableRoutes(dispatcher).map((route) => new MemoryConsumer(hub, dispatcher, route, context))
}
