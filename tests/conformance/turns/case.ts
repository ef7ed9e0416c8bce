/** A case of the table, and how it is judged. */
import { until } from '@elysia-microservices/test-support'
import { Endless, Heartbeat, type Kind } from './sources.ts'

/** A source that never waits, and something that happens to it. */
export interface Case {
  readonly name: string
  /** Resolves when the case is over. Rejects if something was wrong. */
  run(): Promise<void>
}

/** Turns of the event loop in which a source would go on, if it did. */
const SOME_TURNS = 20

/** Watches one source of a case. */
export class Watched {
  readonly source: Endless
  readonly heart: Heartbeat

  constructor(kind: Kind) {
    this.source = new Endless(kind)
    this.heart = new Heartbeat(this.source)
  }

  /** The source is ended, and nobody asks it for another value. */
  async ends(): Promise<void> {
    await until('the source is ended', () => this.source.isEnded)
    await this.stands()
  }

  /** Nobody asks the source for another value. */
  async stands(): Promise<void> {
    let before = -1
    await until('the source stands still', async () => {
      before = this.source.made
      await this.heart.turns(SOME_TURNS)
      return this.source.made === before
    })
  }
}

function textOf(failure: unknown): string {
  return failure instanceof Error ? String(failure.stack) : String(failure)
}

/** Makes a case of a source. */
export function caseOf(name: string, kind: Kind, run: (watched: Watched) => Promise<void>): Case {
  return {
    name: `${kind}: ${name}`,
    async run() {
      const watched = new Watched(kind)
      const failures: unknown[] = []
      await run(watched).catch((error: unknown) => failures.push(error))
      await watched.heart.turns(SOME_TURNS)
      failures.push(...watched.heart.stop())
      if (failures.length > 0) throw new Error(failures.map(textOf).join('\n'))
    }
  }
}
