/**
 * Puts several small messages into one, because the work of an engine depends on the number of messages, not on their
 * content. The answers of one turn of the event loop to one inbox are one message; the requests of one turn to one
 * address can be one message, too. An answer is the entry `<reply token> <length> <words>`, a request
 * `<reply token> <length> <length of headers> <packet><headers as JSON>`; lengths are in UTF-16 units.
 */
import type { MessageHeaders } from '@elysia-microservices/transport/kit'
import type { Carrier } from './carrier.ts'
import { jsonOf, numberIn } from './words.ts'

/** The first character of a batch of requests: no JSON begins with it. */
export const TOGETHER = '&'
/**
 * Suffixes behind an inbox: `ANSWERS` in the address of a batch of answers, `REQUESTS` in the reply address of a batch
 * of requests.
 */
export const ANSWERS = '1b'
export const REQUESTS = '1m'
/** Suffix behind an inbox, in the address of the question whether all earlier messages have arrived. */
export const QUESTION = '1q'

/** Most characters of one message that may join a batch, and of the whole batch. */
export const MOST_OF_ONE = 4 * 1024
const MOST = 16 * 1024

/** Collects the answers of one turn of the event loop and sends them. */
export class AnswersOfTurn {
  readonly #carrier: Carrier
  /** `#batches` has the answers by inbox, `#last` the batch that was used last. */
  readonly #batches = new Map<string, Batch>()
  #last: Batch | undefined
  #isAsked = false

  constructor(carrier: Carrier) {
    this.#carrier = carrier
  }

  /** Sends the only answer to a request of one of our callers, together with other answers of the same turn. */
  send(replyTo: string, words: string): void {
    if (words.length > MOST_OF_ONE) return this.#carrier.publish(replyTo, words)
    let batch = this.#last
    // The length is compared, too: a stranger may name an inbox with which the inboxes of others begin.
    const length = replyTo.lastIndexOf('.') + 1
    if (batch?.inbox.length !== length || !replyTo.startsWith(batch.inbox)) batch = this.#batchFor(replyTo)
    this.#last = batch
    const { inbox } = batch
    if (batch.count === 0) {
      batch.replyTo = replyTo
      batch.words = words
    } else {
      if (batch.count === 1) batch.text = entryOf(batch.replyTo, inbox, batch.words)
      batch.text += entryOf(replyTo, inbox, words)
    }
    batch.count++
    if (batch.text.length >= MOST) this.#flushOne(batch)
    if (this.#isAsked) return
    this.#isAsked = true
    queueMicrotask(this.#flush)
  }

  #batchFor(replyTo: string): Batch {
    const inbox = replyTo.slice(0, replyTo.lastIndexOf('.') + 1)
    let batch = this.#batches.get(inbox)
    if (batch === undefined) {
      batch = { inbox, count: 0, replyTo: '', words: '', text: '' }
      this.#batches.set(inbox, batch)
    }
    return batch
  }

  readonly #flush = (): void => {
    this.#isAsked = false
    for (const batch of this.#batches.values()) this.#flushOne(batch)
    this.#batches.clear()
    this.#last = undefined
  }

  #flushOne(batch: Batch): void {
    const { inbox, count, replyTo, words, text } = batch
    batch.count = 0
    batch.text = ''
    if (count === 1) this.#carrier.publish(replyTo, words)
    else if (count > 1) this.#carrier.publish(inbox + ANSWERS, text)
  }
}

/** The answers for one inbox. */
interface Batch {
  readonly inbox: string
  count: number
  /** Reply address and words of the first answer, used while it is the only one. */
  replyTo: string
  words: string
  text: string
}

function entryOf(replyTo: string, inbox: string, words: string): string {
  return `${replyTo.slice(inbox.length)} ${words.length} ${words}`
}

/**
 * Makes the entry of a request.
 * @param token the last segment of its reply address
 */
export function requestEntry(token: string, packet: string, headers: MessageHeaders | undefined): string {
  const json = headers === undefined ? '' : JSON.stringify(headers)
  return `${token} ${packet.length} ${json.length} ${packet}${json}`
}

/**
 * Reads a batch of answers. A malformed entry ends the reading without an error, because no call would get the error.
 */
export function readAnswers(text: string, found: (token: string, words: string) => void): void {
  for (let at = 0; at < text.length; ) {
    const blank = text.indexOf(' ', at)
    const second = text.indexOf(' ', blank + 1)
    const length = numberIn(text, blank + 1, second)
    const start = second + 1
    if (blank === -1 || length === -1 || start + length > text.length) return
    found(text.slice(at, blank), text.slice(start, start + length))
    at = start + length
  }
}

/** Reads a batch of requests. A malformed entry ends the reading. */
export function readRequests(
  text: string,
  found: (token: string, packet: string, headers: MessageHeaders | undefined) => void
): void {
  for (let at = 1; at < text.length; ) {
    const blank = text.indexOf(' ', at)
    const second = text.indexOf(' ', blank + 1)
    const third = text.indexOf(' ', second + 1)
    const length = numberIn(text, blank + 1, second)
    const ofHeaders = numberIn(text, second + 1, third)
    const end = third + 1 + length
    if (blank === -1 || second === -1 || length === -1 || ofHeaders === -1) return
    if (end + ofHeaders > text.length) return
    const headers = ofHeaders === 0 ? undefined : headersIn(text.slice(end, end + ofHeaders))
    found(text.slice(at, blank), text.slice(third + 1, end), headers)
    at = end + ofHeaders
  }
}

/** Reads the headers of an entry. Values that are not text are left out. */
function headersIn(json: string): MessageHeaders | undefined {
  try {
    const given: unknown = jsonOf(json)
    const texts = Object.entries(Object(given)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string'
    )
    return texts.length === 0 ? undefined : Object.fromEntries(texts)
  } catch {
    return undefined
  }
}
