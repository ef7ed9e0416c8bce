/** Passes the lines that a program writes to the tracer of `dev`. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal's own
const COLOUR = /\u001b\[[\d;]*m/g

/**
 * Passes each line that is written within a span to the tracer: lines of the console, and lines that are written to
 * the output directly, as Nest's logger does.
 */
export function watchOutput(write: (level: string, text: string) => void): void {
  let isConsole = false
  for (const [level, stream] of [
    ['log', process.stdout],
    ['error', process.stderr]
  ] as const) {
    const original = stream.write
    stream.write = function (this: typeof stream, ...args: unknown[]) {
      const [chunk] = args
      if (!isConsole && typeof chunk === 'string') write(level, chunk.replace(COLOUR, '').trimEnd())
      return Reflect.apply(original, this, args)
    } as typeof original
  }
  for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const) {
    const original = console[level]
    console[level] = (...args: unknown[]) => {
      isConsole = true
      try {
        original.apply(console, args)
      } finally {
        isConsole = false
      }
      write(level, args.map((each) => (each instanceof Error ? each.message : shown(each))).join(' '))
    }
  }
}

/** A value as it is shown in a line. */
export function shown(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    return JSON.stringify(value)
  } catch {
    return Object.prototype.toString.call(value)
  }
}
