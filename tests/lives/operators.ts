/** The acts of operators, each with a client of its own. */
import type { DeadLetter, DeadLetters } from '@elysia-microservices/transport'
import type { UntypedStoringClient } from 'elysia-microservices/client'
import { FAILED, type Payload } from './handlers.ts'
import type { Ledger } from './ledger.ts'
import { wait } from './world.ts'

export class Operators {
  readonly #newClient: () => UntypedStoringClient
  readonly #ledger: Ledger
  /** Whether a dead letter that two give back at the same time may run twice. */
  readonly #isOneByOne: boolean
  #last: Promise<void> = Promise.resolve()

  constructor(newClient: () => UntypedStoringClient, ledger: Ledger, isOneByOne: boolean) {
    this.#isOneByOne = isOneByOne
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
  redrive(): Promise<void> {
    if (!this.#isOneByOne) return this.#redriveAll()
    this.#last = this.#last.then(() => this.#redriveAll())
    return this.#last
  }

  async #redriveAll(): Promise<void> {
    for (const group of this.#ledger.groups) await this.#redrive(group)
  }

  async #redrive(group: string): Promise<void> {
    const client = this.#newClient()
    const letters = client.group(group).deadLetters
    try {
      await this.#limited(letters)
      for await (const letter of letters.list()) {
        this.#auditLetter(group, letter)
        this.#ledger.givesBack(group, (letter.data as Payload).id)
        await letters.redrive(letter.position)
      }
    } catch (error) {
      this.#ledger.note(`redrive: ${(error as Error).name}`)
    }
    await client.close()
  }

  /** A list with a limit has no more dead letters than that, and is empty only if there are none. */
  async #limited(letters: DeadLetters): Promise<void> {
    const positionsOf = async (limit: number) => {
      const positions: string[] = []
      for await (const { position } of letters.list({ limit })) positions.push(position)
      return positions
    }
    const before = await positionsOf(1)
    const after = await positionsOf(2)
    if (before.length > 1 || after.length > 2)
      this.#ledger.breaks('more dead letters were listed than asked for')
    const [first] = before
    const isStillThere = first !== undefined && (await letters.get(first)) !== undefined
    if (after.length === 0 && isStillThere) this.#ledger.breaks('a dead letter was not listed')
    const [one] = after
    if (before.length === 0 && one !== undefined && (await positionsOf(1)).length === 0)
      if ((await letters.get(one)) !== undefined) this.#ledger.breaks('of two dead letters, none was listed')
  }

  /** A dead letter is the event that was published, and says how it failed. */
  #auditLetter(group: string, letter: DeadLetter): void {
    const { id } = letter.data as Payload
    // The handlers of the test always begin one.
    if (letter.reason.includes('ended without its transaction'))
      this.#ledger.breaks(`${id} is a dead letter of ${group}, whose handler never had it`)
    const kept = this.#ledger.published.get(id)
    if (kept === undefined) return
    const { what } = kept
    if (!kept.begun.has(group)) this.#ledger.breaks(`${what} is a dead letter and was never handled`)
    if (letter.group !== group) this.#ledger.breaks(`${what} of ${group} is a dead letter of ${letter.group}`)
    if (letter.key !== kept.key) this.#ledger.breaks(`${what} is a dead letter with the key ${letter.key}`)
    if (letter.pattern !== 'kept' && letter.pattern !== 'filed')
      this.#ledger.breaks(`${what} is a dead letter of the pattern ${letter.pattern}`)
    if (letter.headers?.['own'] !== (letter.data as Payload).id)
      this.#ledger.breaks(`${what} is a dead letter with the headers ${JSON.stringify(letter.headers)}`)
    if (letter.attempts < 1) this.#ledger.breaks(`${what} is a dead letter after ${letter.attempts} attempts`)
    const hasFailed = (letter.data as Payload).failing !== 'error' || letter.reason.includes(FAILED)
    if (!hasFailed && !this.#ledger.mayFail(kept))
      this.#ledger.breaks(`${what} is a dead letter because of "${letter.reason}"`)
  }

  /** In peace nothing waits in the backlog of a group, but for the next event that recurs. */
  async auditBacklog(): Promise<void> {
    const client = this.#newClient()
    for (const name of this.#ledger.groups) {
      for await (const { pattern, state, data } of client.group(name).backlog({ limit: 3 }))
        if (pattern !== 'recurring')
          this.#ledger.breaks(`in peace, ${(data as Payload).id} of '${pattern}' is ${state} in ${name}`)
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
