/** The streams of a Redis server inside the process, and the hands of operators and strangers, for tests. */
import type { Clock } from '@elysia-microservices/transport/kit'
import { streamOf, timeOf, wakeOf } from '../words/keys.ts'
import { type Group, type Kept, nothing, refusal, type Stream, shownEntry } from './fake-kept.ts'

export class FakeKeeping {
  protected readonly clock: Clock
  protected readonly publish: (channel: string, text: string) => number
  protected kept: Kept = nothing()

  constructor(clock: Clock, publish: (channel: string, text: string) => number) {
    this.clock = clock
    this.publish = publish
  }

  // ── by hand ──────────────────────────────────────────────────────────────────────────────────────────

  /** Deletes a group, its stream, or all. */
  destroy(stream?: string, group?: string): void {
    if (stream === undefined) this.kept = nothing()
    else if (group === undefined) this.kept.streams.delete(stream)
    else this.kept.streams.get(stream)?.groups.delete(group)
  }

  /** Remembers all that is kept. @returns a function with which the server has this again, as after a failover */
  remember(): () => void {
    const kept = structuredClone(this.kept)
    return () => {
      this.kept = kept
    }
  }

  /** The entries of a stream, with their fields as an object. */
  entries(stream: string): Readonly<Record<string, string>>[] {
    return [...(this.kept.streams.get(stream)?.entries ?? [])].map(shownEntry)
  }

  /** The number of events that were published before a time, in milliseconds since 1970. */
  storedBefore(time: number): number {
    const streams = [...this.kept.streams].filter(([name]) => name.startsWith(streamOf('')))
    const positions = streams.flatMap(([, { entries }]) => [...entries.keys()])
    return positions.filter((position) => timeOf(position) < time).length
  }

  /** Deletes events of a stream, as a stranger may. */
  shorten(stream: string, isOld: (position: string) => boolean): void {
    const { entries, deleted } = this.kept.streams.get(stream) ?? {}
    for (const position of [...(entries?.keys() ?? [])].filter(isOld)) {
      entries?.delete(position)
      deleted?.push(position)
    }
  }

  /** Stores an entry, as a stranger may. */
  write(stream: string, fields: readonly string[]): void {
    this.add(this.made(stream), fields)
    this.wake(stream)
  }

  // ── parts ────────────────────────────────────────────────────────────────────────────────────────────

  protected made(key: string): Stream {
    const known = this.kept.streams.get(key)
    if (known !== undefined) return known
    const made: Stream = { last: '0-0', deleted: [], entries: new Map(), groups: new Map() }
    this.kept.streams.set(key, made)
    return made
  }

  protected there(key: string): Stream {
    const stream = this.kept.streams.get(key)
    if (stream === undefined) throw refusal('ERR no such key')
    return stream
  }

  protected group(key: string, name: string): Group {
    const group = this.kept.streams.get(key)?.groups.get(name)
    if (group === undefined) throw refusal(`NOGROUP No such key '${key}' or consumer group '${name}'`)
    return group
  }

  protected holder(turn: string): { readonly process: string; until: number } | undefined {
    const holder = this.kept.turns.get(turn)
    return holder !== undefined && this.clock.now() < holder.until ? holder : undefined
  }

  protected add(stream: Stream, fields: readonly string[]): string {
    const [time = 0, number = 0] = stream.last.split('-').map(Number)
    const now = this.clock.now()
    stream.last = now > time ? `${now}-0` : `${time}-${number + 1}`
    stream.entries.set(stream.last, fields)
    return stream.last
  }

  protected wake(stream: string): void {
    if (this.kept.waiting.delete(stream)) this.publish(wakeOf(stream), '')
  }
}
