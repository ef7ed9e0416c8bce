/**
 * Finds groups in streams that no process uses any more: those of a service that was renamed, or of a handler that was
 * removed. Redis keeps their events, and nobody else would say so.
 */
import { type Logger, routeMatches } from '@elysia-microservices/transport/kit'
import type { GroupAbout, Streams } from '../driver.ts'
import { GROUPS, handlerOf, readHandler, streamOf } from '../words/keys.ts'

/**
 * Milliseconds after which a process that has not asked for events counts as gone: a running one asks every five
 * seconds.
 */
const GONE_AFTER = 60_000

/** A durable handler of this service. */
export interface HandlerOfService {
  readonly group: string
  readonly pattern: string
}

/** The part of the store that is asked. */
type Asked = Pick<Streams, 'handlers' | 'patterns' | 'groups' | 'idle'>

/** Looks for unused groups over one connection. */
export class LeftBehind {
  readonly #store: Asked
  readonly #logger: Logger

  constructor(store: Asked, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  /**
   * Logs the unused groups of a stream whose events wait, because a new group of the stream may have been meant to do
   * their work.
   * @param getsAll whether the new group gets all events that are stored
   */
  async sayOfStream(pattern: string, group: string, getsAll: boolean): Promise<void> {
    for (const { name } of await this.#groupsOf(pattern)) {
      if (name === group) continue
      const left = await this.#leftIn(pattern, name)
      if (left === undefined || left === 0) continue
      const missed = getsAll ? '' : `; the group '${group}' is new and does not get them`
      this.#logger.warn(
        `${waiting(left, pattern)} for the group '${name}', which no process handles at the moment${missed}. If a service was renamed, give its handler durable.group '${name}'. ${remedy(name, pattern, pattern)}`
      )
    }
  }

  /** Logs what the groups of this service have handled in the past, and no process handles now. */
  async sayOfGroups(handlers: readonly HandlerOfService[]): Promise<void> {
    const fields = await this.#ask(() => this.#store.handlers(), [])
    for (const { group, pattern } of fields.map(readHandler)) {
      const ours = handlers.filter((one) => one.group === group)
      if (ours.length === 0 || ours.some((one) => one.pattern === pattern)) continue
      for (const stored of await this.#storedFor(pattern)) {
        // Another handler of the group gets the events of the stream.
        if (ours.some((one) => routeMatches(one.pattern, stored))) continue
        const left = await this.#leftIn(stored, group)
        if (left === undefined) continue
        this.#logger.warn(
          `The group '${group}' handled '${pattern}' until now, and no process does any more: ${waiting(left, stored)} for it, and further ones will. ${remedy(group, stored, pattern)}`
        )
      }
    }
  }

  /** The stored patterns that a pattern of a handler matches. */
  async #storedFor(pattern: string): Promise<readonly string[]> {
    const all = await this.#ask(async () => Object.keys(await this.#store.patterns()), [pattern])
    return all.filter((stored) => routeMatches(pattern, stored))
  }

  #groupsOf(pattern: string): Promise<readonly GroupAbout[]> {
    return this.#ask(() => this.#store.groups(streamOf(pattern)), [])
  }

  /** The number of events that wait for a group; `undefined`: a process uses the group, or there is no such group. */
  async #leftIn(pattern: string, group: string): Promise<number | undefined> {
    const idle = await this.#ask(() => this.#store.idle(streamOf(pattern), group), [])
    if (idle.some((milliseconds) => milliseconds < GONE_AFTER)) return undefined
    const about = (await this.#groupsOf(pattern)).find(({ name }) => name === group)
    if (about === undefined) return undefined
    return (about.lag ?? 0) + about.pending
  }

  /** Asks the server. Without the right to ask, or without a stream, there is nothing to say. */
  async #ask<Answer>(command: () => Promise<Answer>, otherwise: Answer): Promise<Answer> {
    try {
      return await command()
    } catch (error) {
      if ((error as Error).name !== 'ReplyError') throw error
      return otherwise
    }
  }
}

function waiting(count: number, pattern: string): string {
  return count === 1 ? `1 event '${pattern}' waits` : `${count} events '${pattern}' wait`
}

function remedy(group: string, stored: string, pattern: string): string {
  const destroy = `redis-cli XGROUP DESTROY ${quoted(streamOf(stored))} ${quoted(group)}`
  const forget = `redis-cli HDEL ${quoted(GROUPS)} ${quoted(handlerOf(group, pattern))}`
  return `If nobody needs the group any more, remove it: ${destroy}; ${forget}`
}

/** A word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
