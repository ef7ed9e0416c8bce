/** A log in memory, for tests of its parts. */
import { type DurableOptions, durableSettings } from '@elysia-microservices/transport/kit'
import { driverOf } from '../connection/runtime.ts'
import type { Driver } from '../driver.ts'
import type { NewEvent, TakenEvent } from '../log/event.ts'
import { EventLog, type Keeping } from '../log/event-log.ts'
import { type Group, Groups, type Settled } from '../log/groups.ts'
import { Letters } from '../log/letters.ts'
import { migrate } from '../log/schema.ts'

/** The drivers that this runtime has: Bun has both. */
export const drivers: Readonly<Record<string, Driver>> = Object.fromEntries(
  (['bun:sqlite', 'node:sqlite'] as const).flatMap((name) => {
    const driver = driverOf(name)
    return driver === undefined ? [] : [[name, driver]]
  })
)

const KEEPING: Keeping = { maxAge: 0, maxBytes: 0, duplicateWindow: 1_000 }

let count = 0

/** An event to be stored; what is not given is made up. */
export function newEvent(given: Partial<NewEvent> = {}): NewEvent {
  const id = given.id ?? `id-${++count}`
  const rest = { isOwnId: given.id === undefined, key: undefined, headers: undefined, due: undefined }
  return { pattern: 'p', id, body: '{"data":1}', size: 10, ...rest, ...given }
}

/** The parts over one database, as an open file has them. */
export class OpenLog {
  readonly database: ReturnType<Driver>
  log: EventLog
  groups: Groups
  letters: Letters
  readonly #keeping: Keeping

  constructor(driver: Driver = Object.values(drivers)[0] as Driver, keeping: Partial<Keeping> = {}) {
    this.#keeping = { ...KEEPING, ...keeping }
    this.database = driver(':memory:')
    migrate(this.database, ':memory:')
    this.log = new EventLog(this.database, this.#keeping)
    this.groups = new Groups(this.database, this.log)
    this.letters = new Letters(this.database)
  }

  /** Reads again all that is kept in memory, as after the end of a process. */
  restart(): void {
    this.log = new EventLog(this.database, this.#keeping)
    this.groups = new Groups(this.database, this.log)
    this.letters = new Letters(this.database)
  }

  publish(now: number, ...events: readonly Partial<NewEvent>[]) {
    return this.log.append(events.map(newEvent), now)
  }

  join(name: string, pattern = 'p', options: DurableOptions = {}): Group {
    return this.groups.join(name, pattern, durableSettings(options))
  }

  take(group: Group, most = 100, now = 0, isBeginning = true): TakenEvent[] {
    return this.log.transactions.run('process', () => this.groups.take(group, most, now, isBeginning))
  }

  settle(group: Group, settled: Settled, now = 0): void {
    this.log.transactions.run('process', () => this.groups.settle(group, settled, now))
  }
}
