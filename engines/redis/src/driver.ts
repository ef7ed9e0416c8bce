/**
 * The driver of Redis that this package wants: channels, and streams with groups. `connection/ioredis.ts` has it from
 * ioredis, and `testing/fake-server.ts` from a server inside the process, so that everything above runs without a
 * server; `testing/driver-cases.ts` proves that both keep the same promises.
 *
 * All methods reject with an error named `ReplyError` if the server refuses a command, and with any other error if it
 * is lost; then nobody knows whether the server has run the command. Names of streams and keys are those of
 * `words/keys.ts`.
 */
import type { CarriedHeaders } from '@elysia-microservices/engine'
import type { CheckedOptions } from './options/options.ts'

/** Gets what happens to a connection. */
export interface DriverListener {
  /** Ends an attempt to connect, with its socket; a connection that stands stays. Default: never. */
  readonly signal?: AbortSignal | undefined
  lost(): void
  /**
   * There is a server again, and all subscriptions are restored. If events were stored over this connection before, the
   * server is prepared to store more: it refuses none with `isUnprepared`.
   */
  restored(): void
  /** A message. @param glob the glob that was subscribed; `undefined`: the channel itself was */
  message(glob: string | undefined, channel: string, bytes: Buffer): void
  /**
   * The server does not let this user subscribe to a channel any more.
   * @returns whether the connection may go on without this channel; otherwise it reconnects, and tries again
   */
  refused(channel: string, error: Error): boolean
}

/** Connects to servers. */
export interface Driver {
  /**
   * Connects.
   * @param name the name of the connection at the server
   * @throws {ConnectionError} the server cannot be reached
   * @throws {UnauthenticatedError} the server does not accept the credentials
   * @throws {OptionError} the server is a node of a cluster without the option `cluster`, or the reverse
   */
  open(options: CheckedOptions, name: string | undefined, listener: DriverListener): Promise<DriverConnection>
}

/** A connection of one client or service to its server. It reconnects until it is closed. */
export interface DriverConnection {
  readonly isConnected: boolean
  /** Whether subscribers may be at other servers, where `publish` does not count them. */
  readonly isCluster: boolean
  /** The streams, groups and dead letters of the server. */
  readonly store: DriverStore
  /** Publishes. @returns the number of receivers */
  publish(channel: string, payload: string | Buffer): Promise<number>
  /** Subscribes to a channel, or to a glob. The subscription is restored after the server was lost. */
  subscribe(channel: string, isGlob?: boolean): Promise<void>
  /** Ends subscriptions. Resolves when all messages that were sent for them have arrived. */
  unsubscribe(channels: readonly string[], globs: readonly string[]): Promise<void>
  /** The channels of all processes of services that are subscribed to. */
  services(): Promise<readonly string[]>
  /** Whether a channel may have subscribers that `publish` does not count. */
  mayMiss(channel: string): Promise<boolean>
  /**
   * Checks whether this server has lost its part of the cluster to another one, and reconnects if it has. Until then,
   * everything that it says about subscribers is wrong. @throws it does not answer
   */
  isLeaving(): Promise<boolean>
  /** Resolves when the server has run all commands before. */
  ping(): Promise<void>
  /** Reconnects: everything that waits for an answer fails. */
  renew(): void
  close(): void
}

/** Stores streams of events, groups that read them, and dead letters. */
export interface DriverStore extends Streams, Reading, Letters, Future {}

/** An event to be stored. */
export interface EntryContent {
  readonly id: string
  /** The packet as JSON. */
  readonly packet: string
  readonly key?: string | undefined
  readonly headers: CarriedHeaders | undefined
}

/** Events of one pattern that are stored together or not at all, in their order. */
export interface EntryBatch {
  readonly pattern: string
  readonly events: readonly EntryContent[]
  /** The keys that remember that the events are stored: one for each event, or one for all. */
  readonly known: readonly string[]
  /** Such keys that are not needed any more. */
  readonly settled: readonly string[]
  /** Milliseconds for which the keys are remembered. */
  readonly duplicateWindow: number
  /** Milliseconds for which events are kept; 0: for ever. */
  readonly maxAge: number
  /**
   * The text that replaces the last brace of each packet, which is then published on the channel of the pattern; empty:
   * nothing is published.
   */
  readonly ending: string
  /** Replicas that should have the events before `append` resolves. */
  readonly copies: number
}

/** The position of an event that is stored now (0), or was before (1), or is not kept because its time has passed (2). */
export type Stored = readonly [position: string, wasThere: number]
/** The time of an event has passed that was to be kept until then. */
export const PASSED = 2

/** The outcome of a batch. */
export interface Appended {
  /** For each key of the batch, the position of its (first) event; `undefined`: there is no stream. */
  readonly stored: readonly Stored[] | undefined
  /** The replicas that have the events. */
  readonly copies: number
}

/** A group in a stream. */
export interface GroupAbout {
  readonly name: string
  /** Events that were not delivered yet; `undefined`: the server does not know. */
  readonly lag: number | undefined
  /** Events that were delivered and are not done. */
  readonly pending: number
}

/** Facts about a server that decide whether it keeps what it stores; `undefined`: it does not tell. */
export interface ServerAbout {
  readonly version: string | undefined
  readonly maxmemoryPolicy: string | undefined
  readonly hasAppendOnlyFile: boolean | undefined
}

/** The time of an event: milliseconds since 1970, or, with a plus sign before it, from now on at the server. */
export type Time = `${number}` | `+${number}`

/** Events of one pattern that are stored when their time comes. */
export interface PlannedBatch
  extends Pick<EntryBatch, 'pattern' | 'known' | 'duplicateWindow' | 'maxAge' | 'copies'> {
  readonly events: readonly (EntryContent & { readonly time: Time })[]
}

/** An event that waits for its time. */
export interface Awaited {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly due: number
  readonly fields: readonly string[]
}

/** The events that wait for their time. `take` moves those that are due into the stream of their pattern. */
export interface Future {
  /** Keeps events until they are due, each id once. The position of one that waits is empty. */
  plan(batch: PlannedBatch): Promise<Appended>
  /** Deletes an event that waits. @returns whether it was there */
  cancel(pattern: string, id: string): Promise<boolean>
  /** An event that waits is due now. @returns whether it was there */
  hasten(pattern: string, id: string): Promise<boolean>
  /** Reads the events of a pattern that wait, the soonest first. @param behind the last one of the page before */
  awaited(pattern: string, behind: Awaited | undefined, count: number): Promise<readonly Awaited[]>
}

/** The streams of patterns, and the groups in them. */
export interface Streams {
  about(): Promise<ServerAbout>
  /** Milliseconds since 1970. */
  time(): Promise<number>
  /**
   * Creates the stream of a pattern if it is missing, and announces it on the channel `STREAMS`.
   * @param name the name of a new stream @returns the name of the stream
   */
  ensure(pattern: string, name: string): Promise<string>
  /**
   * Stores events, each once, and wakes who waits for events of the stream. The server may refuse the first batches of a
   * connection over which it was never asked to store events (`isUnprepared`), and takes them a moment later.
   */
  append(batch: EntryBatch): Promise<Appended>
  /** Deletes the events of a stream that are older than a number of milliseconds; 0: none. */
  trim(stream: string, maxAge: number): Promise<void>
  /** The names of all streams by their pattern. */
  patterns(): Promise<Readonly<Record<string, string>>>
  /** The number of events in a stream. @throws there is no such stream */
  length(stream: string): Promise<number>
  /** The last position that a stream has given. @throws there is no such stream */
  last(stream: string): Promise<string>
  /** @throws there is no such stream */
  groups(stream: string): Promise<readonly GroupAbout[]>
  /** Events that were deleted before a group got them, as far as the server has counted. */
  missed(stream: string, group: string): Promise<number>
  /** Milliseconds since each process of a group has asked for events. */
  idle(stream: string, group: string): Promise<readonly number[]>
  /**
   * Reads the events that a group has not handled, in the order of the stream. Of those that were given back, only the
   * 1,000 that are due first are looked at.
   * @param begin where the group begins if it is not in the stream yet
   * @param behind the last place of the page before, or `0-0` @throws there is no such stream
   */
  undone(
    stream: string,
    group: string,
    begin: string,
    behind: string,
    count: number
  ): Promise<readonly Undone[]>
  /** Creates a group behind a position, and the stream if it is missing. @returns whether the group was missing */
  join(stream: string, group: string, from: string): Promise<boolean>
  /** The fields of all durable handlers. */
  handlers(): Promise<readonly string[]>
  /** The record of a durable handler; `null`: there is none. */
  handler(field: string): Promise<string | null>
  /** Stores the record of a handler, unless it is new and there is one. @returns whether the record is new */
  keepHandler(field: string, record: string, isNew: boolean): Promise<boolean>
  pause(group: string, isPaused: boolean): Promise<void>
}

/** An event of a stream that a group has not handled. */
export interface Undone {
  readonly place: string
  /** `undefined`: the event is deleted. */
  readonly fields: readonly string[] | undefined
  /** Number of runs that have begun. */
  readonly attempts: number
  /** Whether a process has it. */
  readonly isTaken: boolean
  /** When it is due again, in milliseconds since 1970; `undefined`: it was not given back. */
  readonly due: number | undefined
}

/** A process of a group that reads one stream. */
export interface Reader {
  readonly stream: string
  readonly group: string
  readonly process: string
  /** Milliseconds after which another process may take over an event of which nothing is heard. */
  readonly ackWait: number
  /** Whether the stream has redriven events, of which none waits for its time. */
  readonly isAgain?: boolean | undefined
  /** The key of the process that handles the events; only for ordered handlers. */
  readonly turn?: string | undefined
}

/** An event or a dead letter in a stream. */
export type Entry = readonly [position: string, fields: readonly string[]]

/** An event that was taken. */
export type Taken = readonly [place: string, fields: readonly string[], attempt: number | string]

/** How far a group is in a stream. */
export interface Standing {
  /** The position of the last event, if all are done; otherwise empty. */
  readonly done: string
  /** The position of the first event that is not done; empty: there is none, or too many pause to look for it. */
  readonly first: string
  /** The number of events that were delivered and are not done. */
  readonly undone: number
  /** Milliseconds until there is more, of events whose time comes, too, or until the turn of another process ends; -1: unknown. */
  readonly more: number
}

/** An answer to a process that wants events. */
export type Take =
  | { readonly state: 'paused' }
  | { readonly state: 'other'; readonly standing: Standing }
  | {
      readonly state: 'ok'
      /** Whether the turn of this process begins. */
      readonly isNew: boolean
      readonly entries: readonly Taken[]
      readonly standing: Standing
      /** Why the server has not stored an event whose time has come; empty: it has stored all. */
      readonly refusal: string
    }

/** How a process of a group gets events, and says what became of them. */
export interface Reading {
  /**
   * Takes events: those that are due again, those that other processes have left, and then new ones, also those whose
   * time has come. If there are too few, the process is woken on the channel `wakeOf(stream)`.
   * @param isAll whether to look also for events that other processes have left, or, for an ordered handler, to take
   * all events that are not done
   */
  take(reader: Reader, room: number, isAll: boolean): Promise<Take>
  /** Takes new events only, for which nobody is woken. @returns also whether the group is paused: then they go back */
  takeNew(reader: Reader, room: number): Promise<{ entries: readonly Entry[]; isPaused: boolean }>
  /** Extends the leases of events, and the turn. @returns the events that no longer belong to the process */
  keep(reader: Reader, places: readonly string[]): Promise<readonly string[]>
  /** Events are done. @param isRemoved whether they are deleted */
  acknowledge(reader: Reader, places: readonly string[], isRemoved: boolean): Promise<void>
  /** Gives events back, and wakes who waits. Events that belong to another process by now are left to it. */
  giveBack(reader: Reader, events: readonly GivenBack[]): Promise<void>
  /**
   * Makes an event a dead letter of its group, unless another process has handled it.
   * @param isOnlyHere whether the stream is gone, so that only this process has the event
   */
  bury(reader: Reader, place: string, isOnlyHere: boolean, letter: readonly string[]): Promise<void>
  /** Removes a process from its group, unless it has events, and ends its turn. */
  leave(reader: Reader): Promise<void>
  /** Tells that a process is there. @throws one of the streams, or the group in it, does not exist */
  present(process: string, group: string, streams: readonly string[]): Promise<void>
}

/** An event that goes back to its group. */
export interface GivenBack {
  readonly place: string
  /** Milliseconds until it may be taken again. */
  readonly delay: number
  /** The number of its next attempt. */
  readonly attempt: number
}

/** The dead letters of groups. */
export interface Letters {
  /** Reads dead letters in order. @param from `-`: all; `(` and a position: those behind it; a position: this one only */
  letters(group: string, from: string, count: number): Promise<readonly Entry[]>
  /** Gives a dead letter back to a stream of redriven events. @returns whether it was there */
  redrive(group: string, position: string, stream: string): Promise<boolean>
  /** Deletes a dead letter. @returns whether it was there */
  discard(group: string, position: string): Promise<boolean>
}

/** Whether an error of `append` says that the server did not know such commands, and is only now ready for them. */
export function isUnprepared(error: unknown): boolean {
  return /^NOSCRIPT/.test((error as Error).message)
}
