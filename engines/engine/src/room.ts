/**
 * A window of bytes in transit to the server. A driver buffers everything that a server does not take; so a stream
 * waits for room in this window instead, and streams take turns.
 */
import type { Sender } from './carrier.ts'

/** Bytes in transit from which on streams wait. */
const WINDOW = 1024 * 1024
/**
 * Milliseconds until the server is asked again after it was lost: `confirm` may fail before the driver reports the
 * loss.
 */
const ASK_AGAIN_AFTER = 20

/** The room for bytes of one connection. */
export class Room {
  readonly #confirm: () => Promise<unknown>
  readonly #isConnected: () => boolean
  readonly #window: number
  #published = 0
  #arrived = 0
  #isAsking = false
  #senders = new Set<Sender>()

  /**
   * @param confirm resolves when the server has received every published byte
   * @param window bytes; default: 1 MiB
   */
  constructor(confirm: () => Promise<unknown>, isConnected: () => boolean, window = WINDOW) {
    this.#confirm = confirm
    this.#isConnected = isConnected
    this.#window = window
  }

  /** Bytes that were published and are not confirmed yet. */
  get onItsWay(): number {
    return this.#published - this.#arrived
  }

  /** Whether a confirmation is awaited. */
  get isAsking(): boolean {
    return this.#isAsking
  }

  /** Counts bytes that were published. */
  use(size: number): void {
    this.#published += size
    if (!this.#isAsking && this.#published - this.#arrived >= this.#window / 4) void this.#ask()
  }

  /** Returns whether a stream may send more. If not, `resume` of the sender is called later. */
  hasRoomFor(sender: Sender): boolean {
    if (this.#hasRoom) return true
    this.#senders.add(sender)
    return false
  }

  /** Resumes senders as long as there is room. */
  resume(): void {
    const senders = this.#senders
    this.#senders = new Set()
    const unserved: Sender[] = []
    for (const sender of senders) {
      if (this.#hasRoom) sender.resume()
      else unserved.push(sender)
    }
    // The senders that got no room are first the next time: otherwise a stream that always has values would take all
    // the room.
    if (unserved.length > 0) this.#senders = new Set([...unserved, ...this.#senders])
  }

  get #hasRoom(): boolean {
    return this.#isConnected() && this.#published - this.#arrived < this.#window
  }

  /** Asks the server to confirm published bytes, until only few are in transit. The server answers in order. */
  async #ask(): Promise<void> {
    this.#isAsking = true
    while (this.#published - this.#arrived >= this.#window / 4) {
      const published = this.#published
      try {
        await this.#confirm()
      } catch {
        // The server is lost, and with it the bytes in transit.
        await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_AFTER))
      }
      this.#arrived = published
      this.resume()
    }
    this.#isAsking = false
  }
}
