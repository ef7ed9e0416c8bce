/** A connection of one process in place of the link, which a test loses and restores: it waits for no timer. */
import type { Link, Part, PartOptions } from '../connection/link.ts'
import type { DriverChannel } from '../driver.ts'
import { FakeChannel } from './fake-channel.ts'
import type { FakeRabbitServer } from './fake-server.ts'

interface TestPart extends PartOptions {
  channel: FakeChannel | undefined
  readonly setUp: (channel: DriverChannel) => Promise<unknown>
}

export class TestLink {
  isConnected = true
  readonly #server: FakeRabbitServer
  readonly #parts = new Set<TestPart>()
  readonly #mine = new Set<FakeChannel>()

  constructor(server: FakeRabbitServer) {
    this.#server = server
  }

  get asLink(): Link {
    return this as unknown as Link
  }

  async open(setUp: TestPart['setUp'], options: PartOptions = {}): Promise<Part> {
    const part: TestPart = { ...options, setUp, channel: undefined }
    this.#parts.add(part)
    if (this.isConnected) await this.#setUp(part).catch(() => this.#again(part))
    return {
      get channel() {
        return part.channel
      },
      renew: async () => {
        await shut(part)
        if (this.isConnected) await this.#setUp(part).catch(() => this.#again(part))
      },
      replace: async () => {},
      remove: async () => {
        this.#parts.delete(part)
        await shut(part)
      }
    }
  }

  #newChannel(): FakeChannel {
    const channel = new FakeChannel(this.#server, this, true)
    this.#mine.add(channel)
    return channel
  }

  async #setUp(part: TestPart): Promise<void> {
    const channel = this.#newChannel()
    channel.whenClosed(() => {
      if (part.channel !== channel) return
      part.channel = undefined
      part.alone?.closed(channel.failure ?? new Error('closed without a reason'))
      this.#again(part)
    })
    await part.setUp(channel)
    part.channel = channel
  }

  async aside<Value>(task: (channel: DriverChannel) => Promise<Value>): Promise<Value> {
    if (!this.isConnected) throw new Error('There is no connection')
    const channel = this.#newChannel()
    return task(channel).finally(() => channel.close().catch(() => {}))
  }

  #again(part: TestPart): void {
    if (!this.isConnected || !this.#parts.has(part)) return
    this.#setUp(part).then(
      () => part.alone?.reopened(),
      () => this.#again(part)
    )
  }

  /** The server closes all channels of this connection, but not the connection. */
  closeChannels(): void {
    for (const channel of this.#mine) channel.lose(new Error('closed by the server'))
    this.#mine.clear()
  }

  lose(): void {
    this.isConnected = false
    for (const part of this.#parts) part.channel = undefined
    for (const channel of this.#mine) channel.lose(undefined)
    this.#mine.clear()
  }

  restore(): void {
    this.isConnected = true
    for (const part of this.#parts) this.#again(part)
  }
}

async function shut(part: TestPart): Promise<void> {
  const { channel } = part
  part.channel = undefined
  await channel?.close().catch(() => {})
}
