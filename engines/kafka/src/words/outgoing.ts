/**
 * Writes messages as records: messages of this library's protocol, requests and events that NestJS services can read
 * too, and answers for NestJS clients.
 */
import { type CarriedHeaders, textOf, type Words } from '@elysia-microservices/engine'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import { HEADER, KEY } from './headers.ts'
import { EVERYONE, isInbox, type Place, placeOf, readAnswer } from './names.ts'
import { writeRecord } from './record.ts'
import { dataOf, nestAnswerOf, writeValue } from './values.ts'

const BRACE = 0x7b

/** A record, and the topic and partition to which it is sent. */
export interface Outgoing {
  readonly topic: string
  /** `undefined`: the partition of the key, or any partition. */
  readonly partition: number | undefined
  /** The key that chooses the partition; `undefined`: there is none. */
  readonly key?: string | undefined
  /** The record, as `writeRecord` returns it. */
  readonly bytes: Buffer
}

/** The parts of a message besides its bytes. */
export interface Beside {
  /** The address to which the receiver answers. */
  readonly reply: string | undefined
  readonly headers: CarriedHeaders | undefined
  /** Milliseconds after which the request has expired if no service has read it. */
  readonly expires: number | undefined
}

/** A message for an address: an inbox, all services, one service, or a NestJS client that waits for an answer. */
export function messageFor(address: string, words: Words, { reply, headers, expires }: Beside): Outgoing {
  const asker = readAnswer(address)
  if (asker !== undefined) return answerForNest(asker, textOf(words))
  const own = { [HEADER.reply]: reply || undefined }
  if (isInbox(address)) {
    const { topic, partition, token } = placeOf(address)
    return { topic, partition, bytes: writeRecord(token, words, own) }
  }
  if (address === EVERYONE)
    return { topic: EVERYONE, partition: 0, bytes: writeRecord(undefined, words, own) }
  const isPacket = typeof words === 'string' ? words.startsWith('{') : words[0] === BRACE
  const asking = { ...askingFor(reply), [HEADER.expires]: expiring(expires) }
  // A part of a message, or a value of a channel: NestJS services could not read it, so its bytes become the value as
  // they are.
  if (!isPacket) return toAny(address, words, { ...asking, [HEADER.words]: '1' }, headers)
  const { value, type } = writeValue(dataOf(textOf(words), address, true))
  return toAny(address, value, { ...asking, [HEADER.type]: type }, headers)
}

/** An event that is not durable. */
export function eventFor(address: string, packet: string, headers: CarriedHeaders | undefined): Outgoing {
  const { value, type } = writeValue(dataOf(packet, address, false))
  return toAny(address, value, { [HEADER.type]: type }, headers)
}

/** A message to all services: the caller with this inbox has closed. */
export function departureOf(inbox: string): Outgoing {
  const bytes = writeRecord(undefined, undefined, { [HEADER.gone]: inbox })
  return { topic: EVERYONE, partition: 0, bytes }
}

/** A record for the handlers of a topic. The caller gives its key among the headers. */
function toAny(
  topic: string,
  value: Words | undefined,
  own: Readonly<Record<string, string | undefined>>,
  given: CarriedHeaders | undefined
): Outgoing {
  if (given?.[KEY] === undefined)
    return { topic, partition: undefined, bytes: writeRecord(undefined, value, own, given) }
  const { [KEY]: one, ...headers } = given
  const key = String(one)
  return { topic, partition: undefined, key, bytes: writeRecord(key, value, own, headers) }
}

/** An answer in the form in which NestJS services write it. */
function answerForNest({ topic, partition, token }: Place, packet: string): Outgoing {
  const { value, key, headers, err, isDisposed } = nestAnswerOf(packet)
  const own = {
    [HEADER.correlation]: token,
    [HEADER.error]: err,
    // NestJS writes a byte of zero.
    [HEADER.disposed]: isDisposed ? '\0' : undefined
  }
  return { topic, partition, bytes: writeRecord(key, err === undefined ? value : undefined, own, headers) }
}

/** The headers in which NestJS services look for the address of the answer. */
function askingFor(reply: string | undefined): Readonly<Record<string, string>> {
  if (reply === undefined || reply === '') return {}
  const { topic, partition, token } = placeOf(reply)
  return {
    [HEADER.correlation]: token,
    [HEADER.replyTopic]: topic,
    [HEADER.replyPartition]: String(partition)
  }
}

function expiring(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined || milliseconds > LONGEST_TIME
    ? undefined
    : String(Math.max(1, Math.ceil(milliseconds)))
}
