/** The events that a group has not handled, read from the streams. */
import { inPages, merged, patternOf, readableContentOf, unknownGroup } from '@elysia-microservices/engine'
import { type BacklogEvent, type ListBacklogOptions, routeMatches } from '@elysia-microservices/transport/kit'
import type { DriverStore, Undone } from '../driver.ts'
import { againOf, comparePositions, readHandler, streamOf } from '../words/keys.ts'
import { readableError } from './errors.ts'
import { RedisEvent, type Source } from './event.ts'

interface Found {
  readonly source: Source
  readonly undone: Undone
}

/** Lists the events of a group, the oldest first. @throws {OptionError} there is no such group */
export async function* backlogOf(
  store: DriverStore,
  group: string,
  { limit = Number.POSITIVE_INFINITY }: ListBacklogOptions
): AsyncGenerator<BacklogEvent> {
  const now = await store.time()
  const lists = (await placesOf(store, group)).map((source) => undoneIn(store, group, source))
  let left = limit
  for await (const { source, undone } of merged(lists, (one, other) =>
    comparePositions(one.undone.place, other.undone.place)
  )) {
    // It is handled, or deleted, by now.
    if (undone.fields === undefined) continue
    if (left-- <= 0) return
    yield shown(source, undone, undone.fields, now)
  }
}

/** A stream from which handlers of a group get events. */
interface Place extends Source {
  /** The field of the handler. */
  readonly handler: string
}

async function placesOf(store: DriverStore, group: string): Promise<Place[]> {
  const handlers = (await store.handlers()).filter((field) => readHandler(field).group === group)
  if (handlers.length === 0) throw unknownGroup(group, 'on this Redis server')
  const stored = Object.keys(await store.patterns())
  const places = handlers.flatMap((handler) => {
    const { pattern } = readHandler(handler)
    const streams = stored.filter((one) => routeMatches(pattern, one))
    return [
      ...streams.map((one) => ({ pattern: one, stream: streamOf(one), isAgain: false, handler })),
      { pattern, stream: againOf(group, pattern), isAgain: true, handler }
    ]
  })
  // Two handlers of a group may get events from one stream.
  return [...new Map(places.map((place) => [place.stream, place])).values()]
}

async function* undoneIn(store: DriverStore, group: string, source: Place): AsyncGenerator<Found> {
  const { stream, isAgain, handler } = source
  const begin = isAgain ? '0-0' : beginOf(await store.handler(handler))
  const read = async (behind: Undone | undefined, most: number) => {
    try {
      return await store.undone(stream, group, begin, behind?.place ?? '0-0', most)
    } catch (error) {
      // Nothing was redriven to the group yet, or the stream is gone.
      if (/^ERR no such key/.test((error as Error).message)) return []
      throw readableError(error, `the group '${group}'`)
    }
  }
  for await (const undone of inPages(undefined, read)) yield { source, undone }
}

/** Where a group begins in streams that are made while no process of it runs. */
function beginOf(record: string | null): string {
  const { from } = JSON.parse(record ?? '{}') as { readonly from?: string }
  return from ?? '0-0'
}

function shown(source: Source, undone: Undone, entry: readonly string[], now: number): BacklogEvent {
  const { place, due, attempts } = undone
  const event = new RedisEvent(source, place, entry, 0, 0)
  const { position, id, key, headers = {}, publishedAt } = event
  const content = readableContentOf(event.fields.packet ?? '')
  const isPausing = due !== undefined && due > now
  return {
    position,
    pattern: patternOf(content.pattern, event.pattern),
    ...{ id, key, headers, attempts },
    data: content.data,
    publishedAt: new Date(publishedAt),
    state: isPausing ? 'pausing' : undone.isTaken ? 'running' : 'waiting',
    dueAt: isPausing ? new Date(due) : undefined
  }
}
