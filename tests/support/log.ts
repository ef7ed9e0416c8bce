/** A log that keeps its lines for the test. */
import type { Logger } from 'elysia-microservices'

/** Lines of a log, and the wait for one of them. */
export class Log {
  readonly lines: string[] = []
  #waiting: (() => void)[] = []

  /** One line of several parts; of errors their messages. */
  add(...parts: unknown[]): void {
    this.lines.push(parts.map((part) => (part instanceof Error ? part.message : String(part))).join(' '))
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  /** Forgets all lines. */
  clear(): void {
    this.lines.length = 0
  }

  /** Waits until a line holds the text. */
  async has(text: string): Promise<void> {
    while (!this.lines.some((line) => line.includes(text))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** A logger that writes here, errors and warnings alike. */
  get logger(): Logger {
    return {
      error: (message, cause) => this.add(message, cause ?? ''),
      warn: (message, cause) => this.add(message, cause ?? '')
    }
  }
}
