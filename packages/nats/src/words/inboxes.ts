/** Where answers may be published, and where all services listen. */
import { newSecret } from '@elysia-microservices/transport/engine'

/** Where a caller asks all our services about a call of which it has heard nothing. */
export const EVERYONE = '_ELYSIA.CALLS'

/** In front of a subject: where our services take requests that left together. */
export const TOGETHER = '_ELYSIA.TOGETHER.'

/** Inboxes of NATS's drivers; replies of services of other accounts, and of other clusters, which servers rewrite. */
const PREFIXES = ['_INBOX', '_R_', '_GR_']

/**
 * Segments after the prefix: in inboxes of calls, and in those of JetStream's answers. Callers and services have the
 * right to publish to each other's former, and could forge deliveries and confirmations of events if they were the same.
 */
const CALLS = 'calls'
const STORE = 'store'

/** The inboxes of an account, by the prefixes of its users. */
export class Inboxes {
  /** Of our own inboxes; `undefined`: the driver's. */
  readonly prefix: string | undefined
  readonly #prefixes: readonly string[]

  /** @param others prefixes of further users */
  constructor(prefix: string | undefined, others: readonly string[] = []) {
    this.prefix = prefix
    this.#prefixes = [...PREFIXES, ...(prefix === undefined ? [] : [prefix]), ...others]
  }

  /** A new inbox for calls: `<prefix>.calls.<secret>.`. */
  ofCalls(): string {
    return this.#new(CALLS)
  }

  /** A new inbox for what JetStream says. */
  ofStore(): string {
    return this.#new(STORE)
  }

  /** Not by the driver, whose names follow from one another. */
  #new(kind: string): string {
    return `${this.prefix ?? PREFIXES[0]}.${kind}.${newSecret()}${newSecret()}.`
  }

  /** Whether a subject is an inbox: `<prefix>.…` or `<prefix>_…`, without wildcards and blanks. */
  has(subject: string): boolean {
    if (subject.charCodeAt(0) === DOLLAR) return false
    for (const prefix of this.#prefixes) {
      if (!subject.startsWith(prefix)) continue
      const next = subject.charCodeAt(prefix.length)
      // The server refuses a subject with blanks or wildcards, and would cut the connection.
      if (next === DOT || next === UNDERSCORE || prefix.endsWith('_')) return !/[\s*>]|\.\.|\.$/.test(subject)
    }
    return false
  }
}

const DOLLAR = 36
const DOT = 46
const UNDERSCORE = 95
