/** The acts of operators, each with a client of its own. */
import type { UntypedStoringClient } from 'elysia-microservices/client'
import type { Payload } from './handlers.ts'
import type { Ledger } from './ledger.ts'
import { wait } from './world.ts'

export class Operators {
  readonly #newClient: () => UntypedStoringClient
  readonly #ledger: Ledger

  constructor(newClient: () => UntypedStoringClient, ledger: Ledger) {
    this.#newClient = newClient
    this.#ledger = ledger
  }

  /** Pauses or resumes the group, again and again if the engine is away. */
  async pause(isPaused: boolean): Promise<void> {
    for (;;) {
      const client = this.#newClient()
      const group = client.group(this.#ledger.groups[0] as string)
      try {
        await (isPaused ? group.pause() : group.resume())
        return
      } catch (error) {
        this.#ledger.note(`${isPaused ? 'pause' : 'resume'}: ${(error as Error).message}`)
        await wait(500)
      } finally {
        await client.close()
      }
    }
  }

  /** Gives all dead letters back to their group; if the engine is away, another time will do. */
  async redrive(): Promise<void> {
    for (const group of this.#ledger.groups) await this.#redrive(group)
  }

  async #redrive(group: string): Promise<void> {
    const client = this.#newClient()
    const letters = client.group(group).deadLetters
    try {
      for await (const { data, position } of letters.list()) {
        const kept = this.#ledger.published.get((data as Payload).id)
        if (kept?.begun.has(group) === false)
          this.#ledger.breaks(`${kept.what} is a dead letter and was never handled`)
        await letters.redrive(position)
      }
    } catch (error) {
      this.#ledger.note(`redrive: ${(error as Error).name}`)
    }
    await client.close()
  }

  /** Deletes the events that wait for their time, such as the next ones that recur. */
  async cancelAll(): Promise<void> {
    const client = this.#newClient()
    for await (const { pattern, id } of client.waiting()) await client.cancel(pattern, id)
    await client.close()
  }
}
