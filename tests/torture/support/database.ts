/** A database as handlers see it: so many connections, each busy for so long with a query; others wait in line. */
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

  /** Resolves when a connection was free, and then busy with it. */
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
