/** A log that keeps its lines for a test. */

/** A logger, as services and clients take it. */
export interface TestLogger {
  error(message: string, cause?: unknown): void
  warn(message: string, cause?: unknown): void
}

/** The lines of a log, with a function that waits for one of them. */
export class Log {
  readonly lines: string[] = []
  #waiting: (() => void)[] = []

  /** Adds a line with several parts; of an error, its message. */
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

  /** Waits until a line contains the text. */
  async has(text: string): Promise<void> {
    while (!this.lines.some((line) => line.includes(text))) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  /** A logger that writes its errors and warnings to this log. */
  get logger(): TestLogger {
    return {
      error: (message, cause) => this.add(message, cause ?? ''),
      warn: (message, cause) => this.add(message, cause ?? '')
    }
  }
}
