/**
 * Sends requests. If our services are known to answer at an address, the requests of one turn of the event loop are
 * sent to it as a batch, but only as many as leave enough messages for the engine to share among processes.
 */
import type { PendingCall } from '@elysia-microservices/transport/kit'
import { MOST_OF_ONE, REQUESTS, requestEntry, TOGETHER } from '../batches.ts'
import type { CarriedHeaders, Carrier } from '../carrier.ts'
import { newSecret, SECRET_LENGTH } from '../secret.ts'
import { numberIn } from '../words.ts'

/**
 * One process gets the whole batch. So a batch has only a share of the requests in flight at an address, and never more
 * than `most`. The slower the answers, the more it costs if one process gets too many. Measured with 100 callers of an
 * echo over NATS, relative to the server's work for single messages: 0.67 to 0.70 at 1/4 and 32, 0.70 to 0.76 at 1/8
 * and 16. Of four processes with busy handlers, 2.7 have work at 1/4, 3.6 at 1/8.
 */
const SIZES = [
  { quickerThan: 2, share: 1 / 4, most: 32 },
  { quickerThan: 25, share: 1 / 8, most: 16 }
] as const
/** Most characters of a batch. */
const MOST_SIZE = 16 * 1024
/** Milliseconds during which requests are sent one by one after nobody took a batch. */
const ALONE_FOR = 10_000
/** Most addresses that are remembered; limited, because patterns may be made at run time. */
const MAX_REMEMBERED = 1_024
/** Most batches whose secrets are remembered. Few are enough, because the engine says at once that nobody listens. */
const MAX_SECRETS = 1_024

/** Tells the time in milliseconds. */
export type Now = () => number

/** The time as requests are measured by it. A test may replace it, because batches depend on how soon answers come. */
export const systemNow: Now = () => performance.now()

/** The state of an address for requests, with its requests of this turn. */
class Place {
  /** The address at which our services take batches. */
  readonly together: string
  /** Our services have answered at this address. */
  isOurs = false
  /** Until this time requests are sent one by one. */
  aloneUntil = 0
  /** Requests that were sent and have not ended. */
  inFlight = 0
  readonly #now: Now
  /** Average milliseconds until an answer arrives, measured with one call at a time. */
  #time = Number.POSITIVE_INFINITY
  #measured = 0
  #measuredAt = 0
  /** The calls of this turn of the event loop. */
  calls: PendingCall[] = []
  text = ''
  /** Publishes the first request of this turn as a single message; called if no other request joins it. */
  alone: (() => void) | undefined

  constructor(together: string, now: Now) {
    this.together = together
    this.#now = now
  }

  /** Most requests in one batch. */
  get most(): number {
    for (const { quickerThan, share, most } of SIZES)
      if (this.#time < quickerThan) return Math.min(this.inFlight * share, most)
    return 0
  }

  begin({ sequence }: PendingCall): void {
    this.inFlight++
    if (this.#measured !== 0) return
    this.#measured = sequence
    this.#measuredAt = this.#now()
  }

  end({ sequence }: PendingCall): void {
    this.inFlight--
    if (this.#measured !== sequence) return
    this.#measured = 0
    const took = this.#now() - this.#measuredAt
    this.#time = this.#time === Number.POSITIVE_INFINITY ? took : this.#time + (took - this.#time) / 4
  }
}

/** Sends requests. */
export class RequestsOfTurn {
  readonly #carrier: Carrier
  readonly #inbox: string
  readonly #failed: (call: PendingCall, error: Error) => void
  readonly #now: Now
  readonly #places = new Map<string, Place>()
  /** Addresses with requests of this turn. */
  #collecting: Place[] = []
  readonly #secrets: string[] = new Array(MAX_SECRETS).fill('')
  #last = 0

  /** @param failed is called with a request that could not be published */
  constructor(
    carrier: Carrier,
    inbox: string,
    failed: (call: PendingCall, error: Error) => void,
    now: Now = systemNow
  ) {
    this.#carrier = carrier
    this.#inbox = inbox
    this.#failed = failed
    this.#now = now
  }

  /** Sends a request, now or at the end of the turn of the event loop. */
  send(
    call: PendingCall,
    address: string,
    packet: string,
    replyTo: string,
    headers?: CarriedHeaders,
    expires?: number
  ): void {
    const place = this.#placeOf(address)
    call.batch = 0
    if (place === undefined) return this.#carrier.publish(address, packet, replyTo, headers, expires)
    call.attachment = place
    place.begin(call)
    const { most } = place
    if (most < 2 || !place.isOurs || packet.length > MOST_OF_ONE || !isPlain(headers))
      return this.#carrier.publish(address, packet, replyTo, headers, expires)
    if (place.aloneUntil > 0 && this.#now() < place.aloneUntil)
      return this.#carrier.publish(address, packet, replyTo, headers, expires)
    if (place.calls.length === 0) {
      place.alone = () => this.#carrier.publish(address, packet, replyTo, headers, expires)
      if (this.#collecting.length === 0) this.#carrier.atTurnEnd(this.#flush)
      this.#collecting.push(place)
    }
    place.text += requestEntry(replyTo.slice(this.#inbox.length), packet, headers)
    place.calls.push(call)
    if (place.calls.length >= most || place.text.length >= MOST_SIZE) this.#flushOne(place)
  }

  #placeOf(address: string): Place | undefined {
    const known = this.#places.get(address)
    if (known !== undefined) return known
    const together = this.#carrier.togetherAt?.(address)
    if (together === undefined) return undefined
    const place = new Place(together, this.#now)
    if (this.#places.size >= MAX_REMEMBERED) this.#places.clear()
    this.#places.set(address, place)
    return place
  }

  /** One of our services has answered a request. */
  answered({ attachment }: PendingCall): void {
    if (attachment instanceof Place) attachment.isOurs = true
  }

  /** A request or its current attempt has ended. */
  over(call: PendingCall): void {
    if (!(call.attachment instanceof Place)) return
    call.attachment.end(call)
    call.attachment = undefined
  }

  /**
   * Nobody took a batch of requests.
   * @param token the last segment of the batch's reply address: `1m17-<secret>-`
   * @returns the number of the batch; 0 if it is not known
   */
  nobody(token: string): number {
    const dash = token.indexOf('-')
    const number = numberIn(token, REQUESTS.length, dash)
    if (number < 1 || token.slice(dash + 1, dash + 1 + SECRET_LENGTH) !== this.#secrets[number % MAX_SECRETS])
      return 0
    return number
  }

  /** The call was sent in a batch that nobody took, so its address gets single requests for a while. */
  alone({ attachment }: PendingCall): void {
    if (attachment instanceof Place) attachment.aloneUntil = this.#now() + ALONE_FOR
  }

  readonly #flush = (): void => {
    const places = this.#collecting
    this.#collecting = []
    for (const place of places) this.#flushOne(place)
  }

  #flushOne(place: Place): void {
    const { calls, text, alone } = place
    if (calls.length === 0) return
    place.calls = []
    place.text = ''
    place.alone = undefined
    try {
      if (calls.length === 1) return alone?.()
      const number = ++this.#last
      const secret = newSecret()
      this.#secrets[number % MAX_SECRETS] = secret
      for (const call of calls) call.batch = number
      const replyTo = `${this.#inbox}${REQUESTS}${number}-${secret}-`
      this.#carrier.publish(place.together, TOGETHER + text, replyTo)
    } catch (error) {
      for (const call of calls) this.#failed(call, error as Error)
    }
  }
}

/** Returns whether each header has only one value: an entry of a batch cannot carry several values. */
function isPlain(
  headers: CarriedHeaders | undefined
): headers is Readonly<Record<string, string>> | undefined {
  return headers === undefined || Object.values(headers).every((value) => typeof value === 'string')
}
