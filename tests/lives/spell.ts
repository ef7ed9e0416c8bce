/** Faults that last for a time. Where several of one kind overlap, it ends with the last one. */
import type { Carrier } from './carrier.ts'
import type { World } from './world.ts'

type Time = Pick<World, 'after'>

class Spell {
  readonly #world: Time
  readonly #begin: () => void
  readonly #end: () => void
  #now = 0

  constructor(world: Time, begin: () => void, end: () => void) {
    this.#world = world
    this.#begin = begin
    this.#end = end
  }

  get isOn(): boolean {
    return this.#now > 0
  }

  lasts(milliseconds: number): void {
    if (this.#now++ === 0) this.#begin()
    this.#world.after(milliseconds, () => {
      if (--this.#now === 0) this.#end()
    })
  }
}

/** Times in which the server of an engine is away, stands still, or loses messages. */
export type Spells = Readonly<Record<'away' | 'still' | 'mute', Spell>>

export function spellsOf(world: Time, carrier: Carrier): Spells {
  const spell = (begin: () => void, end: () => void) => new Spell(world, begin, end)
  return {
    away: spell(
      () => carrier.stop?.(),
      () => carrier.start?.()
    ),
    still: spell(
      () => carrier.suspend?.(),
      () => carrier.resume?.()
    ),
    mute: spell(
      () => carrier.mute?.(true),
      () => carrier.mute?.(false)
    )
  }
}
