/** The streams, groups and dead letters of a server, by ioredis and the scripts. */
import type { Redis } from 'ioredis'
import {
  type Appended,
  type Awaited,
  type DriverStore,
  type Entry,
  type EntryBatch,
  type GivenBack,
  type GroupAbout,
  isUnprepared,
  type PlannedBatch,
  type Reader,
  type ServerAbout,
  type Standing,
  type Stored,
  type Take,
  type Taken,
  type Undone
} from '../driver.ts'
import { fieldsOf, headersToJson } from '../words/frames.ts'
import {
  awaitedOf,
  comparePositions,
  deadOf,
  futureOf,
  GROUPS,
  idOf,
  laterOf,
  patternIn,
  pausedOf,
  STREAMS,
  streamOf,
  wakeOf
} from '../words/keys.ts'
import { AWAITED, CANCEL, HASTEN, PLAN } from './future-scripts.ts'
import { run } from './lua.ts'
import { APPEND, BURY, ENSURE, GIVE_BACK, KEEP, LEAVE, REDRIVE, TAKE, TRIM } from './scripts.ts'

/** Milliseconds within which the replicas must confirm; afterwards the events are sent again. */
const COPIED_WITHIN = 1_000
/** Most events that were given back among which `undone` looks. */
const MOST_GIVEN_BACK = 1_000
/**
 * A position above all events: XREADGROUP then reads nothing, and fails if the stream or the group does not exist. It
 * also tells other processes that this process is there.
 */
const BEHIND_ALL = '18446744073709551615-0'

/** The connections that are used. */
interface Connections {
  readonly commands: Redis
  /** The connection for commands that store events: the one for all commands, or a separate one. */
  readonly storing: Redis
  /** Whether subscribers may be at other servers. */
  readonly isCluster: boolean
}

/** How far a group is, in the answer of `TAKE`. */
type RawStanding = [done: string, first: string, undone: number, more: number]

export class IoredisStore implements DriverStore {
  readonly #over: Connections
  /** Events are stored over these connections. */
  #isStoring = false

  constructor(over: Connections) {
    this.#over = over
  }

  get #commands(): Redis {
    return this.#over.commands
  }

  /**
   * Lets a server that is connected again learn the script that stores events, if events are stored here: it may have been
   * started again, or be another one. Otherwise it would refuse a batch, and could take the batch behind it, because
   * another client has told it the script meanwhile. Refusals are left to the batches. @throws the server is lost
   */
  async prepare(): Promise<void> {
    if (!this.#isStoring) return
    try {
      await this.#over.storing.script('LOAD', APPEND.text)
    } catch (error) {
      if ((error as Error).name !== 'ReplyError') throw error
    }
  }

  // ── streams and groups ───────────────────────────────────────────────────────────────────────────────

  async about(): Promise<ServerAbout> {
    const about = String(await this.#commands.info())
    const said = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(about)?.[1]
    const aof = said('aof_enabled')
    return {
      version: said('redis_version'),
      maxmemoryPolicy: said('maxmemory_policy'),
      hasAppendOnlyFile: aof === undefined ? undefined : !aof.startsWith('0')
    }
  }

  async time(): Promise<number> {
    const [seconds, microseconds] = await this.#commands.time()
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
  }

  async ensure(pattern: string, name: string): Promise<string> {
    this.#isStoring = true
    await this.#commands.script('LOAD', APPEND.text)
    return String(await run(this.#commands, ENSURE, [STREAMS, streamOf(pattern)], [pattern, name]))
  }

  async append(batch: EntryBatch): Promise<Appended> {
    const { pattern, events, known, settled, duplicateWindow, maxAge, ending, copies } = batch
    const stream = streamOf(pattern)
    const keys = [stream, wakeOf(stream), ...known, ...settled]
    const width = events.some(({ key, headers }) => key !== undefined || headers !== undefined) ? 4 : 2
    const args: (string | number)[] = [duplicateWindow, maxAge, pattern, ending]
    args.push(this.#over.isCluster ? 1 : 0, known.length, events.length, width)
    for (const { id, packet, key = '', headers } of events) {
      args.push(id, packet)
      if (width === 4) args.push(key, headers === undefined ? '' : headersToJson(headers))
    }
    const { storing } = this.#over
    this.#isStoring = true
    try {
      const stored = storing.evalsha(APPEND.sha, keys.length, ...keys, ...args)
      // WAIT counts the replicas that have all that this connection has stored.
      const [answer, counted] =
        copies === 0 ? [await stored, 0] : await Promise.all([stored, storing.wait(copies, COPIED_WITHIN)])
      return { stored: Array.isArray(answer) ? (answer as Stored[]) : undefined, copies: counted }
    } catch (error) {
      if (isUnprepared(error)) void this.#commands.script('LOAD', APPEND.text).catch(() => {})
      throw error
    }
  }

  async trim(stream: string, maxAge: number): Promise<void> {
    await run(this.#commands, TRIM, [stream], [maxAge])
  }

  patterns(): Promise<Record<string, string>> {
    return this.#commands.hgetall(STREAMS)
  }

  async length(stream: string): Promise<number> {
    return Number((await this.#about(stream))['length'])
  }

  async last(stream: string): Promise<string> {
    return String((await this.#about(stream))['last-generated-id'])
  }

  async #about(stream: string) {
    return fieldsIn((await this.#commands.call('XINFO', 'STREAM', stream)) as unknown[])
  }

  async groups(stream: string): Promise<GroupAbout[]> {
    const all = (await this.#commands.call('XINFO', 'GROUPS', stream)) as unknown[][]
    return all.map(fieldsIn).map(({ name, lag, pending }) => ({
      name: String(name),
      lag: typeof lag === 'number' ? lag : undefined,
      pending: Number(pending)
    }))
  }

  async undone(
    stream: string,
    group: string,
    begin: string,
    behind: string,
    count: number
  ): Promise<Undone[]> {
    const groups = (await this.#commands.call('XINFO', 'GROUPS', stream)) as unknown[][]
    const about = groups.map(fieldsIn).find(({ name }) => name === group)
    const delivered = String(about?.['last-delivered-id'] ?? begin)
    const known = about === undefined ? [] : await this.#known(stream, group, behind, count)
    const from = comparePositions(delivered, behind) > 0 ? delivered : behind
    const [fresh, ...found] = await Promise.all([
      this.#commands.xrange(stream, `(${from}`, '+', 'COUNT', count),
      ...known.map(({ place }) => this.#commands.xrange(stream, place, place))
    ])
    const all = known.map((one, n): Undone => ({ ...one, fields: found[n]?.[0]?.[1] }))
    const rest = fresh.map(
      ([place, fields]): Undone => ({ place, fields, attempts: 0, isTaken: false, due: undefined })
    )
    return [...all, ...rest].slice(0, count)
  }

  /** The events that were delivered to a group and are not done. */
  async #known(stream: string, group: string, behind: string, count: number) {
    const [taken, given] = await Promise.all([
      this.#commands.call('XPENDING', stream, group, `(${behind}`, '+', String(count)),
      this.#commands.zrange(laterOf(group, stream), 0, String(MOST_GIVEN_BACK - 1), 'WITHSCORES')
    ])
    const known: Omit<Undone, 'fields'>[] = [
      ...(taken as [string, string, number, number][]).map(([place, , , attempts]) => ({
        ...{ place, attempts, isTaken: true, due: undefined }
      })),
      ...givenBack(given).filter(({ place }) => comparePositions(place, behind) > 0)
    ]
    return known.sort((one, other) => comparePositions(one.place, other.place)).slice(0, count)
  }

  async missed(stream: string, group: string): Promise<number> {
    const [about, groups] = (await Promise.all([
      this.#commands.call('XINFO', 'STREAM', stream),
      this.#commands.call('XINFO', 'GROUPS', stream)
    ])) as [unknown[], unknown[][]]
    const { length, 'entries-added': added } = fieldsIn(about)
    const read = groups.map(fieldsIn).find(({ name }) => name === group)?.['entries-read']
    // The server does not know how many events a group has got that began somewhere in the stream.
    return typeof read === 'number' ? Math.max(0, Number(added) - Number(length) - read) : 0
  }

  async idle(stream: string, group: string): Promise<number[]> {
    const all = (await this.#commands.call('XINFO', 'CONSUMERS', stream, group)) as unknown[][]
    return all.map(fieldsIn).map(({ idle }) => Number(idle))
  }

  async join(stream: string, group: string, from: string): Promise<boolean> {
    try {
      await this.#commands.xgroup('CREATE', stream, group, from, 'MKSTREAM')
      return true
    } catch (error) {
      if (/^BUSYGROUP/.test((error as Error).message)) return false
      throw error
    }
  }

  handlers(): Promise<string[]> {
    return this.#commands.hkeys(GROUPS)
  }

  handler(field: string): Promise<string | null> {
    return this.#commands.hget(GROUPS, field)
  }

  async keepHandler(field: string, record: string, isNew: boolean): Promise<boolean> {
    const kept = isNew
      ? this.#commands.hsetnx(GROUPS, field, record)
      : this.#commands.hset(GROUPS, field, record)
    return (await kept) === 1
  }

  async pause(group: string, isPaused: boolean): Promise<void> {
    if (isPaused) await this.#commands.set(pausedOf(group), '1')
    else await this.#commands.del(pausedOf(group))
  }

  // ── reading ──────────────────────────────────────────────────────────────────────────────────────────

  async take(reader: Reader, room: number, isAll: boolean): Promise<Take> {
    const { stream, group, process, ackWait, isAgain, turn } = reader
    const pattern = patternIn(stream)
    const keys = [stream, pausedOf(group), laterOf(group, stream), wakeOf(stream)]
    if (!isAgain) keys.push(futureOf(pattern), awaitedOf(pattern))
    if (turn !== undefined) keys.push(turn)
    const args = [group, process, room, ackWait, isAll ? 1 : 0, idOf(pattern, '')]
    const answer = await run(this.#commands, TAKE, keys, args)
    const [state, ...rest] = answer as [string, ...unknown[]]
    if (state === 'paused') return { state }
    if (state === 'other') {
      const [pause, ...standing] = rest as [pause: number, ...RawStanding]
      return { state, standing: { ...standingOf(standing), more: pause } }
    }
    const [isNew, entries, refusal, ...standing] = rest as [number, Taken[], string, ...RawStanding]
    return { state: 'ok', isNew: isNew === 1, entries, refusal, standing: standingOf(standing) }
  }

  async takeNew({ stream, group, process }: Reader, room: number) {
    const [read, paused] = await Promise.all([
      this.#commands.xreadgroup(
        'GROUP',
        group,
        process,
        'COUNT',
        room,
        'STREAMS',
        stream,
        '>'
      ) as Promise<Read>,
      this.#commands.exists(pausedOf(group))
    ])
    return { entries: read?.[0]?.[1] ?? [], isPaused: paused === 1 }
  }

  async keep({ stream, group, process, ackWait, turn }: Reader, places: readonly string[]) {
    const keys = turn === undefined ? [stream] : [stream, turn]
    return (await run(this.#commands, KEEP, keys, [group, process, ackWait, ...places])) as string[]
  }

  async acknowledge({ stream, group }: Reader, places: readonly string[], isRemoved: boolean): Promise<void> {
    await Promise.all([
      this.#commands.xack(stream, group, ...places),
      isRemoved && this.#commands.xdel(stream, ...places)
    ])
  }

  async giveBack({ stream, group, process }: Reader, events: readonly GivenBack[]): Promise<void> {
    const args = events.flatMap(({ place, delay, attempt }) => [place, delay, attempt])
    const keys = [stream, laterOf(group, stream), wakeOf(stream)]
    await run(this.#commands, GIVE_BACK, keys, [group, process, ...args])
  }

  async bury(reader: Reader, place: string, isOnlyHere: boolean, letter: readonly string[]): Promise<void> {
    const { stream, group } = reader
    const args = [group, place, isOnlyHere ? 1 : 0, ...letter]
    await run(this.#commands, BURY, [stream, deadOf(group)], args)
  }

  async leave({ stream, group, process, turn }: Reader): Promise<void> {
    const keys = [stream, wakeOf(stream), ...(turn === undefined ? [] : [turn])]
    await run(this.#commands, LEAVE, keys, [group, process])
  }

  async present(process: string, group: string, streams: readonly string[]): Promise<void> {
    const ids = streams.map(() => BEHIND_ALL)
    await this.#commands.xreadgroup(
      ...(['GROUP', group, process, 'COUNT', 1, 'STREAMS', ...streams, ...ids] as unknown as [
        'GROUP',
        string,
        string,
        'STREAMS',
        ...string[]
      ])
    )
  }

  // ── events that wait ─────────────────────────────────────────────────────────────────────────────────

  async plan({ pattern, events, known, duplicateWindow, maxAge, copies }: PlannedBatch): Promise<Appended> {
    const stream = streamOf(pattern)
    const keys = [stream, wakeOf(stream), futureOf(pattern), awaitedOf(pattern), ...known]
    const args = events.flatMap((event) => [
      event.id,
      event.time,
      JSON.stringify([duplicateWindow, ...fieldsOf(event)])
    ])
    const { storing } = this.#over
    const answer = await run(storing, PLAN, keys, [idOf(pattern, ''), maxAge, ...args])
    const counted = copies === 0 ? 0 : await storing.wait(copies, COPIED_WITHIN)
    return { stored: Array.isArray(answer) ? (answer as Stored[]) : undefined, copies: counted }
  }

  async cancel(pattern: string, id: string): Promise<boolean> {
    const keys = [futureOf(pattern), awaitedOf(pattern), idOf(pattern, id)]
    return (await run(this.#commands, CANCEL, keys, [id])) === 1
  }

  async hasten(pattern: string, id: string): Promise<boolean> {
    const keys = [futureOf(pattern), wakeOf(streamOf(pattern))]
    return (await run(this.#commands, HASTEN, keys, [id])) === 1
  }

  async awaited(pattern: string, behind: Awaited | undefined, count: number): Promise<Awaited[]> {
    const keys = [futureOf(pattern), awaitedOf(pattern)]
    const args = [count, behind?.id ?? '', behind?.due ?? '']
    const page = (await run(this.#commands, AWAITED, keys, args)) as [string, string, string][]
    return page.map(([id, due, words]) => ({ id, due: Number(due), fields: JSON.parse(words).slice(1) }))
  }

  // ── dead letters ─────────────────────────────────────────────────────────────────────────────────────

  letters(group: string, from: string, count: number): Promise<Entry[]> {
    const isOne = from !== '-' && !from.startsWith('(')
    return this.#commands.xrange(deadOf(group), from, isOne ? from : '+', 'COUNT', count)
  }

  async redrive(group: string, position: string, stream: string): Promise<boolean> {
    return (await run(this.#commands, REDRIVE, [deadOf(group), stream, wakeOf(stream)], [position])) === 1
  }

  async discard(group: string, position: string): Promise<boolean> {
    return (await this.#commands.xdel(deadOf(group), position)) === 1
  }
}

/** New entries in the answer to XREADGROUP. */
type Read = [stream: string, entries: Entry[]][] | null

function standingOf([done, first, undone, more]: RawStanding): Standing {
  return { done, first, undone, more }
}

/** Reads members `<place>:<number of the next attempt>` with their scores. */
function givenBack(members: readonly string[]): Omit<Undone, 'fields'>[] {
  return members.flatMap((member, at) => {
    if (at % 2 === 1) return []
    const [place = '', attempt] = member.split(':')
    return [{ place, attempts: Number(attempt) - 1, isTaken: false, due: Number(members[at + 1]) }]
  })
}

/** Reads an answer of Redis that lists names and values alternately. */
function fieldsIn(list: readonly unknown[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(list.flatMap((name, at) => (at % 2 === 0 ? [[String(name), list[at + 1]]] : [])))
}
