/** Turns refusals of Redis to store something into our errors, with advice. */
import { ConnectionError, MicroserviceError, NotStoredError } from '@elysia-microservices/transport/kit'

/** It passes by itself: a server is starting, or another one takes over. */
const PASSES = /\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|READONLY|UNBLOCKED|NOREPLICAS|BUSY)\b/

const ADVICE: readonly (readonly [says: RegExp, advice: string])[] = [
  [
    /\bOOM\b/,
    "its memory is full: raise its maxmemory, or free some: a shorter options.durable.maxAge, dead letters, 'XTRIM'"
  ],
  [/\bMISCONF\b/, 'it cannot write to its disk: its log says why'],
  [/\bNOPERM\b/, 'give its user the rights of docs/redis.md'],
  [/\bWRONGTYPE\b/, 'something else has the key of a stream: delete it']
]

/** Whether what the server refuses is to be tried again. */
export function passes(error: Error): boolean {
  return PASSES.test(error.message)
}

/** Whether there is no memory left. */
export function isFull(error: Error): boolean {
  return /\bOOM\b/.test(error.message)
}

/** Whether a group, or its stream, is not there. */
export function isGone(error: unknown): boolean {
  return /\bNOGROUP\b|requires the key to exist|no such key/i.test((error as Error).message)
}

/** The error for something that the server does not store. */
export function notStored(what: string, error: Error): NotStoredError {
  const says = error.message.replace(/ script: .*$/s, '')
  const advice = ADVICE.find(([pattern]) => pattern.test(error.message))?.[1]
  return new NotStoredError(
    `Redis does not store ${what}: it says '${says}'${advice === undefined ? '' : `; ${advice}`}`,
    !/\b(NOPERM|WRONGTYPE)\b/.test(error.message),
    error
  )
}

/** An error of the driver, as one of ours. */
export function readableError(error: unknown, what: string): Error {
  if (error instanceof MicroserviceError) return error
  const cause = error as Error
  if (cause.name === 'ReplyError') return notStored(what, cause)
  return new ConnectionError(`Redis does not answer about ${what} (${cause.message})`, false, cause)
}
