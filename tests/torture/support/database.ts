/**
 * A database as handlers see it: a number of connections, each busy for some time with a query; other queries wait in
 * line.
 */
export class Database {
  readonly #milliseconds: number
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor({
    connections,
    milliseconds
  }: { readonly connections: number; readonly milliseconds: number }) {
    this.#free = connections
    this.#milliseconds = milliseconds
  }

  /** Waits for a free connection, and then for the time of a query. */
  query(): Promise<void> {
    return new Promise((resolve) => {
      const start = () => {
        setTimeout(() => {
          resolve()
          const next = this.#waiting.shift()
          if (next === undefined) this.#free++
          else next()
        }, this.#milliseconds)
      }
      if (this.#free === 0) this.#waiting.push(start)
      else {
        this.#free--
        start()
      }
    })
  }
}
