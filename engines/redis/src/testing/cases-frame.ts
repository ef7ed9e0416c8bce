/** A server for the cases of a driver, and the connections that a case opens. */
import type { Driver, DriverConnection, DriverListener } from '../driver.ts'
import { redisOptions } from '../options/options.ts'

/** A server for the cases. */
export interface ServerForCases {
  readonly driver: Driver
  readonly url: string
  /** Ends the server at once, and starts it again. What it has stored may be gone. */
  restart(): Promise<void>
  /** Lets time pass at the server. */
  pass(milliseconds: number): Promise<void>
}

/** Notes what happens to a connection. */
export class Recorded implements DriverListener {
  readonly said: string[] = []
  #changed: (() => void)[] = []

  message = (glob: string | undefined, channel: string, bytes: Buffer): void =>
    this.#note(`${glob === undefined ? '' : `${glob} `}${channel} ${bytes}`)

  lost = (): void => this.#note('lost')
  restored = (): void => this.#note('restored')
  refused = (): boolean => true

  /** Resolves when something has been said a number of times. */
  async until(words: string, times = 1): Promise<void> {
    while (this.said.filter((one) => one === words).length < times)
      await new Promise<void>((resolve) => this.#changed.push(resolve))
  }

  #note(words: string): void {
    this.said.push(words)
    for (const resolve of this.#changed.splice(0)) resolve()
  }
}

/** Opens connections, which are closed by `close`. */
export class Opened {
  readonly #open: () => Promise<ServerForCases>
  readonly #all: DriverConnection[] = []

  constructor(open: () => Promise<ServerForCases>) {
    this.#open = open
  }

  server(): Promise<ServerForCases> {
    return this.#open()
  }

  async connect({ driver, url }: ServerForCases): Promise<[DriverConnection, Recorded]> {
    const seen = new Recorded()
    const connection = await driver.open(redisOptions({ url }), undefined, seen)
    this.#all.push(connection)
    return [connection, seen]
  }

  readonly close = (): void => {
    for (const connection of this.#all.splice(0)) connection.close()
  }
}
