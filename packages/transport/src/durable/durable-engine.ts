/** The events of a worker, and the engine that carries out its decisions. */

/** The fields of a stored event that decide what happens to it. */
export interface HeldEvent {
  readonly pattern: string
  readonly id: string
  readonly key: string | undefined
  /**
   * Runs of the handler that are known, and this one: from 1. Retries inside this process count, too; a delivery during
   * which the event only waited for others does not.
   */
  attempt: number
  /** The event need not keep any order, and may begin even while the worker is closed. Default: false. */
  readonly isFree?: boolean
  /**
   * The engine has lost the event: it cannot be given back, and no other process has it. Such an event begins even
   * while the worker is closed, and is retried in this process. Default: false.
   */
  readonly isOnlyHere?: boolean
}

/** Carries out the decisions of a worker. */
export interface DurableEngine<Event extends HeldEvent> {
  /** Runs the handlers of an event; settles with their outcome. */
  run(event: Event): void | Promise<void>
  /**
   * Whether this process still owns the event. If not, the worker lets the event go, because the engine delivers it
   * again.
   */
  isOurs(event: Event): boolean
  /** The worker has let the event go: this process does not own the event or an earlier event in its line. */
  letGo(event: Event): void
  /** Acknowledges an event that has succeeded, or that its handler has discarded. */
  acknowledge(event: Event): void
  /**
   * Whether the engine itself delivers again after a pause (`traits.stores.delays`). If not, the event waits in this
   * process, which keeps owning it. Default: true.
   */
  readonly delays?: boolean
  /**
   * Why the event cannot be delivered again after `delay` milliseconds: then it becomes a dead letter. Default: it can.
   */
  whyNotLater?(event: Event, delay: number): string | undefined
  /** The event has failed, and pauses in this process before its next attempt. Default: nothing happens. */
  pauses?(event: Event): void
  /** Delivers the event again after `delay` milliseconds. */
  retry(event: Event, delay: number): void
  /** Stores the event as a dead letter and acknowledges it. Resolves when that is done. */
  bury(event: Event, reason: string): Promise<void>
  /** An event has left the worker, so there is room for another event. */
  left(): void
}
