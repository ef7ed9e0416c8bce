/**
 * A window of bytes on their way to the server. Drivers keep everything that a server does not take; streams wait
 * here instead, and take turns.
 */
import type { Sender } from './carrier.ts'

/** Bytes on their way from which streams wait. */
const WINDOW = 1024 * 1024
/** Milliseconds until the server is asked again after it was lost: the loss may be known before the driver says so. */
const ASK_AGAIN_AFTER = 20

/** The room of one connection. */
export class Room {
  readonly #confirm: () => Promise<unknown>
  readonly #isConnected: () => boolean
  readonly #window: number
  #published = 0
  #arrived = 0
  #isAsking = false
  #senders = new Set<Sender>()

  /**
   * @param confirm resolves when the server has everything that was published
   * @param window bytes; default: 1 MiB
   */
  constructor(confirm: () => Promise<unknown>, isConnected: () => boolean, window = WINDOW) {
    this.#confirm = confirm
    this.#isConnected = isConnected
    this.#window = window
  }

  /** Bytes that were published, and of which it is not known that they have arrived. */
  get onItsWay(): number {
    return this.#published - this.#arrived
  }

  /** It waits to hear of them. */
  get isAsking(): boolean {
    return this.#isAsking
  }

  /** Bytes were published. */
  use(size: number): void {
    this.#published += size
    if (!this.#isAsking && this.#published - this.#arrived >= this.#window / 4) void this.#ask()
  }

  /** Whether a stream may send more. If not, the sender is called when it may. */
  hasRoomFor(sender: Sender): boolean {
    if (this.#hasRoom) return true
    this.#senders.add(sender)
    return false
  }

  /** Lets senders go on as far as there is room. */
  resume(): void {
    const senders = this.#senders
    this.#senders = new Set()
    const unserved: Sender[] = []
    for (const sender of senders) {
      if (this.#hasRoom) sender.resume()
      else unserved.push(sender)
    }
    // They go first the next time: otherwise a stream that always has values would take all the room.
    if (unserved.length > 0) this.#senders = new Set([...unserved, ...this.#senders])
  }

  get #hasRoom(): boolean {
    return this.#isConnected() && this.#published - this.#arrived < this.#window
  }

  /** Asks the server whether it has what was published, until little is on its way. It answers in order. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#published - this.#arrived >= this.#window / 4) {
      const published = this.#published
      try {
        await this.#confirm()
      } catch {
        // The server is lost, and with it what was on its way to it.
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_AFTER))
      }
      this.#arrived = published
      this.resume()
    }
    this.#isAsking = false
  }
}
