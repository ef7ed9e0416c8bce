/**
 * Counts the calls of each caller to each pattern of a service. The ledger counts only while somebody reads it
 * regularly, such as an open page; otherwise it costs one comparison for each message.
 */
import {
  type CallerFigures,
  DESCRIBE_ROUTE,
  isStream,
  isThenable,
  type Middleware,
  PatternNotFoundError,
  type ReceivedMessage,
  type Source,
  tap
} from '@elysia-microservices/transport/kit'

/** Milliseconds after the last call of `read()` after which counting stops. */
const INTEREST = 10_000
/**
 * The largest number of callers that are counted by name, and of connections between two calls of `read()`. All
 * further ones are counted together.
 */
const MAX_CALLERS = 100
const MAX_SOURCES = 1_000
/** The largest number of pairs of caller and pattern. */
const MAX_LINES = 2_000

/** The source of messages with an unknown sender, because an engine has stored them. */
const NOBODY: Source = {}
const OTHERS: Source = {}
const NEST: Source = {}

interface Line {
  readonly kind: 'message' | 'event'
  readonly transport: string
  readonly pattern: string
  count: number
  errors: number
  ms: number
}

/** Counts the messages of one service. */
export class Ledger {
  /**
   * The counts since the last call of `read()`, by source. They are added to the callers' names only then, because
   * a name may arrive after the first messages.
   */
  readonly #recent = new Map<Source, Map<string, Line>>()
  /** The counts since the beginning. */
  readonly #all = new Map<string, CallerFigures>()
  #isOpen = false
  #closing: ReturnType<typeof setTimeout> | undefined

  readonly middleware: Middleware<ReceivedMessage> = (next) => (message) =>
    this.#isOpen ? this.#counted(next, message) : next(message)

  /** Returns the counts so far. Starts counting if it has stopped. */
  read(): readonly CallerFigures[] {
    this.#isOpen = true
    clearTimeout(this.#closing)
    this.#closing = setTimeout(() => {
      this.#isOpen = false
      this.#recent.clear()
    }, INTEREST)
    ;(this.#closing as { unref?(): void }).unref?.()
    for (const [source, lines] of this.#recent) for (const line of lines.values()) this.#add(source, line)
    this.#recent.clear()
    return [...this.#all.values()]
  }

  #counted(next: (message: ReceivedMessage) => unknown, message: ReceivedMessage): unknown {
    if (message.route?.startsWith(DESCRIBE_ROUTE) === true) return next(message)
    const begun = performance.now()
    // For a stream only the time until it begins is counted, because its lifetime depends on its reader.
    let streamed: number | undefined
    const ended = (hasFailed: boolean, isHandled = true) => {
      const line = this.#lineOf(message, isHandled)
      if (line === undefined) return
      line.count++
      if (hasFailed) line.errors++
      line.ms += (streamed ?? performance.now()) - begun
    }
    let result: unknown
    try {
      result = next(message)
    } catch (error) {
      ended(true, !(error instanceof PatternNotFoundError))
      throw error
    }
    if (typeof result === 'object' && result !== null && (isThenable(result) || isStream(result)))
      return tap(result, {
        isLeft: () => message.isAborted,
        streaming() {
          streamed = performance.now()
        },
        // A failure after the caller has left reaches nobody: often it says just that the input of a channel was cut.
        ended: ({ outcome }) => ended(outcome === 'failed' && !message.isAborted)
      })
    ended(false)
    return result
  }

  /**
   * @param isHandled `false` if the pattern has no handler. Such patterns are counted together, because a stranger
   * could send any number of them
   */
  #lineOf(message: ReceivedMessage, isHandled: boolean): Line | undefined {
    const source = sourceOf(message)
    let lines = this.#recent.get(source)
    if (lines === undefined) {
      const kept = this.#recent.size < MAX_SOURCES ? source : OTHERS
      lines = this.#recent.get(kept) ?? new Map()
      this.#recent.set(kept, lines)
    }
    const kind = message.kind === 'event' ? 'event' : 'message'
    const pattern = isHandled ? (message.matched ?? message.route ?? '') : ''
    const key = `${kind} ${pattern}`
    let line = lines.get(key)
    if (line === undefined) {
      if (lines.size >= MAX_LINES) return undefined
      line = { kind, transport: message.transport, pattern, count: 0, errors: 0, ms: 0 }
      lines.set(key, line)
    }
    return line
  }

  #add(source: Source, { kind, transport, pattern, count, errors, ms }: Line): void {
    const caller = this.#callerOf(source)
    const key = JSON.stringify([caller, kind, pattern, transport])
    const known = this.#all.get(key)
    if (known === undefined && this.#all.size >= MAX_LINES) return
    this.#all.set(key, {
      ...caller,
      kind,
      transport,
      pattern,
      count: (known?.count ?? 0) + count,
      errors: (known?.errors ?? 0) + errors,
      milliseconds: (known?.milliseconds ?? 0) + ms
    })
  }

  /** The names of callers that are counted by name. */
  readonly #names = new Set<string>()

  #callerOf(source: Source): Pick<CallerFigures, 'caller' | 'from'> {
    if (source === NEST) return { from: 'nest' }
    if (source === NOBODY) return { from: 'engine' }
    const { name } = source
    if (source === OTHERS) return { from: 'others' }
    if (name === undefined) return { from: 'unnamed' }
    if (this.#names.size >= MAX_CALLERS && !this.#names.has(name)) return { from: 'others' }
    this.#names.add(name)
    return { from: 'client', caller: name }
  }
}

function sourceOf(message: ReceivedMessage): Source {
  const { peer, source } = message
  if (peer !== undefined) return peer.caller === undefined ? NEST : peer
  if (source !== undefined) return source
  return message.kind === 'event' ? NOBODY : NEST
}
