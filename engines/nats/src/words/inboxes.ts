/** The subjects to which answers may be published, and those on which all services listen. */
import { newSecret } from '@elysia-microservices/engine'

/** The subject on which all services listen. A caller that has heard nothing of a call asks here about the call. */
export const EVERYONE = '_ELYSIA.CALLS'

/** The prefix of subjects on which services receive requests that a client has sent together. */
export const TOGETHER = '_ELYSIA.TOGETHER.'

/**
 * The inboxes of NATS's drivers, and the reply subjects that servers write for services of other accounts and other
 * clusters.
 */
const INBOX = '_INBOX'
const PREFIXES = [INBOX, '_R_', '_GR_']

/**
 * The segment behind the prefix: one for inboxes of calls, another for JetStream's messages. Callers and services
 * have the right to publish to each other's inboxes of calls. With the same segment, they could forge deliveries and
 * confirmations of events.
 */
const CALLS = 'calls'
const STORE = 'store'

/** Creates inboxes, and recognises the inboxes of all users of an account by their prefixes. */
export class Inboxes {
  /** The prefix of new inboxes: `_INBOX`, or `_INBOX.orders`. */
  readonly prefix: string
  readonly #prefixes: readonly string[]

  /** @param own the user's part of the prefix @param others further prefixes, of clients that are not ours */
  constructor(own: string | undefined, others: readonly string[] = []) {
    this.prefix = own === undefined ? INBOX : `${INBOX}.${own}`
    this.#prefixes = [...PREFIXES, ...others]
  }

  /** A new inbox for calls: `<prefix>.calls.<secret>.`. */
  ofCalls(): string {
    return this.#new(CALLS)
  }

  /** A new inbox for JetStream's deliveries and confirmations. */
  ofStore(): string {
    return this.#new(STORE)
  }

  /** Creates a random name. The driver's names are not used, because one name can be guessed from another. */
  #new(kind: string): string {
    return `${this.prefix}.${kind}.${newSecret()}${newSecret()}.`
  }

  /** Whether a subject is an inbox: `<prefix>.…` or `<prefix>_…`, without wildcards and blanks. */
  has(subject: string): boolean {
    if (subject.charCodeAt(0) === DOLLAR) return false
    for (const prefix of this.#prefixes) {
      if (!subject.startsWith(prefix)) continue
      const next = subject.charCodeAt(prefix.length)
      // Subjects with blanks or wildcards are refused: the server would close the connection.
      if (next === DOT || next === UNDERSCORE || prefix.endsWith('_')) return !/[\s*>]|\.\.|\.$/.test(subject)
    }
    return false
  }
}

const DOLLAR = 36
const DOT = 46
const UNDERSCORE = 95
