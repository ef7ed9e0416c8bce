/**
 * Writes the messages of our ends as records: words of the dialogue, data for Nest's services, answers for Nest's
 * clients.
 */
import { type CarriedHeaders, textOf, type Words } from '@elysia-microservices/transport/engine'
import { LONGEST_TIME } from '@elysia-microservices/transport/kit'
import { HEADER } from './headers.ts'
import { EVERYONE, isInbox, type Place, placeOf, readAnswer } from './names.ts'
import { writeRecord } from './record.ts'
import { dataOf, nestAnswerOf, writeValue } from './values.ts'

const BRACE = 0x7b

/** A record, and where it goes. */
export interface Outgoing {
  readonly topic: string
  /** `undefined`: any. */
  readonly partition: number | undefined
  /** As `writeRecord` gives it. */
  readonly bytes: Buffer
}

/** The parts of a message beside its words. */
export interface Beside {
  /** Where an answer is wanted. */
  readonly reply: string | undefined
  readonly headers: CarriedHeaders | undefined
  /** Milliseconds for which they count. */
  readonly expires: number | undefined
}

/** Words for an address: an inbox, all services, one service, or a client of Nest's that waits for an answer. */
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
  // The stream of a channel, or parts: Nest's services could not read them.
  if (!isPacket)
    return toAny(address, writeRecord(undefined, words, { ...asking, [HEADER.words]: '1' }, headers))
  const { value, type } = writeValue(dataOf(textOf(words), address, true))
  return toAny(address, writeRecord(undefined, value, { ...asking, [HEADER.type]: type }, headers))
}

/** An event that nobody stores for groups. */
export function eventFor(address: string, packet: string, headers: CarriedHeaders | undefined): Outgoing {
  const { value, type } = writeValue(dataOf(packet, address, false))
  return toAny(address, writeRecord(undefined, value, { [HEADER.type]: type }, headers))
}

/** Tells that nobody waits at an inbox any more. */
export function departureOf(inbox: string): Outgoing {
  const bytes = writeRecord(undefined, undefined, { [HEADER.gone]: inbox })
  return { topic: EVERYONE, partition: 0, bytes }
}

function toAny(topic: string, bytes: Buffer): Outgoing {
  return { topic, partition: undefined, bytes }
}

/** An answer as Nest's services write it. */
function answerForNest({ topic, partition, token }: Place, packet: string): Outgoing {
  const { value, key, headers, err, isDisposed } = nestAnswerOf(packet)
  const own = {
    [HEADER.correlation]: token,
    [HEADER.error]: err,
    // Nest writes a byte of zero.
    [HEADER.disposed]: isDisposed ? '\0' : undefined
  }
  return { topic, partition, bytes: writeRecord(key, err === undefined ? value : undefined, own, headers) }
}

/** The headers that say where an answer is wanted, as Nest's services look for it. */
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
